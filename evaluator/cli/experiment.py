"""The command `score experiment`: runs all stages of an experiment and makes its tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.options import FILE, JSON, NEW_FOLDER, stage_options, take_slurm
from evaluator.cli.stages import (
    check_commands,
    command_line,
    copy_command_line,
    describe_work,
    exit_code,
    say_failures,
)
from generator.base.commands import Command, result, say
from generator.base.paths import check_own_files

if TYPE_CHECKING:
    from evaluator.experiments.lab import Lab
    from evaluator.experiments.runner import Failure
    from evaluator.experiments.stages import Stage


@click.command(
    cls=Command,
    examples=[
        "experiment bindsplit2026 --scale tiny --dry-run",
        "experiment bindsplit2026 --scale tiny --out experiment",
    ],
)
@click.argument("experiment", metavar="NAME|FILE.py")
@click.option(
    "--scale",
    default="tiny",
    show_default=True,
    help=(
        "Size: smoke (minutes), rotation (a CPU, an hour), tiny (a CPU, hours), small (a "
        "GPU), paper (the published numbers), or a scale of your file."
    ),
)
@click.option(
    "--models",
    type=FILE,
    help="TOML file of models to start from, in place of stand-ins (docs/experiments.md).",
)
@click.option(
    "--out",
    type=NEW_FOLDER,
    default="experiments",
    show_default=True,
    help="Folder of all stages. Experiments with the same folder share stages.",
)
@stage_options
@JSON
@click.pass_context
def experiment(
    context: click.Context,
    experiment: str,
    scale: str,
    models: Path | None,
    out: Path,
    allow_code: bool,
    workers: int,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Make the tables of a paper from scratch: render, verify, train, score.

    NAME|FILE.py is bindsplit2026, hard-positives2024, crepe2023, compass2026, pearson2025 or
    pearson2025-clean, or your own recipe in Python; its code is run (docs/experiments.md). Finished
    stages are skipped. If the command is stopped, run it again to continue. With --farm slurm each
    stage is a job, submitted when the stages that it reads have ended.
    """
    from evaluator.experiments.lab import Lab
    from evaluator.experiments.models import read_models
    from evaluator.experiments.runner import Place, run_stages
    from evaluator.papers.recipes import find_experiment

    # A folder of stages may come from somebody else: links in it could make a stage write
    # elsewhere.
    check_own_files(out)
    place = Place(workers, take_slurm(options))
    if experiment.endswith(".py"):
        say(f"A recipe is code: this runs the code of {experiment}.")
    recipe = find_experiment(experiment)
    settings = recipe.at(scale)
    user_models = read_models(models, allow_code) if models else {}
    # A dry pass finds wrong commands before hours of rendering.
    dry_lab = Lab(out, user_models, scale, dry=True)
    recipe.make(dry_lab, settings)
    stages = _all_stages(dry_lab, recipe.paper)
    check_commands(context.find_root(), stages, out)
    say(recipe.about)
    _say_work(stages, out)
    if dry_run:
        commands = [copy_command_line(stage, out) + command_line(stage, out) for stage in stages]
        result({"commands": commands}, as_json, "\n".join(commands))
        return

    def say_stage(stage: "Stage", number: int) -> None:
        say(f"[{number}/{len(stages)}] {command_line(stage, out)}")

    lab = Lab(out, user_models, scale, tell=say_stage, place=place)
    recipe.make(lab, settings)
    failures = run_stages(lab.needed, out, say_stage, place)
    tables = lab.tables(recipe.paper, failures)
    if tables:
        # Tables are the last stage: they read the runs of all others.
        failures |= run_stages([tables], out, lambda stage, _: say_stage(stage, len(stages)))
    folder = str(tables.out(out)) if tables and tables.name not in failures else None
    _say_end(lab, failures, out)
    result(
        {"tables": folder, "failed": sorted(failures)}, as_json, folder or "No table could be made."
    )
    if failures:
        context.exit(exit_code(failures))


def _all_stages(lab: "Lab", paper: str) -> list["Stage"]:
    """The stages of an experiment in the order in which they run, the tables last."""
    stages = list(lab.needed)
    tables = lab.tables(paper, {})
    if tables:
        stages.append(tables)
    return stages


def _say_work(stages: Sequence["Stage"], out: Path) -> None:
    """Say how many stages there are, and what those that are left run."""
    from evaluator.experiments.runner import is_done

    left = [stage for stage in stages if not is_done(stage, out)]
    say(f"{len(stages)} stages, {len(stages) - len(left)} done.")
    if left:
        say(f"Left: {describe_work(left)}. What each takes: docs/install.md.")


def _say_end(lab: "Lab", failures: Mapping[str, "Failure"], out: Path) -> None:
    """Say what is not shown, and which commands failed."""
    for label, reason in lab.not_shown.items():
        say(f"{label} is not shown: {reason}.")
    # A failure is listed for each stage that needs the failed one.
    say_failures({failure.stage.name: failure for failure in failures.values()}, out)
