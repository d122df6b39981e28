"""Every command's help: whole sentences, examples that can be typed, and the datasets and names
that there are."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from evaluator.cli.main import main as score
from generator.base.commands import Command
from generator.cli.main import main as gen
from generator.dataset.reader import Dataset
from tests.conftest import run_command


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield " ".join([*path, name]), command


EVERY = [
    pytest.param(*command, id=f"{program} {command[0]}")
    for program, group in (("gen", gen), ("score", score))
    for command in commands(group)
]


@pytest.mark.parametrize(("name", "command"), EVERY)
def test_examples_are_commands(
    name: str, command: click.Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()  # what examples read
    (tmp_path / "captions.tsv").touch()
    assert isinstance(command, Command)
    assert command.examples
    for example in command.examples:
        words = shlex.split(example.partition(">>")[0])
        assert " ".join(words).startswith(name)
        command.make_context(
            name, words[len(name.split()) :]
        )  # an unknown option or a missing argument is an error
    names = {parameter.name for parameter in command.params}
    assert set(command.common) <= names


@pytest.mark.parametrize("program", ["gen", "score"])
def test_the_list_of_commands_has_whole_sentences(program: str) -> None:
    help_text = run_command(program, "--help").stdout
    assert "..." not in help_text.split("Commands:")[1].replace("[NAME=]RUN...", "").replace(
        "[LABEL=]RUN...", ""
    )
    main = {"gen": gen, "score": score}[program]
    lines = [
        line.split()[0]
        for line in help_text.split("Commands:")[1].splitlines()
        if line[:3].strip() and line[2] != " "
    ]
    assert lines == list(main.commands)


def test_common_options_stand_before_the_others() -> None:
    help_text = run_command("gen", "render", "--help").stdout
    first, rest = help_text.split("More options:")
    assert "--holdout" in first.split("Common options:")[1]
    assert "--farm" in rest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_asks_the_program(shell: str) -> None:
    script = run_command("gen", "completion", shell).stdout
    assert f"_GEN_COMPLETE={shell}_complete" in script


def test_commands_and_registries_are_listed(rendered: Path) -> None:
    lists = json.loads(run_command("gen", "list", "--json", cwd=rendered.parent).stdout)
    assert {"clevr", "pug"} <= set(lists["families"])
    assert {"binary", "skill"} <= set(lists["protocols"])
    assert {"bindsplit", "gzsl"} <= set(lists["designs"])
    assert "et al. 2" in lists["presets"]["bindsplit2026"]
    assert {rendered.name, "example"} <= set(lists["datasets"])


def test_a_dataset_says_what_it_holds(rendered: Path) -> None:
    summary = json.loads(run_command("gen", "info", rendered, "--json").stdout)
    dataset = Dataset.open(rendered)
    (benchmark,) = summary["benchmarks"].values()
    for split, n in dataset.benchmark().manifest["scenes"].items():
        assert f"{split} {n}" in benchmark["scenes"]
    assert benchmark["held out"] == dataset.benchmark().manifest["held_out"]
    assert str(dataset.world.manifest["scenes"]) in summary["images"]
    assert "is not a dataset" in run_command("gen", "info", rendered.parent / "nowhere").stderr
