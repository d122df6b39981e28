"""The tables of Pearson et al. show the rows of the results."""

from pathlib import Path

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.audits.embeddings import RECORD as MAP_RECORD
from evaluator.audits.generation import RECORD as DRAWING_RECORD
from evaluator.audits.generation import SHEET
from evaluator.papers.inputs import LabelledRuns, PaperInputs, read_inputs
from evaluator.papers.paper import find_paper, make_paper, write_paper
from generator.base.errors import UserError
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.papers.conftest import cell, tables_of

_SPLITS = {
    "ID Validation": "id_val",
    "ID Test": "id_test",
    "OOD Validation": "ood_val",
    "OOD Test": "ood_test",
}
_TABLES = {
    "2": ("GZSL", "single"),
    "3": ("ZSL", "two-object"),
    "4": ("GZSL", "two-object"),
    "6": ("ZSL", "relational"),
    "7": ("GZSL", "relational"),
}
_ERRORS = {
    "5": ("two-object", {"Colour": "color", "Shape": "shape", "Other": "distractor"}),
    "8": ("relational", {"Left/Right": "flip", "Shape": "order", "Other": "distractor"}),
}


def test_figures_are_those_of_the_folders_of_other_commands(tmp_path: Path) -> None:
    for name, *files in (
        ("maps", MAP_RECORD, "texts.svg", "images.svg"),
        ("drawn", DRAWING_RECORD, SHEET),
    ):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text(f"{name} {file}")
        (tmp_path / name / files[0]).write_text('{"name": "pearson2025-relational"}')
    paper = find_paper("pearson2025")
    outputs = make_paper(
        paper, read_inputs([str(tmp_path / "maps"), f"SD, seed 0={tmp_path / 'drawn'}"])
    )
    assert outputs.figures == {
        "figure5-SD__seed_0-sheet.png": b"drawn sheet.png",
        "figure6-pearson2025-relational-texts.svg": b"maps texts.svg",
        "figure6-pearson2025-relational-images.svg": b"maps images.svg",
    }
    assert {path.name for path in write_paper(outputs, tmp_path / "out")} == set(outputs.figures)
    (tmp_path / "drawn" / SHEET).unlink()
    with pytest.raises(UserError, match=r"has no sheet\.png"):
        make_paper(paper, read_inputs([str(tmp_path / "drawn")]))


def test_accuracy_and_errors_by_split() -> None:
    cells: dict[tuple[str, str, str], dict[str, str]] = {
        (number, head, ""): {"metric": metric, "kind": kind, "split": split}
        for number, (metric, kind) in _TABLES.items()
        for head, split in _SPLITS.items()
    }
    cells |= {
        (number, head, group): {
            "metric": "share of predictions",
            "kind": kind,
            "error": error,
            "split": _SPLITS[group],
        }
        for number, (kind, errors) in _ERRORS.items()
        for group in ("ID Test", "OOD Test")
        for head, error in errors.items()
    }
    run = made_run(
        rows=tuple(
            {"protocol": "gzsl", **of, "value": i / 100} for i, of in enumerate(cells.values())
        )
    )
    tables = tables_of(
        "pearson2025", PaperInputs([LabelledRuns(("CLIP", "frozen"), pool_runs([run]))])
    )
    assert list(tables) == ["2", "3", "4", "5", "6", "7", "8"]
    for i, (number, head, group) in enumerate(cells):
        assert cell(tables[number], ["CLIP", "frozen"], head, group).numbers["value"] == i / 100
