"""The tables of Kamath et al. show the rows of the results."""

from dataclasses import replace

import pytest

from evaluator.papers.inputs import PaperInputs
from tests.evaluator.papers.conftest import cell, shows, tables_of
from tests.evaluator.synthetic import Row, find


def test_accuracies_brittleness_and_mean_scores(paper_inputs: PaperInputs, results: Row) -> None:
    tables = tables_of("hard-positives2024", paper_inputs)
    for split in ("seen", "partial", "unseen"):
        label = [split, "dual", "scratch"]
        for group, kind in (("REPLACE", "replace"), ("SWAP", "swap")):
            of = {"kind": kind, "skill": None}
            rows = [
                find(results, "hard_positives", split, metric=name, **of)
                for name in (
                    "original accuracy",
                    "augmented accuracy",
                    "augmented - original",
                    "brittleness",
                )
            ]
            cells = [
                cell(tables["1"], label, head, group)
                for head in ("Original", "Augmented", "Drop", "Brittleness")
            ]
            assert all(shows(table_cell, row) for table_cell, row in zip(cells, rows, strict=True))
            assert rows[2]["value"] == pytest.approx(rows[1]["value"] - rows[0]["value"])
            score = find(results, "hard_positives", split, metric="mean score c", **of)
            assert cell(tables["9"], label, group).numbers["value"] == score["value"]
        for group, skill in (("Relations", "relation"), ("Attributes", "attribute")):
            row = find(
                results,
                "hard_positives",
                split,
                metric="original accuracy",
                kind="replace",
                skill=skill,
            )
            assert shows(cell(tables["7"], label, "Original", group), row)
        row = find(
            results, "hard_positives", split, metric="mean score p", kind="replace", skill=None
        )
        assert cell(tables["2"], label, "p").numbers["value"] == row["value"]


def test_models_trained_here_and_those_of_others_have_tables_of_their_own(
    paper_inputs: PaperInputs,
) -> None:
    (entry,) = paper_inputs.labels[0].entries
    own = replace(
        paper_inputs.labels[0], parts=("own",), entries=[{**entry, "training": {"status": "clean"}}]
    )
    tables = tables_of("hard-positives2024", PaperInputs([*paper_inputs.labels, own]))
    variants = {
        number: {line.labels[1] for line in tables[number].lines} for number in ("1", "3", "8")
    }
    assert variants["1"] >= {"own", "dual"}
    assert ("own" in variants["3"], "own" in variants["8"]) == (True, False)
    assert cell(tables["8"], ["seen", "dual", "scratch"], "Original", "SWAP") == cell(
        tables["1"], ["seen", "dual", "scratch"], "Original", "SWAP"
    )
