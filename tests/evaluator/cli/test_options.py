"""Options that commands of `score` share: the same words and the same refusal everywhere."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evaluator.cli.options import BENCHMARK, CHANNEL, DEVICE, FILE, FOLDER, JSON


@click.command()
@click.option("--folder", type=FOLDER)
@click.option("--file", type=FILE)
@JSON
@DEVICE
@CHANNEL
@BENCHMARK
def command(
    folder: Path, file: Path, as_json: bool, device: str | None, channel: str | None, benchmark: str | None
) -> None:
    """A command with every shared option."""
    click.echo(f"{folder} {file} {as_json} {device} {channel} {benchmark}")


def test_nothing_is_chosen_unless_asked_for() -> None:
    assert CliRunner().invoke(command, []).output == "None None False None None None\n"


def test_what_is_asked_for_arrives() -> None:
    options = [
        "--json",
        "--device",
        "cuda:1",
        "--channel",
        "itm",
        "--benchmark",
        "main",
        "--folder",
        "new",
        "--file",
        "new.html",
    ]
    assert CliRunner().invoke(command, options).output == "new new.html True cuda:1 itm main\n"


@pytest.mark.parametrize(("option", "word"), [("--folder", "is a file"), ("--file", "is a directory")])
def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path, option: str, word: str) -> None:
    (tmp_path / "file").touch()
    refused = CliRunner().invoke(command, [option, str(tmp_path / "file" if option == "--folder" else tmp_path)])
    assert refused.exit_code == 2
    assert word in refused.output
