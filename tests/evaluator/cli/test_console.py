"""Names are printed as they are, and those from files do not control the terminal."""

import io

import pytest
from rich.table import Table

from evaluator.cli.console import new_table, print_line, print_table

NAMES = [
    "python:m:Model",
    "[bold]x[/]",
    "[/]",
    "a[red]",
    ":smile:",
    "$a_1^2$ 50% {b} \\\\",
    "1e-5 'quoted' /path",
]


@pytest.mark.parametrize("name", NAMES)
def test_brackets_colons_and_dollars_mean_nothing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    print_line(name, "bold")
    print_table(table)
    print_table(table, 80)
    assert capsys.readouterr().out.count(name) == 7


def test_a_wide_table_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table = new_table(["x" * 300], ["y" * 300])
    print_table(table)
    printed = capsys.readouterr().out
    assert {"x" * 300, "y" * 300} <= {*printed.split()}


def test_control_characters_are_shown_and_styles_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", stream)
    table = Table("model")
    table.add_row("evil\x1b]0;title\x07\x1b[2J\u202etxt")
    print_line("plain \x1b[31m", "bold")
    print_table(table)
    printed = stream.getvalue()
    assert printed.startswith("\x1b[1mplain \\x1b[31m\x1b[0m")
    assert "evil\\x1b]0;title" in printed
    assert not any(sequence in printed for sequence in ("\x1b[31m", "\x1b]0", "\x1b[2J", "\u202e"))
