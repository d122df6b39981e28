"""Results of any model have the oracle's value as a ceiling, in every form of a table."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.api import evaluate
from evaluator.report.files import latex_tables
from evaluator.report.overview import main_lines, read_lines, side_by_side
from evaluator.report.table import ceiling_cell, plain
from evaluator.report.verdict import DIFFERENT_CEILINGS, judge
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.evaluator.conftest import succeed
from tests.generator.designs import BENCHMARK, Design, make

CROWD = Design(
    6,
    6,
    "3x3",
    objects=(2, 3),
    scenes=14,
    request=TextRequest(("systematicity", "binary"), strict=False),
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A verified dataset whose raw retrieval has captions that are true of several images."""
    root = make(CROWD, tmp_path_factory.mktemp("ceiling") / "dataset")
    verify_dataset(root, None)
    return root


@pytest.fixture(scope="module")
def runs(judged: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of a blind model and of the oracle."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("blind:length", "oracle"):
        evaluate(name, judged, out=folder / name)
    return {name: folder / name for name in ("blind:length", "oracle")}


def test_a_ceiling_is_the_value_of_the_oracle(runs: dict[str, Path]) -> None:
    blind, oracle = (_results(runs[name])["rows"] for name in ("blind:length", "oracle"))
    known = 0
    for row, best in zip(blind, oracle, strict=True):
        assert _labels(row) == _labels(best)
        if row["ceiling"] is not None:
            assert row["ceiling"] == best["value"]
            known += 1
    assert known > 20
    assert min(row["ceiling"] for row in blind if row["kind"] == "raw") < 1


def test_tables_have_a_column_where_a_ceiling_is_below_100(runs: dict[str, Path]) -> None:
    entry = {"runs": 1, "blocks": 1, **_results(runs["blind:length"])}
    table = side_by_side([entry], read_lines([entry]))
    heads = [column.head for column in table.columns]
    assert heads.index("ceiling %") == heads.index("chance %") + 1
    cells = {
        tuple(line.labels): plain(line.cells[heads.index("ceiling %")], {}) for line in table.lines
    }
    # A caption that is true of several images has several right answers, but only one image is its
    # own.
    assert {labels[1] for labels, cell in cells.items() if cell} == {
        "raw R@1, image to its own text",
        "raw R@1, text to its own image",
    }
    assert any("not comparable" in note for note in table.notes)
    without = side_by_side([entry], main_lines([entry]))
    assert "ceiling %" not in [column.head for column in without.columns]
    assert not any("not comparable" in note for note in without.notes)
    assert r"ceiling \%" in latex_tables(entry)["systematicity"]
    assert "ceiling %" in succeed("measure", runs["blind:length"], "--full").stdout
    with (runs["blind:length"] / "tables" / "summary.csv").open(encoding="utf-8") as file:
        assert any(row["ceiling"] for row in csv.DictReader(file))


def test_the_headline_compares_no_splits_of_different_ceilings(runs: dict[str, Path]) -> None:
    entry = {"runs": 1, "blocks": 1, **_results(runs["blind:length"])}
    assert "binary" in {line.first["protocol"] for line in main_lines([entry])}
    for row in entry["rows"]:
        if row["is_gap"] and row["is_main"]:
            row["ceiling"] = 0.2
    assert judge(entry).kind == DIFFERENT_CEILINGS


def test_a_dataset_without_truths_has_no_ceilings(judged: Path, tmp_path: Path) -> None:
    (judged / "benchmarks" / BENCHMARK / "truth.parquet").rename(tmp_path / "away")
    try:
        results: Any = evaluate("blind:length", judged, out=tmp_path / "run").results
    finally:
        (tmp_path / "away").rename(judged / "benchmarks" / BENCHMARK / "truth.parquet")
    assert {row["ceiling"] for row in results["rows"]} == {None}


def test_ceilings_that_differ_name_their_splits() -> None:
    rows = [
        {"split": "seen", "ceiling": 0.5},
        {"split": "unseen", "ceiling": 0.05},
        {"split": "val", "ceiling": 1.0},
    ]
    assert ceiling_cell(rows).text == "seen 50.0, unseen 5.0, val 100.0"
    assert ceiling_cell(rows[2:]).text == ""
    assert ceiling_cell([rows[0], {**rows[0], "ceiling": 0.6}]).text == "50.0–60.0"


def _results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def _labels(row: dict[str, Any]) -> list[Any]:
    return [
        row.get(name)
        for name in ("protocol", "metric", "error", "kind", "skill", "level", "n", "split", "minus")
    ]
