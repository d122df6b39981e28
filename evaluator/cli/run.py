"""The commands that score models and write runs: `score run`, `score ask`, `score measure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.early import check_dataset, check_protocols, check_run_folder
from evaluator.cli.options import (
    BENCHMARK,
    FILTERS,
    FOLDER,
    FULL,
    JSON,
    JSONL,
    Questions,
    job_options,
    log_option,
    options_of,
    run_as_job,
    show_job,
    take_slurm,
)
from evaluator.runs.request import Request
from generator.base.commands import DRY_RUN, Bar, Command, say, say_if_slow
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker
from evaluator.cli.options import FILE, NEW_FILE, NEW_FOLDER
from evaluator.runs.request import ATTRIBUTES, DESCRIBE, AskRequest
from generator.base.commands import DatasetFolder, Number


@click.command(
    cls=Command,
    common=("models", "benchmark", "protocols", "limit", "batch_size", "device", "out"),
    examples=[
        "run small --model open_clip:ViT-B-32@openai",
        "run small --model jackalope:tiny --out run",
        "run sugarcrepe:sugar-crepe/data --images val2017 --model "
        "hf:google/siglip2-base-patch16-224",
    ],
)
@click.argument("dataset", type=Questions())
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    help="Model as family:name[@weights], such as open_clip:ViT-B-32@openai, "
    "open_clip:ViT-B-32@FILE or jackalope:FOLDER; arguments follow after commas, such as "
    "vqa:NAME,dtype=bfloat16. `score models` lists the families. Repeat for several, which are "
    "scored one after another. For a rotation, {turn} stands for the name of each turn, as in "
    "jackalope:models/{turn}: each turn's model answers the questions of its turn.",
)
@BENCHMARK
@click.option(
    "--images",
    type=FOLDER,
    help="Folder of the images of a published benchmark.  [default: the folder 'images' beside its "
    "questions, or the questions' folder]",
)
@FILTERS
@options_of(Request)
@log_option("Also write the results to a tracker: tensorboard (into RUN.tensorboard) or wandb.")
@FULL
@JSONL
@job_options
@DRY_RUN
@JSON
@click.pass_context
def run(
    context: click.Context,
    dataset: str,
    models: tuple[str, ...],
    benchmark: str | None,
    images: Path | None,
    filters: tuple[str, ...],
    trackers: tuple["Tracker", ...],
    full: bool,
    jsonl: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score each MODEL on DATASET and print the results for each split.

    DATASET is a folder made by `gen render`, or a published benchmark as NAME:PATH, such as
    sugarcrepe:FOLDER. docs/external.md lists the names; `table` is for a table of your own.

    Under torchrun or accelerate launch, each process scores its share and the first writes the
    results. If the command is stopped, run it again to continue.
    """
    slurm = take_slurm(options)
    if dry_run and slurm is None:
        raise UserError("--dry-run is about jobs of Slurm; add --farm slurm, or leave it out.")
    if slurm is not None:
        (show_job if dry_run else run_as_job)(context, slurm)
        return
    if options["name"] and len(models) > 1:
        raise UserError(
            f"--name is for one model, got {len(models)}; score them one by one, each with its "
            f"--name."
        )
    check_protocols(options["protocols"])
    check_run_folder(options["out"] if len(models) == 1 else None)
    from evaluator.models.registry import check_early, check_model, read_spec
    from evaluator.runs.turns import asks_for_turns, names_of_turns, of_turn

    turns: list[str] | list[str | None] = [benchmark]
    if asks_for_turns(benchmark, models):
        turns = names_of_turns(dataset, benchmark)
    for turn in turns:
        for model in models:
            check_early(read_spec(of_turn(model, turn)), device=options["device"])
    if not asks_for_turns(benchmark, models):
        check_dataset(dataset, benchmark)
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name, in_folder
    from evaluator.runs.measure import write_items
    from evaluator.runs.tracking import log_results

    opened_by_turn = {
        turn: Dataset.open(dataset, turn, images=images, filters=filters) for turn in turns
    }
    with say_if_slow("Loading the libraries of the model."):
        from evaluator.api import evaluate
        from evaluator.cli.results_table import print_results

        for turn in turns:
            for model in models:
                check_model(read_spec(of_turn(model, turn)))
    out, limit = options.pop("out"), options["limit"]
    part = ("" if limit is None else f"-limit{limit}") + "".join(
        f"-{filter_name}" for filter_name in filters
    )
    names = {model: folder_name(f"{model}{part}") for model in models}
    if len(set(names.values())) < len(names):
        raise UserError(
            f"Expected models with different folders, got {', '.join(names)}; score them one by "
            f"one, with --out."
        )
    evaluations = []
    for model, name in names.items():
        for turn, opened in opened_by_turn.items():
            dataset_name = opened.source.path.resolve().name
            if out is None:
                folder = Path("runs") / f"{dataset_name}-{opened.benchmark.name}" / name
            else:
                folder = out
                if len(names) > 1:
                    folder /= name
                if len(turns) > 1:
                    folder /= opened.benchmark.name
            evaluation = evaluate(
                of_turn(model, turn), opened, out=folder, progress=Bar(), **options
            )
            if evaluation.results:
                evaluations.append(evaluation)
                log_results(evaluation.results, evaluation.folder, trackers)
                if jsonl:
                    write_items(evaluation.folder)
    if not evaluations:
        return
    folders = " ".join(str(evaluation.folder) for evaluation in evaluations)
    say(f"Scores and results are in {folders}. Next: score report {folders}")
    measured = [in_folder(evaluation.results, evaluation.folder) for evaluation in evaluations]
    print_results(measured, full, as_json)


_ASKED = (
    "form",
    "answer",
    "vocabulary",
    "relations",
    "reader",
    "protocols",
    "prompt",
    "orders",
    "samples",
    "temperature",
    "max_tokens",
    "budget",
    "limit",
    "out",
)
_OPTIONS = (*_ASKED, "name", "splits", "level", "verify", "allow_contaminated", "device")


@click.command(
    cls=Command,
    common=("model", *_ASKED),
    examples=[
        "ask small --model vqa:Qwen/Qwen3-VL-4B-Instruct",
        "ask small --model api:http://localhost:8000/v1@MODEL --samples 5 --temperature 0.7",
        "ask small --model api:https://api.openai.com/v1@MODEL --to batch.jsonl",
        "ask small --model vqa:Qwen/Qwen3-VL-4B-Instruct --form describe --answer prose",
    ],
)
@click.argument("dataset", type=Questions())
@click.option(
    "--model",
    required=True,
    help="Model that answers in words: vqa:NAME, api:URL@MODEL, or python:FILE.py:FACTORY with a "
    "method answer(images, question).",
)
@BENCHMARK
@click.option("--images", type=FOLDER, help="Folder of the images of a published benchmark.")
@FILTERS
@options_of(AskRequest, *_OPTIONS)
@click.option(
    "--to",
    "batch",
    type=NEW_FILE,
    help="Write the questions to this file of OpenAI's batch format instead.",
)
@click.option(
    "--from",
    "answers",
    type=FILE,
    multiple=True,
    help="Read the answers from this result file of a batch.",
)
@FULL
@JSONL
@JSON
def ask(
    dataset: str,
    model: str,
    benchmark: str | None,
    images: Path | None,
    filters: tuple[str, ...],
    batch: Path | None,
    answers: tuple[Path, ...],
    full: bool,
    jsonl: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask MODEL the questions of DATASET in words and print the results for each split.

    A choice counts as right only if it is right in every order of the options. With --form
    describe, the model describes each image, and the description is judged atom by atom; with
    --form attributes, it is asked for the same facts one by one. If the command is stopped, run it
    again to continue: no question is asked twice.
    """
    from evaluator.models.registry import check_early, read_spec

    if batch is not None and answers:
        raise UserError(
            "--to writes the questions and --from reads their answers; give one of the two."
        )
    check_protocols(options["protocols"])
    check_run_folder(options["out"])
    check_early(read_spec(model), device=options["device"], in_words=True)
    check_dataset(dataset, benchmark)

    from evaluator.cli.results_table import print_results
    from evaluator.report.files import write_latex
    from evaluator.runs.ask import ask as ask_model
    from evaluator.runs.ask import write_question_batch
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name
    from evaluator.runs.measure import write_items

    opened = Dataset.open(dataset, benchmark, images=images, filters=filters)
    limit = options["limit"]
    part = ("" if limit is None else f"-limit{limit}") + "".join(
        f"-{filter_name}" for filter_name in filters
    )
    above = Path("runs") / f"{opened.source.path.resolve().name}-{opened.benchmark.name}"
    out = options.pop("out") or above / folder_name(f"{model}-{_form_name(options)}{part}")
    request = AskRequest(dataset=opened, model=model, **options)
    if request.form in (DESCRIBE, ATTRIBUTES):
        if jsonl:
            raise UserError(
                f"--jsonl is not for --form {request.form}, which always writes JSON lines."
            )
        from evaluator.cli.attributes import ask_for_attributes
        from evaluator.cli.describe import ask_for_descriptions

        ask_form = ask_for_descriptions if request.form == DESCRIBE else ask_for_attributes
        ask_form(request, out, batch=batch, answers=answers, full=full, as_json=as_json)
        return
    if batch is not None:
        paths, n = write_question_batch(request, out, batch)
        from evaluator.cli.describe import print_batch

        print_batch(paths, n, "questions", as_json)
        return
    results = ask_model(request, out, Bar(), answers)
    write_latex(results, out)
    if jsonl:
        write_items(out)
    say(f"Answers and results are in {out}. Next: score report {out}")
    print_results([results], full, as_json)


def _form_name(options: dict[str, Any]) -> str:
    """The form of a run in words, for the name of its folder."""
    if options["form"] == ATTRIBUTES:
        return f"{ATTRIBUTES}-{options['vocabulary']}"
    if options["form"] != DESCRIBE:
        return str(options["form"])
    parts = [DESCRIBE, options["answer"], options["vocabulary"]]
    if options["relations"]:
        parts.append("relations")
    if options["reader"]:
        parts.append(f"by-{options['reader']}")
    return "-".join(parts)


@click.command(
    cls=Command,
    examples=[
        "measure run",
        "measure --items scores.csv --out mine",
        "measure --items scores.jsonl --dataset small --out mine",
    ],
)
@click.argument("runs", type=FOLDER, nargs=-1)
@click.option(
    "--items",
    type=FILE,
    help="Table of scores from elsewhere (.csv, .tsv, .json, .jsonl or .parquet), instead of RUNS, "
    "or a log of lmms-eval, Inspect or VLMEvalKit on questions of `gen export`. docs/models.md "
    "lists the columns.",
)
@click.option(
    "--dataset",
    type=DatasetFolder(),
    help="Dataset that the table's scene_id and text_id belong to.",
)
@click.option(
    "--benchmark",
    help=(
        "Benchmark of --dataset, if it has several; without --dataset, a name for the table's "
        "benchmark."
    ),
)
@click.option(
    "--model", help="Name for the model of the table's scores.  [default: the table's name]"
)
@click.option(
    "--out", type=NEW_FOLDER, help="Folder to write for --items.  [default: runs/BENCHMARK/MODEL]"
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Read the table's scores as probabilities, by their log-odds.",
)
@click.option(
    "--tolerance",
    type=Number(min=0),
    help=(
        "Scores a and b tie where |a - b| <= TOLERANCE * max(1, |a|, |b|).  [default: the run's, "
        "else 1e-5]"
    ),
)
@options_of(Request, "splits", "level", "channel")
@FULL
@JSONL
@JSON
def measure(
    runs: tuple[Path, ...],
    channel: str | None,
    full: bool,
    jsonl: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Recompute the results of RUNS from their scores, without the model, or compute results from a
    table of scores (--items).

    Runs of one model are printed as one, pooled over block seeds and training seeds
    (docs/statistics.md). Of a run of descriptions, the stored answers are read and judged again.
    """
    from evaluator.runs.described import is_described

    if any(is_described(str(run)) for run in runs):
        options = {**given, "channel": channel, "jsonl": jsonl}
        _measure_descriptions(runs, options, full=full, as_json=as_json)
        return

    from evaluator.cli.results_table import print_results
    from evaluator.report.files import write_latex
    from evaluator.runs.elsewhere import ScoresFile, measure_items
    from evaluator.runs.folder import in_folder, split_run
    from evaluator.runs.measure import measure as compute
    from evaluator.runs.measure import write_items

    splits, tolerance, level = (given[name] for name in ("splits", "tolerance", "level"))
    if bool(runs) == (given["items"] is not None):
        raise UserError(
            "Expected RUNS or --items, one of the two; `score measure --help` explains both."
        )
    if not runs:
        if channel is not None:
            raise UserError(
                "--channel belongs to RUNS; a table of --items has one score, leave --channel out."
            )
        run, entry = measure_items(ScoresFile(**given))
        say(f"Scores and results are in {run}. Next: score report {run}")
        runs, results = (run,), [entry]
    else:
        of_items = ("dataset", "benchmark", "model", "out", "probabilities")
        if alone := [name for name in of_items if given[name]]:
            raise UserError(
                f"--{alone[0]} belongs to --items; leave it out to measure {runs[0]} again."
            )
        for run in runs if splits else ():
            split_run(run, splits)
        rules: dict[str, Any] = {"channel": channel, "tolerance": tolerance, "level": level}
        results = [compute(run, **rules) for run in runs]
    for run, entry in zip(runs, results, strict=True):
        write_latex(entry, run)
        if jsonl:
            write_items(run, channel=channel, tolerance=tolerance, level=level)
    print_results(
        [in_folder(entry, run) for run, entry in zip(runs, results, strict=True)], full, as_json
    )


def _measure_descriptions(
    runs: tuple[Path, ...], options: dict[str, Any], *, full: bool, as_json: bool
) -> None:
    """Judge runs of descriptions again. Raises UserError for options that belong to scores."""
    from evaluator.cli.describe import measure_again

    level = options.pop("level")
    for name, value in options.items():
        if value:
            raise UserError(f"--{name} is not for runs of descriptions; leave it out.")
    measure_again(runs, level=level, full=full, as_json=as_json)
