"""Options that a dataclass declares: a new field is a new option, read as its type says."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner

from evaluator.cli.main import main
from evaluator.cli.options import FILE, FOLDER, options_of
from evaluator.runs.request import Request, option


@dataclass
class Declared:
    """A field of each type."""

    hidden: int = 3
    count: int | None = option(None, "A number.", least=1)
    words: tuple[str, ...] = option((), "Several.", flag="--word", several=True)
    way: Literal["up", "down"] | None = option(None, "A choice.")
    full: bool = option(False, "A flag.")
    place: Path | None = option(None, "A folder.")
    named: Mapping[str, Any] | None = option(None, "A text.")


@click.command()
@options_of(Declared)
@click.option("--folder", type=FOLDER)
@click.option("--file", type=FILE)
def command(folder: Path | None, file: Path | None, **options: Any) -> None:
    """A command with every declared option."""
    click.echo(repr(sorted(options.items())))


def test_options_are_read_as_their_types_say() -> None:
    arguments = [
        "--count",
        "2",
        "--word",
        "a",
        "--word",
        "b",
        "--way",
        "up",
        "--full",
        "--place",
        "x",
        "--named",
        "y",
    ]
    values = dict(eval(CliRunner().invoke(command, arguments).output, {"PosixPath": Path}))
    assert values == {
        "count": 2,
        "words": ("a", "b"),
        "way": "up",
        "full": True,
        "place": Path("x"),
        "named": "y",
    }
    nothing = dict(eval(CliRunner().invoke(command, []).output))
    assert nothing == {
        "count": None,
        "words": (),
        "way": None,
        "full": False,
        "place": None,
        "named": None,
    }


@pytest.mark.parametrize("arguments", [["--count", "0"], ["--way", "left"], ["--hidden", "1"]])
def test_values_of_another_type_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_every_option_of_a_run_is_one_of_the_command() -> None:
    parameters = {parameter.name for parameter in main.commands["run"].params}
    assert {field.name for field in fields(Request) if "help" in field.metadata} <= parameters


@pytest.mark.parametrize(
    ("flag", "word"), [("--folder", "is a file"), ("--file", "is a directory")]
)
def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path, flag: str, word: str) -> None:
    (tmp_path / "file").touch()
    refused = CliRunner().invoke(
        command, [flag, str(tmp_path / "file" if flag == "--folder" else tmp_path)]
    )
    assert refused.exit_code == 2
    assert word in refused.output
