"""The commands that score models and write runs: `score run`, `score ask`, `score measure`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.early import check_dataset, check_protocols, check_run_folder
from evaluator.cli.options import (
    BENCHMARK,
    FILE,
    FILTERS,
    FOLDER,
    FULL,
    JSON,
    JSONL,
    NEW_FILE,
    NEW_FOLDER,
    Questions,
    job_options,
    log_option,
    options_of,
    run_as_job,
    show_job,
    take_slurm,
)
from evaluator.runs.request import ATTRIBUTES, DESCRIBE, AskRequest, Request
from generator.base.commands import (
    DRY_RUN,
    Bar,
    Command,
    DatasetFolder,
    Number,
    result,
    say,
    say_if_slow,
)
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.api import Evaluation
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.tracking import Tracker


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
    if slurm is not None:
        (show_job if dry_run else run_as_job)(context, slurm)
        return
    if dry_run:
        raise UserError("--dry-run is about jobs of Slurm; add --farm slurm, or leave it out.")

    # Mistakes are reported in the order of what it costs to find them: from the arguments, from
    # the dataset, and only then from the libraries of the models.
    turns = _check_run(dataset, models, benchmark, options)
    from evaluator.runs.dataset import Dataset

    opened_by_turn = {
        turn: Dataset.open(dataset, turn, images=images, filters=filters) for turn in turns
    }
    _load_libraries(models, turns)
    from evaluator.cli.results_table import print_results
    from evaluator.runs.folder import in_folder

    evaluations = _evaluate_all(
        models,
        opened_by_turn,
        suffix=_part_suffix(options["limit"], filters),
        trackers=trackers,
        jsonl=jsonl,
        options=options,
    )
    # Under torchrun, only the main process has results.
    if not evaluations:
        return
    folders = " ".join(str(evaluation.folder) for evaluation in evaluations)
    say(f"Scores and results are in {folders}. Next: score report {folders}")
    results = [in_folder(evaluation.results, evaluation.folder) for evaluation in evaluations]
    print_results(results, full, as_json)


def _check_run(
    dataset: str, models: tuple[str, ...], benchmark: str | None, options: dict[str, Any]
) -> Sequence[str | None]:
    """Check the arguments of `score run`, before torch is imported.

    Args:
        dataset: The value of DATASET.
        models: The values of --model.
        benchmark: The value of --benchmark.
        options: The options of a run (evaluator.runs.request).

    Returns:
        The benchmarks to score: the turns of a rotation, or only `benchmark`.

    Raises:
        UserError: An argument is wrong.
    """
    if options["name"] and len(models) > 1:
        raise UserError(
            f"--name is for one model, got {len(models)}; score them one by one, each with its "
            f"--name."
        )
    check_protocols(options["protocols"])
    # Of several models each has a folder of its own below --out, which need not be empty.
    check_run_folder(options["out"] if len(models) == 1 else None)
    from evaluator.models.registry import check_early, read_spec
    from evaluator.runs.turns import asks_for_turns, names_of_turns, of_turn

    is_rotation = asks_for_turns(benchmark, models)
    turns: Sequence[str | None] = [benchmark]
    if is_rotation:
        turns = names_of_turns(dataset, benchmark)
    # A spec with {turn} names a model for each turn, any of which may be missing.
    for turn in turns:
        for model in models:
            check_early(read_spec(of_turn(model, turn)), device=options["device"])
    # The turns of a rotation were read from the dataset already.
    if not is_rotation:
        check_dataset(dataset, benchmark)
    return turns


def _load_libraries(models: tuple[str, ...], turns: Sequence[str | None]) -> None:
    """Import what the models need, and raise UserError for an argument that a model does not
    take."""
    from evaluator.models.registry import check_model, read_spec
    from evaluator.runs.turns import of_turn

    with say_if_slow("Loading the libraries of the model."):
        import evaluator.api
        import evaluator.cli.results_table  # noqa: F401

        for turn in turns:
            for model in models:
                check_model(read_spec(of_turn(model, turn)))


def _evaluate_all(
    models: Sequence[str],
    opened_by_turn: Mapping[str | None, "Dataset"],
    *,
    suffix: str,
    trackers: Sequence["Tracker"],
    jsonl: bool,
    options: dict[str, Any],
) -> list["Evaluation"]:
    """Score each model on the questions of each turn.

    Args:
        models: Specs, which may contain `{turn}`.
        opened_by_turn: The questions of each turn; under None those of a benchmark without turns.
        suffix: End of the name of each model's folder.
        trackers: Trackers to write the results to.
        jsonl: Whether to write items.jsonl too.
        options: The options of a run (evaluator.runs.request).

    Returns:
        The evaluations that have results: none in processes other than the main one.
    """
    from evaluator.api import evaluate
    from evaluator.runs.measure import write_items
    from evaluator.runs.tracking import log_results
    from evaluator.runs.turns import of_turn

    out = options["out"]
    names = _name_folders(models, suffix)
    evaluations = []
    for model, name in names.items():
        for turn, opened in opened_by_turn.items():
            if out is None:
                folder = _default_parent(opened) / name
            else:
                folder = out / name if len(names) > 1 else out
                if len(opened_by_turn) > 1:
                    folder /= opened.benchmark.name
            spec = of_turn(model, turn)
            of_run = {**options, "out": folder}
            evaluation = evaluate(spec, opened, progress=Bar(), **of_run)
            # Of several processes only the main one has results.
            if not evaluation.results:
                continue
            evaluations.append(evaluation)
            log_results(evaluation.results, evaluation.folder, trackers)
            if jsonl:
                write_items(evaluation.folder)
    return evaluations


def _part_suffix(limit: int | None, filters: Sequence[str]) -> str:
    """The end of a run's name that says which part of the questions is scored; "" for all."""
    suffix = "" if limit is None else f"-limit{limit}"
    return suffix + "".join(f"-{name}" for name in filters)


def _default_parent(opened: "Dataset") -> Path:
    """The folder of all runs on a benchmark, unless --out names another."""
    return Path("runs") / f"{opened.source.path.resolve().name}-{opened.benchmark.name}"


def _name_folders(models: Sequence[str], suffix: str) -> dict[str, str]:
    """{model: name of its folder}. Raises UserError if two models would share a folder."""
    from evaluator.runs.folder import folder_name

    names = {model: folder_name(f"{model}{suffix}") for model in models}
    if len(set(names.values())) < len(names):
        raise UserError(
            f"Expected models with different folders, got {', '.join(names)}; score them one by "
            f"one, with --out."
        )
    return names


_COMMON_OF_ASK = (
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
_OPTIONS_OF_ASK = (
    *_COMMON_OF_ASK,
    "name",
    "splits",
    "level",
    "verify",
    "allow_contaminated",
    "device",
)


@click.command(
    cls=Command,
    common=("model", *_COMMON_OF_ASK),
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
@options_of(AskRequest, *_OPTIONS_OF_ASK)
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
    if batch is not None and answers:
        raise UserError(
            "--to writes the questions and --from reads their answers; give one of the two."
        )
    _check_ask(dataset, model, benchmark, options)

    from evaluator.cli.results_table import print_results
    from evaluator.report.files import write_latex
    from evaluator.runs.ask import ask as ask_model
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name
    from evaluator.runs.measure import write_items

    opened = Dataset.open(dataset, benchmark, images=images, filters=filters)
    suffix = _part_suffix(options["limit"], filters)
    name = folder_name(f"{model}-{_form_name(options)}{suffix}")
    out = options.pop("out") or _default_parent(opened) / name
    request = AskRequest(dataset=opened, model=model, **options)
    has_own_results = request.form in (DESCRIBE, ATTRIBUTES)
    if has_own_results and jsonl:
        raise UserError(
            f"--jsonl is not for --form {request.form}, which always writes JSON lines."
        )
    # The questions go to a service that answers them later, so there are no results yet.
    if batch is not None:
        paths, n = _batch_writer(request.form)(request, out, batch)
        _print_batch(paths, n, as_json)
        return
    if has_own_results:
        ask_form = _form_command(request.form)
        ask_form(request, out, answers=answers, full=full, as_json=as_json)
        return
    results = ask_model(request, out, Bar(), answers)
    write_latex(results, out)
    if jsonl:
        write_items(out)
    say(f"Answers and results are in {out}. Next: score report {out}")
    print_results([results], full, as_json)


def _batch_writer(form: str) -> Callable[[AskRequest, Path, Path], tuple[list[Path], int]]:
    """What writes the questions of a form as batch files."""
    from evaluator.runs.ask import write_question_batch
    from evaluator.runs.attributes import write_attribute_batch
    from evaluator.runs.describe import write_description_batch

    writers = {DESCRIBE: write_description_batch, ATTRIBUTES: write_attribute_batch}
    return writers.get(form, write_question_batch)


def _print_batch(paths: Sequence[Path], n: int, as_json: bool) -> None:
    """Print which batch files hold the unanswered questions of a run; none if all have answers."""
    names = " ".join(map(str, paths))
    say(
        f"{n:,} questions are in {names or 'no file: all have answers'}. Next: the batch, then "
        f"--from its results."
    )
    result({"batch": [str(path) for path in paths], "questions": n}, as_json, names)


def _form_command(form: str) -> Callable[..., None]:
    """What asks for descriptions or for attributes, and prints the results."""
    from evaluator.cli.attributes import ask_for_attributes
    from evaluator.cli.describe import ask_for_descriptions

    return ask_for_descriptions if form == DESCRIBE else ask_for_attributes


def _check_ask(dataset: str, model: str, benchmark: str | None, options: dict[str, Any]) -> None:
    """Raise UserError for what is wrong with the arguments of `score ask`, before torch is
    imported."""
    from evaluator.models.registry import check_early, read_spec

    check_protocols(options["protocols"])
    check_run_folder(options["out"])
    check_early(read_spec(model), device=options["device"], in_words=True)
    check_dataset(dataset, benchmark)


def _form_name(options: dict[str, Any]) -> str:
    """The form of a run in words, for the name of its folder."""
    if options["form"] == ATTRIBUTES:
        return f"{ATTRIBUTES}-{options['vocabulary']}"
    if options["form"] != DESCRIBE:
        return str(options["form"])
    # All that changes what is asked, so that each form of a model's run has a folder of its own.
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
    **options: Any,
) -> None:
    """Recompute the results of RUNS from their scores, without the model, or compute results from a
    table of scores (--items).

    Runs of one model are printed as one, pooled over block seeds and training seeds
    (docs/statistics.md). Of a run of descriptions, the stored answers are read and judged again.
    """
    from evaluator.runs.described import is_described

    if any(is_described(str(run)) for run in runs):
        score_options = {**options, "channel": channel, "jsonl": jsonl}
        _measure_descriptions(runs, score_options, full=full, as_json=as_json)
        return

    from evaluator.cli.results_table import print_results
    from evaluator.report.files import write_latex
    from evaluator.runs.elsewhere import ScoresFile, measure_items
    from evaluator.runs.folder import in_folder
    from evaluator.runs.measure import write_items

    if bool(runs) == (options["items"] is not None):
        raise UserError(
            "Expected RUNS or --items, one of the two; `score measure --help` explains both."
        )
    rules = {"channel": channel, "tolerance": options["tolerance"], "level": options["level"]}
    if runs:
        results_of_runs = _measure_runs(runs, options, rules)
    else:
        if channel is not None:
            raise UserError(
                "--channel belongs to RUNS; a table of --items has one score, leave --channel out."
            )
        run, results = measure_items(ScoresFile(**options))
        say(f"Scores and results are in {run}. Next: score report {run}")
        runs, results_of_runs = (run,), [results]
    entries = []
    for run, results in zip(runs, results_of_runs, strict=True):
        write_latex(results, run)
        if jsonl:
            write_items(run, **rules)
        entries.append(in_folder(results, run))
    print_results(entries, full, as_json)


_OPTIONS_OF_ITEMS = ("dataset", "benchmark", "model", "out", "probabilities")
"""Options of `score measure` that only a table of scores has."""


def _measure_runs(
    runs: Sequence[Path], options: dict[str, Any], rules: dict[str, Any]
) -> list[dict[str, Any]]:
    """Measure runs again.

    Args:
        runs: Folders of runs.
        options: The options of the command.
        rules: Channel, tolerance and level to measure with; None for those of the run.

    Returns:
        The results of each run.

    Raises:
        UserError: An option belongs to --items, or a run cannot be measured.
    """
    from evaluator.runs.folder import split_run
    from evaluator.runs.measure import measure

    for name in _OPTIONS_OF_ITEMS:
        if options[name]:
            raise UserError(
                f"--{name} belongs to --items; leave it out to measure {runs[0]} again."
            )
    # All runs are split before the first is measured, so that a mistake leaves none half done.
    if options["splits"]:
        for run in runs:
            split_run(run, options["splits"])
    return [measure(run, **rules) for run in runs]


def _measure_descriptions(
    runs: tuple[Path, ...], options: dict[str, Any], *, full: bool, as_json: bool
) -> None:
    """Judge runs of descriptions again. Raises UserError for options that belong to scores."""
    from evaluator.cli.describe import measure_again

    level = options.pop("level")
    # Everything but the level is about scores, which descriptions do not have.
    for name, value in options.items():
        if value:
            raise UserError(f"--{name} is not for runs of descriptions; leave it out.")
    measure_again(runs, level=level, full=full, as_json=as_json)
