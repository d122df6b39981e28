"""The tables of CREPE show the rows of the results."""

from dataclasses import replace

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.papers.counts import _question_counts
from evaluator.papers.inputs import LabelledRuns, PaperInputs
from evaluator.papers.paper import find_paper, make_paper
from generator.dataset.counts import count_questions
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.papers.conftest import cell, shows, tables_of
from tests.evaluator.synthetic import Row, find


def test_recall_by_split_and_by_number_of_atoms(paper_inputs: PaperInputs, results: Row) -> None:
    tables = tables_of("crepe2023", paper_inputs)
    for number, kind in (("8", "both"), ("9", "atom"), ("10", "comp")):
        for group, metric in (("R@1", "R@1"), ("R@3", "R@3"), ("Avg R@K", "mean of R@1 and R@3")):
            for head, split in (("SC", "seen"), ("UC", "unseen")):
                row = find(results, "systematicity", split, kind=kind, metric=metric, skill=None)
                assert shows(cell(tables[number], ["dual", "scratch"], head, group), row)
    for number, kind in (
        ("5-atom", "atom"),
        ("5-swap", "swap"),
        ("5-neg", "neg"),
        ("5-all", "all"),
    ):
        table = tables[number]
        for head in (column.head for column in table.columns):
            row = find(results, "productivity", "seen", kind=kind, n=int(head.removeprefix("n = ")))
            assert shows(cell(table, ["seen", "dual", "scratch"], head), row)


def test_raw_retrieval_without_two_captions_says_so(paper_inputs: PaperInputs) -> None:
    notes = make_paper(replace(find_paper("crepe2023"), figures=[]), paper_inputs).not_made
    assert any(
        "Table 12 " in note and "no number: raw retrieval of productivity needs" in note
        for note in notes
    )


def test_raw_retrieval_has_a_line_for_each_direction() -> None:
    rows: list[Row] = [
        {
            "protocol": "systematicity",
            "split": split,
            "metric": f"raw R@1, {way}",
            "value": 0.1 * i + 0.01 * j,
        }
        for i, split in enumerate(("seen", "unseen", "unseen_atoms"))
        for j, way in enumerate(("image to text", "text to image"))
    ]
    rows += [
        {"protocol": "productivity", "metric": "raw R@1, image to text", "n": n, "value": n / 100}
        for n in (4, 5)
    ]
    run = made_run(rows=tuple({"split": "seen", **row, "kind": "raw", "sd": 0.01} for row in rows))
    tables = tables_of("crepe2023", PaperInputs([LabelledRuns(("m",), pool_runs([run]))]))
    for i, head in enumerate(("SC", "UC", "UA")):
        for j, way in enumerate(("Image-to-text", "Text-to-image")):
            assert cell(tables["11"], [way, "m"], head).numbers["value"] == 0.1 * i + 0.01 * j
    assert cell(tables["12"], ["Image-to-text", "m"], "n = 5").numbers["value"] == 0.05


@pytest.mark.parametrize("splits", [("test",), ("seen", "unseen")])
def test_raw_retrieval_by_number_of_atoms_shows_every_split(splits: tuple[str, ...]) -> None:
    """A world without a holdout has one split, and it is not named `seen`."""
    metrics = ("raw R@1, image to text", "raw R@1, image to its own text")
    rows = tuple(
        {
            "protocol": "productivity",
            "kind": "raw",
            "metric": metric,
            "n": n,
            "split": split,
            "value": (n + i) / 100,
        }
        for split in splits
        for n in (4, 12)
        for i, metric in enumerate(metrics)
    )
    table = tables_of(
        "crepe2023", PaperInputs([LabelledRuns(("m",), pool_runs([made_run(rows=rows)]))])
    )["12"]
    assert [column.head for column in table.columns] == ["n = 4", "n = 12"]
    for split in splits:
        named = f", {split}" if len(splits) > 1 else ""
        assert cell(table, [f"Image-to-text{named}", "m"], "n = 12").numbers["value"] == 0.12
        assert (
            cell(table, [f"Image-to-text, own caption{named}", "m"], "n = 12").numbers["value"]
            == 0.13
        )


def test_retrieval_sets_are_as_large_as_the_questions(paper_inputs: PaperInputs) -> None:
    table = tables_of("crepe2023", paper_inputs)["5"]
    assert cell(table, ["Systematicity, seen", "all"], "HN-COMP").text == "7"
    assert cell(table, ["Productivity, seen", "all"], "HN-SWAP").text == "6"
    assert cell(table, ["Systematicity, seen", "all"], "Raw").reason


def test_questions_of_several_sizes_have_a_reason(
    paper_inputs: PaperInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [{"protocol": "systematicity", "kind": "atom", "split": "seen", "set_size": None}]
    monkeypatch.setattr("evaluator.papers.counts.count_questions", lambda *_: counts)
    _question_counts.cache_clear()
    table = find_paper("crepe2023").tables[3].make(paper_inputs)
    _question_counts.cache_clear()
    assert cell(table, ["Systematicity"], "HN-ATOM").reason == "differs between its questions"


def test_captions_are_counted_by_the_numbers_of_their_atoms(paper_inputs: PaperInputs) -> None:
    table, benchmark = (
        tables_of("crepe2023", paper_inputs)["4-compounds"],
        paper_inputs.labels[0].runs[0].run.benchmark,
    )
    for row in count_questions(benchmark, [("protocol", "n", "split")]):
        if row["protocol"] == "systematicity" and row["split"] == "seen":
            count_cell = cell(table, [str(row["n"]), "all"], "SC")
            assert count_cell.numbers["value"] == row["captions"]
