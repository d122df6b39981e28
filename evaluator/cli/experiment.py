"""The command `score experiment`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evaluator.cli.options import FILE, JSON, NEW_FOLDER
from generator.base.commands import result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.experiments.process import Failure
    from evaluator.experiments.stages import Stage


@click.command()
@click.argument("experiment", metavar="NAME|FILE.toml")
@click.option(
    "--scale",
    default="tiny",
    show_default=True,
    help="How large: smoke (minutes), tiny (a CPU), small (a GPU), paper (the published numbers), or one of your file.",
)
@click.option(
    "--models", type=FILE, help="TOML file of models to start from, in place of stand-ins (docs/experiments.md)."
)
@click.option(
    "--out",
    type=NEW_FOLDER,
    default="experiments",
    show_default=True,
    help="Folder of all stages. Experiments with the same folder share stages.",
)
@click.option("--dry-run", is_flag=True, help="Print the commands of all stages and run nothing.")
@JSON
@click.pass_context
def experiment(
    context: click.Context, experiment: str, scale: str, models: Path | None, out: Path, dry_run: bool, as_json: bool
) -> None:
    """Make the tables of a paper from nothing: render, verify, train, score.

    NAME|FILE.toml is bindsplit2026, hard-positives2024, crepe2023, compass2026, pearson2025 or pearson2025-clean, or an experiment of
    yours (docs/experiments.md). What is done is not done again. If the command is stopped, run it again to continue.
    """
    from evaluator.experiments.cost import costs, said, time_left
    from evaluator.experiments.declaration import read_experiment, with_models
    from evaluator.experiments.expansion import expand
    from evaluator.experiments.runner import run_stages

    declared = read_experiment(experiment)
    if models:
        declared = with_models(declared, models)
    expanded = expand(declared, scale)
    stages = [*expanded.stages, expanded.tables()]
    _check_commands(context.find_root(), stages, out)
    say(" ".join(declared.about.split()))
    if scale in declared.took:
        say(f"From nothing, the scale {scale} took {declared.took[scale]}.")
    if dry_run:
        for line in said(costs(stages, out)):
            say(line)
        commands = [f"{_copied(stage, out)}{_command(stage, out)}" for stage in stages]
        result({"commands": commands}, as_json, "\n".join(commands))
        return

    def tell(stage: "Stage", place: int) -> None:
        left = time_left(costs(stages, out))
        say(f"[{place}/{len(stages)}{', ' * bool(left)}{left}] {_command(stage, out)}")

    failures = run_stages(
        [stage for stage in stages if stage.kind.name == "gen plan"], out
    )  # they tell how many images
    for line in said(costs(stages, out)):
        say(line)
    failures |= run_stages(stages[:-1], out, tell)
    tables = expanded.tables({name: f"`{failure.stage.kind.name}` failed" for name, failure in failures.items()})
    if tables.reads:
        failures |= run_stages([tables], out, lambda stage, _: tell(stage, len(stages)))
    made = str(tables.out(out)) if tables.name not in failures and tables.reads else None
    for label, why in expanded.unshown.items():
        say(f"{label} is not shown: {why}.")
    _tell_failures({failure.stage.name: failure for failure in failures.values()}, out)
    result({"tables": made, "failed": sorted(failures)}, as_json, made or "No table could be made.")
    if failures:
        context.exit(2 if any(failure.code == 2 for failure in failures.values()) else 1)


def _command(stage: "Stage", out: Path) -> str:
    return shlex.join(stage.arguments(out))


def _copied(stage: "Stage", out: Path) -> str:
    """What makes the copy that a stage amends."""
    if not stage.kind.amends:
        return ""
    source, goal = (shlex.quote(str(each.out(out))) for each in (stage.amended, stage))
    return f"mkdir -p {goal} && cp -r {source}/. {goal} && "


def _check_commands(root: click.Context, stages: Sequence["Stage"], out: Path) -> None:
    """Raise UserError for options that `score` would refuse; those of `gen` are seen by `gen` alone."""
    for stage in stages:
        command, words = root.command, stage.arguments(out)
        if words[0] != "score":
            continue
        try:
            for word in stage.kind.words[1:]:
                assert isinstance(command, click.Group)
                command = command.commands[word]
            command.make_context(stage.kind.name, words[len(stage.kind.words) :], parent=root).close()
        except click.UsageError as error:
            raise UserError(f"`{_command(stage, out)}`: {error.format_message()}") from None


def _tell_failures(failures: dict[str, "Failure"], out: Path) -> None:
    for failure in failures.values():
        say(f"Failed with exit code {failure.code}: {_command(failure.stage, out)}")
        say(failure.said)
        say(f"Its log is {failure.log}. What is finished is kept: mend this and run the same command again.")
