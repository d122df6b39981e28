"""What the commands that run stages share: command lines, counts of work, and failures."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.base.commands import say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.experiments.runner import Failure
    from evaluator.experiments.stages import Stage


def exit_code(failures: Mapping[str, "Failure"]) -> int:
    """Choose the exit code of a command whose stages failed.

    Args:
        failures: The failures by name of the stage, at least one.

    Returns:
        2 if a stage failed by a user's mistake, as that stage's command exits; else 1.
    """
    # Click and `UserError` end with 2: what the user can correct counts more than what failed
    # besides.
    is_mistake = any(failure.code == 2 for failure in failures.values())
    return 2 if is_mistake else 1


def describe_work(stages: Sequence["Stage"]) -> str:
    """Describe what stages run.

    Args:
        stages: The stages that are left.

    Returns:
        How often each command runs, and how many images are rendered. Images of training are those
        of one pass; `--epochs` says how many passes.
    """
    counts = Counter(" ".join(stage.command.split()[:2]) for stage in stages)
    images = sum(planned_images(stage.options.get("scenes")) for stage in stages)
    parts = []
    for command, number in counts.items():
        rendered = f" ({images:,} images)" if command == "gen render" and images else ""
        parts.append(f"{number} × {command}{rendered}")
    return ", ".join(parts)


def planned_images(scenes: object) -> int:
    """Count the images that `gen plan --scenes` plans.

    Args:
        scenes: The value of the option: a number, or a number for each split. Anything else, such
            as `grid` or None, counts as 0.

    >>> planned_images("train=200,val=20"), planned_images(210), planned_images("grid")
    (220, 210, 0)
    """
    number = 0
    for part in str(scenes).split(","):
        count = part.rpartition("=")[2]
        # `grid` has no number here: it depends on the vocabulary.
        if count.isdigit():
            number += int(count)
    return number


def command_line(stage: "Stage", out: Path) -> str:
    """Write the command line of a stage.

    Args:
        stage: The stage.
        out: The folder of all stages.

    Returns:
        Its words, quoted for a shell.
    """
    return shlex.join(stage.words(out))


def copy_command_line(stage: "Stage", out: Path) -> str:
    """Write the shell command that copies the folder which a stage amends.

    Args:
        stage: The stage.
        out: The folder of all stages.

    Returns:
        The command with `&&` behind it; "" if it amends none.
    """
    if not stage.amended:
        return ""
    source = shlex.quote(str(stage.amended.out(out)))
    copy = shlex.quote(str(stage.out(out)))
    return f"mkdir -p {copy} && cp -r {source}/. {copy} && "


def check_commands(root: click.Context, stages: Sequence["Stage"], out: Path) -> None:
    """Check the commands of stages before any of them runs.

    Args:
        root: The context of `score`.
        stages: The stages. Those of `gen` are not checked.
        out: The folder of all stages.

    Raises:
        UserError: `score` would refuse a command.
    """
    for stage in stages:
        program, *names = stage.command.split()
        # This package does not import the generator's commands.
        if program != "score":
            continue
        command = root.command
        for name in names:
            subcommand = None
            if isinstance(command, click.Group):
                subcommand = command.get_command(root, name)
            if subcommand is None:
                raise UserError(
                    f"`{command_line(stage, out)}`: `score` has no such command; `score --help` "
                    f"lists them."
                )
            command = subcommand
        arguments = stage.words(out)[1 + len(names) :]
        try:
            # Click parses the arguments without running the command.
            command.make_context(stage.command, arguments, parent=root).close()
        except click.UsageError as error:
            raise UserError(f"`{command_line(stage, out)}`: {error.format_message()}") from None


def say_failures(failures: Mapping[str, "Failure"], out: Path) -> None:
    """Say which commands failed, with the end of their logs.

    Args:
        failures: The failures by name of the stage.
        out: The folder of all stages.
    """
    for failure in failures.values():
        say(f"Failed with exit code {failure.code}: {command_line(failure.stage, out)}")
        say(failure.end_of_log)
        say(
            f"Its log is {failure.log}. Finished work is kept: fix this and run the same command "
            f"again."
        )
