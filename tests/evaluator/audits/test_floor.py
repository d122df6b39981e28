"""score audit --quick: kinds that texts alone reveal are declared, with figures, wherever the
benchmark is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.audits.floor import FEWEST_ITEMS, find_floor
from evaluator.provenance.contamination import warning_of
from evaluator.report.overview import every_row, main_lines, side_by_side
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.dataset.floor import FloorKind, declared_floor, write_floor
from generator.dataset.reader import Dataset
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.evaluator.audits.benchmarks import Entry, pair, swaps, write
from tests.evaluator.conftest import score_json, succeed
from tests.generator.designs import BENCHMARK, Design, make

N = FEWEST_ITEMS


def _planted(n: int, share: float) -> list[Entry]:
    """Pairs of which a share has a word that only negatives have."""
    rng = np.random.default_rng(1)
    entries = []
    for true, false, cluster in swaps(n):
        is_revealed = rng.random() < share
        entries.append(
            pair(true + " here", false + (" there" if is_revealed else " here"), cluster=cluster)
        )
    return entries


def test_a_kind_that_texts_reveal_is_declared_with_its_figure(tmp_path: Path) -> None:
    root = write(tmp_path / "d", _planted(N, 0.4))
    printed = succeed("audit", root, "--quick").stdout
    assert "texts alone reveal the true caption of binary/swap in " in printed
    folder, digest = root / "benchmarks" / "b", Dataset.open(root).benchmark().digest
    (declared,) = declared_floor(folder, digest)
    assert declared in printed
    assert declared in (root / "README.md").read_text(encoding="utf-8")
    (kind,) = json.loads((folder / "floor.json").read_text(encoding="utf-8"))["kinds"]
    assert 0.6 < kind["low"] < kind["value"] < kind["high"] < 0.8, (
        "0.4 are told apart, the others by chance"
    )


def test_clean_texts_declare_nothing(tmp_path: Path) -> None:
    root = write(
        tmp_path / "d", [pair(true, false, cluster=cluster) for true, false, cluster in swaps(N, 3)]
    )
    assert score_json("audit", root, "--quick")["declared"] == []
    assert "reveal" not in (root / "README.md").read_text(encoding="utf-8")


def test_few_items_are_not_judged(tmp_path: Path) -> None:
    root = write(tmp_path / "d", _planted(N - 1, 1.0))
    assert find_floor(Dataset.open(root).benchmark()) == []


def test_a_floor_of_other_files_does_not_count(tmp_path: Path) -> None:
    root = write(tmp_path / "d", _planted(N, 1.0))
    succeed("audit", root, "--quick")
    assert declared_floor(root / "benchmarks" / "b", "another digest") == []


@pytest.mark.parametrize("value", [-0.1, 1.1, "much"])
def test_a_damaged_file_is_refused(tmp_path: Path, value: Any) -> None:
    kind = {
        "name": "k",
        "items": 1,
        "sampled": 1,
        "value": value,
        "low": 0.5,
        "high": 0.6,
        "revealed": True,
    }
    write_json(tmp_path / "floor.json", {"benchmark": "b", "kinds": [kind]})
    with pytest.raises(UserError, match=r"floor\.json is damaged"):
        declared_floor(tmp_path, "b")


def test_certificate_and_every_table_say_what_texts_reveal(tmp_path: Path) -> None:
    design = Design(6, 6, "3x3", scenes=14, request=TextRequest(("binary",), strict=False))
    root = make(design, tmp_path / "d")
    benchmark = Dataset.open(root).benchmark(BENCHMARK)
    kind = FloorKind(
        name="binary/swap", items=500, sampled=500, value=0.6, low=0.55, high=0.65, revealed=True
    )
    write_floor(benchmark.folder, benchmark.digest, [kind])
    declared = (
        "texts alone reveal the true caption of binary/swap in 60.0% [55.0, 65.0], chance 50%"
    )
    certificate = verify_dataset(root, None)[BENCHMARK]
    assert (certificate["status"], certificate["declared_leaks"]) == ("as declared", [declared])
    assert declared in certificate["sentence"]
    results = score_json("run", root, "--model", "blind:length", "--out", tmp_path / "run")
    assert results["revealed"] == [declared]
    assert warning_of(results) == f"T{declared[1:]}."
    entry = {"runs": 1, "blocks": 1, **results}
    for table in (side_by_side([entry], main_lines([entry])), every_row(entry, "binary")):
        assert declared[1:] in table.mark
    assert declared in (tmp_path / "run" / "tables" / "summary.csv").read_text(encoding="utf-8")
