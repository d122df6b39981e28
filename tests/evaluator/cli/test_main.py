"""The command `score` as its users meet it: start-up, help, exit codes."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from evaluator.cli.main import main
from tests.conftest import MODULES
from tests.evaluator.conftest import score_command, score_json, succeed

HEAVY = ("torch", "open_clip", "matplotlib", "pyarrow", "bpy", "pandas", "transformers")
HEAVY += ("numpy", "PIL", "pydantic", "rich", "filelock")


def test_help_needs_nothing_heavy() -> None:
    commands = [
        "score --help",
        "gen --help",
        "score run --help",
        "gen render --help",
        "score --version",
    ]
    code = f"""
import sys
from importlib import import_module
for command in {commands!r}:
    name, *arguments = command.split()
    try:
        import_module({MODULES!r}[name]).main(arguments, prog_name=name)
    except SystemExit as end:
        assert not end.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"
    assert done.stdout.count("Usage: ") == 4
    assert "score, version" in done.stdout


def _commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"),
    list(_commands(main)),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_command_and_option_says_what_it_does(
    path: tuple[str, ...], command: click.Command
) -> None:
    assert command.help
    assert command.help.rstrip().endswith(".")
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    done = succeed(*path, "--help")
    assert done.stdout.startswith(f"Usage: score {' '.join(path)}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "x"],
        ["run", "x", "--model", "y:z", "--batch-size", "0"],
        ["report"],
        ["nonsense"],
        ["train", "scratch", "x"],
        ["train", "scratch", "x", "--out", "y", "--epochs", "0"],
        ["train", "scratch", "x", "--out", "y", "--seed", "-1"],
    ],
)
def test_incomplete_or_impossible_arguments_exit_with_2(arguments: list[str]) -> None:
    done = score_command(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Error: " in done.stderr


def test_models_lists_the_families_with_their_usage() -> None:
    families = score_json("models")["families"]
    assert {"python", "jackalope", "hf", "open_clip", "blind", "oracle", "api"} <= set(families)
    usage = score_command("models").stdout
    assert all(f"{name}:" in usage for name in ("python", "jackalope", "hf", "open_clip"))
