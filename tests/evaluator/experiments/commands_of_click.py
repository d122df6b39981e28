"""The commands of `gen` and `score` as click has them."""

from importlib import import_module

import click

from tests.conftest import MODULES


def commands_of_click(name: str) -> dict[str, click.Command]:
    """Commands by their words after `gen` or `score`, such as "train scratch"."""
    found: dict[str, click.Command] = {}

    def add(group: click.Group, words: tuple[str, ...]) -> None:
        for word, command in group.commands.items():
            found[" ".join((*words, word))] = command
            if isinstance(command, click.Group):
                add(command, (*words, word))

    add(import_module(MODULES[name]).main, ())
    return found


TABLES = "tables" in commands_of_click("score")
"""Whether `score tables` is there."""
