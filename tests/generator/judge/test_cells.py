"""Cells without questions, and what captions of systematicity may name."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from generator.base.files import read_json, write_json
from generator.cli.describe import describe_empty_cells
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.generator.designs import BENCHMARK, Design, make
from tests.generator.judge.datasets import edit, seal

PROTOCOLS = ("binary", "systematicity")
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    request = TextRequest(PROTOCOLS, strict=False)
    return make(
        Design(6, 6, "3x3", scenes=14, request=request),
        tmp_path_factory.mktemp("cells") / "dataset",
    )


@pytest.fixture
def dataset(described: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(described, tmp_path / "dataset"))


def _leave_out(root: Path, protocol: str, kind: str, split: str) -> None:
    """Remove the items of a cell and their candidates."""
    folder = root / "benchmarks" / BENCHMARK
    removed: set[str] = set()

    def from_items(rows: Rows) -> None:
        removed.update(
            row["item_id"]
            for row in rows
            if (row["protocol"], row["kind"], row["split"]) == (protocol, kind, split)
        )
        rows[:] = [row for row in rows if row["item_id"] not in removed]

    def from_candidates(rows: Rows) -> None:
        rows[:] = [row for row in rows if row["item_id"] not in removed]

    edit(folder, "items", from_items)
    edit(folder, "candidates", from_candidates)
    assert removed


def _declare(root: Path, cell: str) -> list[str]:
    """Declare one more cell; returns all that are declared."""
    folder = root / "benchmarks" / BENCHMARK
    manifest = read_json(folder / "manifest.json")
    cells = sorted([*manifest.get("empty_cells", []), cell])
    write_json(folder / "manifest.json", {**manifest, "empty_cells": cells})
    seal(folder)
    return cells


def _judged(root: Path) -> dict[str, Any]:
    return verify_dataset(root, None)[BENCHMARK]


def test_describe_and_the_judge_agree_on_the_cells(described: Path) -> None:
    assert _judged(described)["faults"] == {}


def test_a_cell_without_questions_is_found_and_counted(dataset: Path) -> None:
    _leave_out(dataset, "binary", "swap", "unseen")
    certificate = _judged(dataset)
    assert certificate["faults"] == {"empty cell": 1}
    (finding,) = certificate["findings"]
    assert "binary swap attribute unseen" in finding["what"]


def test_a_declared_cell_is_named_by_the_certificate(dataset: Path) -> None:
    _leave_out(dataset, "binary", "swap", "unseen")
    cells = _declare(dataset, "binary swap attribute unseen")
    certificate = _judged(dataset)
    assert certificate["status"] == "clean"
    assert certificate["empty_cells"] == cells
    assert (
        f"{len(cells)} declared cells without questions ({', '.join(cells)})"
        in certificate["sentence"]
    )
    assert "binary swap attribute unseen" in (dataset / "README.md").read_text(encoding="utf-8")


def test_a_declared_cell_with_questions_is_found(dataset: Path) -> None:
    _declare(dataset, "binary swap attribute unseen")
    assert _judged(dataset)["faults"] == {"wrong declaration": 1}


@pytest.mark.parametrize(
    ("split", "fault"), [("unseen", "seen compound"), ("seen", "untrained compound")]
)
def test_one_wrong_compound_in_a_caption_is_found(dataset: Path, split: str, fault: str) -> None:
    """The caption gets the words of the other split: then one split names what it must not."""
    other = {"seen": "unseen", "unseen": "seen"}[split]
    split_of: dict[str, str] = {}
    edit(
        dataset / "benchmarks" / BENCHMARK, "items", lambda rows: split_of.update(_raw_items(rows))
    )

    def exchange(rows: Rows) -> None:
        captions = {
            split_name: next(
                row
                for row in rows
                if split_of.get(row["item_id"]) == split_name and row["slot"] == "c"
            )
            for split_name in (split, other)
        }
        captions[split]["text_id"] = captions[other]["text_id"]

    edit(dataset / "benchmarks" / BENCHMARK, "candidates", exchange)
    assert _judged(dataset)["faults"][fault] == 1


def _raw_items(rows: Rows) -> dict[str, str]:
    return {
        row["item_id"]: row["split"]
        for row in rows
        if (row["protocol"], row["kind"]) == ("systematicity", "raw")
    }


def test_many_empty_cells_are_counted() -> None:
    lines = describe_empty_cells([f"skill targeted unseen {n}" for n in range(13)])
    assert len(lines) == 11
    assert lines[0].startswith("No question: skill targeted unseen 0.")
    assert lines[-1].startswith("3 more cells")
