"""Writes cli.md: the help of every command of `gen` and `score`. Run as `python docs/make_cli.py`."""

from collections.abc import Iterator
from pathlib import Path

import click

from evaluator.cli.main import main as score
from generator.cli.main import main as gen

OUT = Path(__file__).with_name("cli.md")
WIDTH = 100


def reference() -> str:
    """The text of cli.md."""
    contexts = [context for group, name in ((gen, "gen"), (score, "score")) for context in walk(group, name)]
    parts = [f"## {context.command_path}\n\n```\n{context.get_help()}\n```" for context in contexts]
    return (
        "\n\n".join(["# Commands", "Written by `python docs/make_cli.py` from the commands themselves.", *parts]) + "\n"
    )


def walk(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """A context for a command and for every command below it, in the order in which they are listed."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **command.context_settings,
    )
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from walk(below, each, context)


if __name__ == "__main__":
    OUT.write_text(reference(), encoding="utf-8")
