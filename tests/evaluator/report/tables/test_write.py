"""The files of a paper's tables."""

from pathlib import Path

import pandas as pd

from evaluator.report.tables.papers.registry import find_paper
from evaluator.report.tables.sources import Source
from evaluator.report.tables.write import make_paper, write_paper
from tests.evaluator.synthetic import find


def test_a_table_is_three_files_and_a_figure_one(sources: list[Source], tmp_path: Path) -> None:
    made = make_paper(find_paper("hard-positives2024"), sources)
    files = write_paper(made, tmp_path / "a" / "b")
    assert {path.name for path in files} == {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert {path.name for path in files} == {
        f"table{n}.{suffix}" for n in (1, 2, 7, 8, 9) for suffix in ("csv", "md", "tex")
    }
    table = pd.read_csv(tmp_path / "a" / "b" / "table1.csv")
    shown = table[(table["group"] == "SWAP") & (table["column"] == "Brittleness") & (table["variant"] == "scratch")]
    for split, value in zip(shown["split"], shown["value"], strict=True):
        row = find(sources[0].entries[0], "hard_positives", split, kind="swap", metric="brittleness")
        assert value == row["value"]
    assert set(table[table["variant"] == "labclip"]["reason"]) == {"no weights"}


def test_tables_without_a_row_and_those_elsewhere_are_said(sources: list[Source], tmp_path: Path) -> None:
    made = make_paper(find_paper("bindsplit2026"), sources)
    assert set(made.tables) == {"table2", "table9", "table10"} | ({"table3"} & set(made.tables))
    assert "Table 4 (R@1 by split after fine-tuning) has no row: no label has the part 'finetuned'." in made.not_made
    assert any("score familiarity" in each for each in made.not_made)
    assert (
        "Figure 2 is not drawn: no run has results of `retrieval` (protocol retrieval, metric R@1, kind grid)."
        in made.not_made
    )
    assert {path.suffix for path in write_paper(made, tmp_path)} == {".csv", ".md", ".tex", ".svg"}
