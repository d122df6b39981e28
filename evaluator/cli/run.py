"""The command `score run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    take_slurm,
)
from evaluator.runs.request import Request
from generator.base.commands import Bar, Command, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker


@click.command(
    cls=Command,
    common=("models", "benchmark", "protocols", "limit", "batch_size", "device", "out"),
    examples=[
        "run small --model open_clip:ViT-B-32@openai",
        "run small --model jackalope:tiny --out run",
        "run sugarcrepe:sugar-crepe/data --images val2017 --model hf:google/siglip2-base-patch16-224",
    ],
)
@click.argument("dataset", type=Questions())
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    help="Model as family:name[@weights], such as open_clip:ViT-B-32@openai, open_clip:ViT-B-32@FILE or "
    "jackalope:FOLDER; arguments follow after commas, such as vqa:NAME,dtype=bfloat16. `score models` lists the "
    "families. Repeat for several, which are scored one after another.",
)
@BENCHMARK
@click.option(
    "--images",
    type=FOLDER,
    help="Folder of the images of a benchmark of others.  [default: the folder 'images' beside its questions, or "
    "theirs]",
)
@FILTERS
@options_of(Request)
@log_option("Also write the results to a tracker: tensorboard (into RUN.tensorboard) or wandb.")
@FULL
@JSONL
@job_options
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
    as_json: bool,
    **options: Any,
) -> None:
    """Score each MODEL on DATASET and print the results for each split.

    DATASET is a folder made by `gen render`, or a benchmark of others as NAME:PATH, such as sugarcrepe:FOLDER; NAME is
    one of those in docs/external.md, or table for a table of your own.

    Under torchrun or accelerate launch, each process scores its share and the first writes the results. If it is
    stopped, run the same command again to continue.
    """
    if slurm := take_slurm(options):
        run_as_job(context, slurm)
        return
    from evaluator.models.registry import check_model, check_path, read_spec

    for model in models:
        check_path(read_spec(model))
    from evaluator.api import evaluate
    from evaluator.cli.results_table import print_results
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name
    from evaluator.runs.measure import write_items
    from evaluator.runs.tracking import log_results

    opened = Dataset.open(dataset, benchmark, images=images, filters=filters)
    for model in models:
        check_model(read_spec(model))
    out, limit = options.pop("out"), options["limit"]
    part = ("" if limit is None else f"-limit{limit}") + "".join(f"-{each}" for each in filters)
    names = {model: folder_name(f"{model}{part}") for model in models}
    if len(set(names.values())) < len(names):
        raise UserError(
            f"Expected models with folders of their own, got {', '.join(names)}; score them one by one, with --out."
        )
    above = out or Path("runs") / f"{opened.source.path.resolve().name}-{opened.benchmark.name}"
    found = []
    for model, name in names.items():
        folder = above if out and len(names) == 1 else above / name
        each = evaluate(model, opened, out=folder, progress=Bar(), **options)
        if each.results:
            found.append(each)
            log_results(each.results, each.folder, trackers)
            if jsonl:
                write_items(each.folder)
    if not found:
        return
    folders = " ".join(str(each.folder) for each in found)
    say(f"Scores and results are in {folders}. Next: score report {folders}")
    print_results([each.results for each in found], full, as_json)
