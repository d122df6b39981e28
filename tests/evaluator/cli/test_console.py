"""Names are printed as they are."""

import pytest
from rich.table import Table

from evaluator.cli.console import print_line, print_table

NAMES = ["python:m:Model", "[bold]x[/]", "[/]", "a[red]", ":smile:", "$a_1^2$ 50% {b} \\\\", "1e-5 'quoted' /path"]


@pytest.mark.parametrize("name", NAMES)
def test_brackets_colons_and_dollars_mean_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    print_line(name, "bold")
    print_table(table)
    print_table(table, 80)
    assert capsys.readouterr().out.count(name) == 7


def test_a_wide_table_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("x" * 300)
    print_table(table)
    assert "x" * 300 in capsys.readouterr().out
