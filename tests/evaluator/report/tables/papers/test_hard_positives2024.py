"""The tables of Kamath et al. show the rows of the results."""

from dataclasses import replace

import pytest

from evaluator.report.tables.papers.registry import find_paper
from evaluator.report.tables.sources import Source
from evaluator.report.tables.write import make_paper
from tests.evaluator.report.tables.conftest import cell, shows, tables_of
from tests.evaluator.synthetic import find


def test_accuracies_brittleness_and_mean_scores(sources: list[Source]) -> None:
    tables, results = tables_of("hard-positives2024", sources), sources[0].entries[0]
    for split in ("seen", "partial", "unseen"):
        label = [split, "dual", "scratch"]
        for group, kind in (("REPLACE", "replace"), ("SWAP", "swap")):
            of = {"kind": kind, "skill": None}
            rows = [find(results, "hard_positives", split, metric=name, **of) for name in ("original accuracy", "augmented accuracy", "augmented - original", "brittleness")]  # fmt: skip
            cells = [cell(tables["1"], label, head, group) for head in ("Original", "Augmented", "Drop", "Brittleness")]
            assert all(shows(each, row) for each, row in zip(cells, rows, strict=True))
            assert rows[2]["value"] == pytest.approx(rows[1]["value"] - rows[0]["value"])
            score = find(results, "hard_positives", split, metric="mean score c", **of)
            assert cell(tables["9"], label, group).numbers["value"] == score["value"]
        for group, skill in (("Relations", "relation"), ("Attributes", "attribute")):
            row = find(results, "hard_positives", split, metric="original accuracy", kind="replace", skill=skill)
            assert shows(cell(tables["7"], label, "Original", group), row)
        row = find(results, "hard_positives", split, metric="mean score p", kind="replace", skill=None)
        assert cell(tables["2"], label, "p").numbers["value"] == row["value"]


def test_forgetting_is_a_table_of_models_that_were_measured(sources: list[Source]) -> None:
    assert "10" not in tables_of("hard-positives2024", sources)
    said = make_paper(find_paper("hard-positives2024"), sources).not_made
    assert any(line.startswith("Table 10 (What training changed elsewhere) has no row: no model") for line in said)
    (run,) = sources[0].runs
    both = [
        {**entry, "rows": [{**row, "benchmark": entry["benchmark"], "when": when} for row in entry["rows"]]}
        for entry in sources[0].entries
        for when in ("before", "after")
    ]
    table = tables_of("hard-positives2024", [replace(sources[0], elsewhere=both)])["10"]
    row = find(run, "binary", "seen", metric="accuracy", kind="swap")
    of = [f"{run['benchmark']}: binary accuracy swap seen", "dual", "scratch"]
    assert shows(cell(table, of, "After"), row)
    assert cell(table, of, "Change").numbers["value"] == 0


def test_models_trained_here_and_those_of_others_have_tables_of_their_own(sources: list[Source]) -> None:
    (entry,) = sources[0].entries
    own = replace(sources[0], label=("own",), entries=[{**entry, "training": {"status": "clean"}}])
    tables = tables_of("hard-positives2024", [*sources, own])
    shown = {number: {line.labels[1] for line in tables[number].lines} for number in ("1", "3", "8")}
    assert shown["1"] >= {"own", "dual"}
    assert ("own" in shown["3"], "own" in shown["8"]) == (True, False)
    assert cell(tables["8"], ["seen", "dual", "scratch"], "Original", "SWAP") == cell(
        tables["1"], ["seen", "dual", "scratch"], "Original", "SWAP"
    )
