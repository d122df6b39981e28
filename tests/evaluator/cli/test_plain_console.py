"""Names from files do not control the terminal; the console's own styles do."""

import io

from rich.table import Table

from evaluator.cli.plain_console import Console


def test_control_characters_are_shown_and_styles_kept() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", width=80)
    table = Table("model")
    table.add_row("evil\x1b]0;title\x07\x1b[2J\u202etxt")
    console.print("plain \x1b[31m", style="bold", markup=False, highlight=False)
    console.print(table)
    printed = stream.getvalue()
    assert printed.startswith("\x1b[1mplain \\x1b[31m\x1b[0m")
    assert "evil\\x1b]0;title" in printed
    assert not any(sequence in printed for sequence in ("\x1b[31m", "\x1b]0", "\x1b[2J", "\u202e"))
