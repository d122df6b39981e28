"""The command `score suite`: asks models all questions of a suite, and writes one table and one
page."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.options import FILE, FOLDER, JSON, NEW_FOLDER, stage_options, take_slurm
from evaluator.cli.stages import check_commands, command_line, exit_code, say_failures
from generator.base.commands import Command, result, say
from generator.base.errors import UserError
from generator.base.paths import check_own_files
from generator.suite.parts import PARTS

if TYPE_CHECKING:
    from evaluator.experiments.runner import Failure, Place
    from evaluator.experiments.stages import Stage
    from evaluator.suite.models import SuiteModel
    from evaluator.suite.results import SuiteResult
    from evaluator.suite.work import Work
    from generator.suite.definition import Suite
    from generator.suite.record import SuiteRecord

_STAGES = "stages"
"""Folder of trainings and runs, below --out."""
_METHODS = ("labclip", "finetune", "dreambooth")
"""The values of --train. A model from scratch has no SPEC; a file of models declares it."""


@click.command(
    cls=Command,
    common=("models", "models_file", "method", "tracks", "limit", "out"),
    examples=[
        "suite jackalope-1-tiny --model open_clip:ViT-B-32@openai --train labclip",
        "suite jackalope-1-tiny --model 'mine=jackalope:models/{world}/{turn}' --track bind",
        "suite jackalope-1-tiny --models zoo.toml --limit 100",
    ],
)
@click.argument("suite", metavar="DIR|NAME")
@click.option(
    "--model",
    "models",
    multiple=True,
    help="Model as [NAME=]SPEC, such as open_clip:ViT-B-32@openai (`score models`). {world} and "
    "{turn} stand for the names of a world and of a turn: models that you trained on them. Repeat "
    "for several.",
)
@click.option(
    "--models",
    "models_file",
    type=FILE,
    help="TOML file of models (docs/suite.md); results/zoo.toml has those that everybody knows.",
)
@click.option(
    "--train",
    "method",
    type=click.Choice(_METHODS),
    help="Train each --model further on the train split of each turn, by this method of `score "
    "train`. Without it, tracks with a train split are left out for models that are not trained "
    "on it.",
)
@click.option(
    "--track", "tracks", multiple=True, help="Track to ask. Repeat for several.  [default: all]"
)
@click.option(
    "--part",
    type=click.Choice(PARTS),
    help="Of several folders of the suite NAME, the part to ask.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Score at most this many items of each protocol, for a first look.  [default: all]",
)
@click.option("--device", help="Device to compute on, such as cpu or cuda:1.")
@click.option(
    "--out",
    type=NEW_FOLDER,
    help="Folder to write.  [default: results-DIR]",
)
@click.option(
    "--dataset", "moved", type=FOLDER, multiple=True, hidden=True, help="Folder of a moved dataset."
)
@stage_options
@JSON
@click.pass_context
def suite(
    context: click.Context,
    suite: str,
    models: tuple[str, ...],
    models_file: Path | None,
    method: str | None,
    tracks: tuple[str, ...],
    part: str | None,
    limit: int | None,
    device: str | None,
    out: Path | None,
    moved: tuple[Path, ...],
    allow_code: bool,
    workers: int,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask models all questions of a suite that `gen suite` made, and write one table and one page.

    DIR|NAME is the folder of the suite, or its name if the folder lies here. Each run is an
    ordinary run of `score run` or `score ask`. Finished trainings and runs are skipped: if the
    command is stopped, run it again to continue; run it with other models to add them.
    """
    from evaluator.experiments.runner import Place
    from evaluator.suite.work import plan_work
    from generator.suite.record import read_record, suite_of_folder

    root = find_suite(suite, part)
    record = read_record(root)
    chosen = suite_of_folder(root).in_part(record["part"], tracks)
    _say_unfinished(root, record)
    asked_models = _read_models(models, models_file, method, allow_code)
    # Resolved, since DIR may be "." or end in "..".
    folder = out or Path(f"results-{root.resolve().name}")
    check_own_files(folder)
    stages_folder = folder / _STAGES
    work = plan_work(root.resolve(), chosen, asked_models, limit=limit, device=device)
    _say_left_out(work)
    if not work.runs:
        raise UserError("No model can be asked; give other models, --train or other tracks.")
    # All models before the first training, which may take hours.
    _check_specs(work, device)
    stages = work.stages
    check_commands(context.find_root(), stages, stages_folder)
    _say_cost(work, stages, stages_folder)
    # After all checks, so that a dry run finds each mistake that a run would.
    if dry_run:
        commands = [command_line(stage, stages_folder) for stage in stages]
        result({"commands": commands}, as_json, "\n".join(commands))
        return

    failures = _run(stages, stages_folder, Place(workers, take_slurm(options)))
    # Without a run that ended there is no table to write.
    if all(run.stage.name in failures for run in work.runs):
        context.exit(exit_code(failures))
    results = _write_results(
        chosen, work, failures, folder, part=record["part"], form=record["form"], limit=limit
    )
    _print_results(results, folder, moved, as_json)
    if failures:
        context.exit(exit_code(failures))


def find_suite(name: str, part: str | None) -> Path:
    """Find the folder of a suite.

    Args:
        name: A folder that `gen suite` made, or the name of a suite, of which there is one folder
            in the working folder.
        part: The part, if several are there; None for any.

    Returns:
        The folder.

    Raises:
        UserError: There is none, or there are several.
    """
    from generator.suite.record import is_suite, read_record

    # A folder comes first: its name may be that of a suite.
    if is_suite(Path(name)):
        if part is not None and read_record(Path(name))["part"] != part:
            raise UserError(f"{name} is the part {read_record(Path(name))['part']}, not {part}.")
        return Path(name)
    matching = []
    for folder in sorted(Path().iterdir()):
        if not is_suite(folder):
            continue
        record = read_record(folder)
        is_of_name = f"{record['suite']}-{record['version']}" == name
        if is_of_name and part in (None, record["part"]):
            matching.append(folder)
    if not matching:
        part_option = f" --part {part}" if part else ""
        raise UserError(
            f"{name} is not a folder of a suite, and there is none of that name here; make it with "
            f"`gen suite {name}{part_option}`."
        )
    if len(matching) > 1:
        raise UserError(
            f"There are several folders of {name}: {', '.join(map(str, matching))}; name one."
        )
    return matching[0]


def _say_unfinished(root: Path, record: "SuiteRecord") -> None:
    """Say which worlds of the suite are not there."""
    from generator.suite.definition import read_suite
    from generator.suite.record import DECLARATION, world_key

    # The declaration has all worlds of the part, the record those that were made.
    declared = read_suite(root / DECLARATION).in_part(record["part"])
    keys = [world_key(track, world) for track, world, _ in declared.worlds()]
    missing = [key for key in keys if key not in record["worlds"]]
    if missing:
        say(f"Not made, and left out: {', '.join(missing)}. `gen suite` makes them.")


def _read_models(
    specs: tuple[str, ...], path: Path | None, method: str | None, allow_code: bool
) -> dict[str, "SuiteModel"]:
    """The models of --model and --models by name. Raises UserError if there are none, or if two
    share a name."""
    from evaluator.suite.models import check_distinct_folders, named_models, read_suite_models

    models = read_suite_models(path, allow_code) if path else {}
    for name, model in named_models(specs, method).items():
        if name in models:
            raise UserError(f"Two models are named '{name}'; give one as NAME=SPEC.")
        models[name] = model
    if not models:
        raise UserError("Expected --model SPEC or --models FILE, got neither.")
    check_distinct_folders(list(models))
    return models


def _check_specs(work: "Work", device: str | None) -> None:
    """Raise UserError for a model that cannot be loaded, as far as that is known before the
    libraries are."""
    from evaluator.models.registry import check_early, read_spec
    from evaluator.runs.turns import of_turn

    for run in work.runs:
        spec = run.stage.options.get("model")
        # The spec of a model that is trained here is not a text yet.
        if isinstance(spec, str):
            for turn in run.turns or (None,):
                check_early(
                    read_spec(of_turn(spec, turn)), device=device, in_words=run.command == "ask"
                )


def _say_left_out(work: "Work") -> None:
    """Say which tracks each model is not asked, a line for each reason."""
    tracks_by_reason: dict[tuple[str, str], list[str]] = {}
    for (model, track), reason in work.left_out.items():
        tracks_by_reason.setdefault((model, reason), []).append(track)
    for (model, reason), tracks in tracks_by_reason.items():
        say(f"{model} is not asked {', '.join(tracks)}: {reason}.")


def _say_cost(work: "Work", stages: list["Stage"], stages_folder: Path) -> None:
    """Say what is left to do: trainings, runs, images and questions."""
    from evaluator.experiments.runner import is_done
    from evaluator.suite.work import count_questions

    left = {stage.name for stage in stages if not is_done(stage, stages_folder)}
    trainings = sum(stage.name in left for stage in stages if stage.command.startswith("score tr"))
    runs = [run for run in work.runs if run.stage.name in left]
    questions = sum(count_questions(run) for run in runs)
    turns = sum(len(run.turns) or 1 for run in runs)
    say(
        f"{len(stages)} stages, {len(stages) - len(left)} done. Left: {trainings} trainings of all "
        f"turns, {turns} runs with {questions:,} questions. What they take: docs/suite.md."
    )


def _run(stages: list["Stage"], stages_folder: Path, place: "Place") -> dict[str, "Failure"]:
    """Run stages, say which of them failed, and return the failures by name of the stage."""
    from evaluator.experiments.runner import run_stages

    def say_stage(stage: "Stage", number: int) -> None:
        say(f"[{number}/{len(stages)}] {command_line(stage, stages_folder)}")

    failures = run_stages(stages, stages_folder, say_stage, place)
    # A failure is listed for each stage that needs the failed one.
    say_failures({failure.stage.name: failure for failure in failures.values()}, stages_folder)
    return failures


def _write_results(
    suite: "Suite",
    work: "Work",
    failures: Mapping[str, "Failure"],
    folder: Path,
    *,
    part: str,
    form: str,
    limit: int | None,
) -> "SuiteResult":
    """Score the runs that did not fail, and write results.json."""
    from evaluator.suite.results import read_suite_results, write_results

    failed = {name: f"`{failure.stage.command}` failed" for name, failure in failures.items()}
    results = read_suite_results(
        folder / _STAGES, suite, work, part=part, form=form, limit=limit, failed=failed
    )
    write_results(results, folder)
    return results


def _print_results(
    results: "SuiteResult", folder: Path, moved: tuple[Path, ...], as_json: bool
) -> None:
    """Write the pages, and print the table of all models."""
    from evaluator.cli.results_table import print_any_table
    from evaluator.suite.page import write_pages
    from evaluator.suite.results import results_record
    from evaluator.suite.tables import overall_table

    page = write_pages(results, folder, moved)
    if as_json:
        result({**results_record(results), "page": str(page)}, True, "")
        return
    table = overall_table(results)
    print_any_table(table, table.title)
    say(f"The page is {page}; each world has a page of its own.")
