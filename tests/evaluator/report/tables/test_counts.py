"""Tables of counts are of the datasets that runs were asked, each once."""

import copy
from dataclasses import replace

from evaluator.report.tables.counts import DATASET, AtomFigure, CountTable, counted
from evaluator.report.tables.paper import part
from evaluator.report.tables.sources import EACH, Source
from generator.dataset.counts import count_questions
from tests.evaluator.report.tables.conftest import cell

COLUMNS = (counted("Captions", "captions"), counted("HN-ATOM", "false_texts", kind="atom"))
ROWS = (part("n = {}", n=EACH, split=EACH),)


def test_a_line_is_a_dataset_and_its_numbers_those_of_its_questions(sources: list[Source]) -> None:
    table = CountTable("4", "Counts", COLUMNS, ROWS, "n", {"protocol": "productivity"}).make([*sources, *sources])
    assert table.labels == ["n", "dataset"]
    benchmark = sources[0].opened[0].benchmark
    expected = count_questions(benchmark, [("protocol", "n", "split"), ("protocol", "kind", "n", "split")])
    shown = 0
    for row in (row for row in expected if row["protocol"] == "productivity" and row["split"] != "val"):
        label = [f"n = {row['n']}, {row['split']}", "all"]
        if row.get("kind") is None:
            assert cell(table, label, "Captions").numbers["value"] == row["captions"]
            shown += 1
        elif row["kind"] == "atom":
            assert cell(table, label, "HN-ATOM").text == f"{row['false_texts']:,}"
            shown += 1
    assert shown >= len(table.lines) > 3


def test_datasets_of_one_name_are_told_apart_by_their_blocks(sources: list[Source]) -> None:
    (run,), (results,) = sources[0].opened, sources[0].runs
    other = copy.copy(run.benchmark)
    other.manifest = {**other.manifest, "sums": "f" * 64}
    columns = (counted("Items", "items", protocol="binary", split="seen"),)
    for seeds, expected in (
        ((0, 1), ["all, block 0", "all, block 1"]),
        ((None, None), [f"all, {run.benchmark.digest[:8]}", "all, ffffffff"]),
    ):
        found = [{**results, "factors": {**results["factors"], "block_seed": seed}} for seed in seeds]
        both = replace(sources[0], opened=[run, replace(run, benchmark=other)], runs=found)
        assert [line.labels[0] for line in CountTable("1", "Items", columns).make([both]).lines] == expected


def test_what_no_dataset_has_is_no_table(sources: list[Source]) -> None:
    columns = (counted("Train", "images", split="train"),)
    assert not CountTable("1", "Images", columns, of={"protocol": DATASET}).make(sources).lines
    assert (
        not CountTable("1", "Images", columns, of={"protocol": DATASET}).make([Source(("m",), missing="no run")]).lines
    )


def test_a_world_whose_captions_have_no_forms_has_no_figure_of_atoms(sources: list[Source]) -> None:
    drawn: list[str] = []
    assert AtomFigure("4", lambda name, atoms, splits: drawn.append(name) or name, ("seen",)).make(sources) == []
    assert drawn == []
