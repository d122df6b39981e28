"""The command `score run`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evaluator.cli.options import (
    BENCHMARK,
    CHANNEL,
    DEVICE,
    FILTERS,
    FOLDER,
    FULL,
    JSON,
    JSONL,
    LEVEL,
    NEW_FOLDER,
    SPLITS,
    Questions,
)
from evaluator.protocols.registry import protocol_names
from generator.base.commands import Bar, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker


@click.command()
@click.argument("dataset", type=Questions())
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    help="Model as family:name[@weights], such as open_clip:ViT-B-32@openai, open_clip:ViT-B-32@FILE or jackalope:FOLDER. "
    "`score models` lists the families. Repeat for several, which are scored one after another.",
)
@click.option(
    "--model-args",
    multiple=True,
    metavar="NAME=VALUE",
    help="Argument of the model's family, such as samples=32 or dtype=bfloat16 (docs/models.md). Repeat, or separate by commas.",
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16", "auto"]),
    help="Number format of a model of transformers; auto: that of its files. The same as --model-args dtype=…  [default: float32]",
)
@click.option(
    "--device-map",
    type=click.Choice(["auto", "balanced", "sequential"]),
    help="Share a large model of transformers among the GPUs, with accelerate. The same as --model-args device_map=…",
)
@BENCHMARK
@click.option(
    "--images",
    type=FOLDER,
    help="Folder of the images of a benchmark of others.  [default: the folder 'images' beside its questions, or theirs]",
)
@FILTERS
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="NAME",
    help=f"Protocol to score: {', '.join(protocol_names())}. Repeat for several.  [default: all that the benchmark has]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Score at most so many items of each protocol, drawn by their names, for a quick look; the results say so.",
)
@click.option(
    "--out",
    type=NEW_FOLDER,
    help="Folder to write; of several models, a folder of each is in it.  [default: runs/DATASET-BENCHMARK/MODEL]",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Images, texts or pairs per batch; halved when memory runs out.  [default: as much as the GPU's memory allows, else 128]",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "float32", "bfloat16"]),
    default="auto",
    help="auto: bfloat16 for the image side of dual encoders on a GPU, else float32. Similarities are always float32.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Threads that read images ahead.  [default: one per processor core, at most 8]",
)
@SPLITS
@LEVEL
@CHANNEL
@click.option(
    "--full-pools",
    is_flag=True,
    help="With a pair scorer too, score complete pools and raw retrieval, however long it takes.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Judge the dataset with `gen verify` first, and end if it fails. Without this the run repeats what the certificate in "
    "the folder says.",
)
@click.option(
    "--allow-contaminated",
    is_flag=True,
    help="Score a model that was trained on held-out combinations or on images that are scored; every table and page then "
    "says CONTAMINATED.",
)
@click.option(
    "--log",
    "trackers",
    type=click.Choice(["tensorboard", "wandb"]),
    multiple=True,
    help="Also write the results to a tracker: tensorboard (into the folder of the run) or wandb. It needs the extra [log].",
)
@DEVICE
@FULL
@JSONL
@JSON
def run(
    dataset: str, models: tuple[str, ...], benchmark: str | None, images: Path | None, protocols: tuple[str, ...], out: Path | None, batch_size: int | None,
    precision: str, workers: int | None, level: float | None, channel: str | None, full_pools: bool, verify: bool, allow_contaminated: bool,
    device: str | None, limit: int | None, full: bool, jsonl: bool, as_json: bool, model_args: tuple[str, ...], dtype: str | None, device_map: str | None,
    trackers: tuple["Tracker", ...], splits: Path | None, filters: tuple[str, ...],
) -> None:  # fmt: skip
    """Score each MODEL on DATASET and print the results for each split.

    DATASET is a folder made by `gen render`, or a benchmark of others as NAME:PATH, such as sugarcrepe:FOLDER; NAME is one of those in
    docs/external.md, or table for a table of your own.

    Under torchrun or accelerate launch, each process scores its share and the first writes the results. If it is stopped, run
    the same command again to continue.
    """
    from evaluator.analysis.pooling import pool_runs
    from evaluator.api import evaluate
    from evaluator.cli.results_table import print_table
    from evaluator.models.arguments import named_with, parse_arguments
    from evaluator.models.registry import check_model
    from evaluator.runs.dataset import Dataset
    from evaluator.runs.folder import folder_name
    from evaluator.runs.item_rows import write_items
    from evaluator.runs.tracking import check_tracker, log_results

    for tracker in trackers:
        check_tracker(tracker)
    opened = Dataset.open(dataset, benchmark, images=images, filters=filters)
    arguments = parse_arguments(
        (*model_args, *(f"{name}={value}" for name, value in (("dtype", dtype), ("device_map", device_map)) if value))
    )
    if arguments:
        for model in models:
            check_model(model, arguments)
    part = ("" if limit is None else f"-limit{limit}") + "".join(f"-{each}" for each in filters)
    names = {model: folder_name(f"{named_with(model, arguments)}{part}") for model in models}
    if len(set(names.values())) < len(names):
        raise UserError(
            f"Expected models with folders of their own, got {', '.join(names)}; score them one by one, with --out."
        )
    above = out or Path("runs") / f"{opened.source.path.resolve().name}-{opened.benchmark.name}"
    found = []
    for model, name in names.items():
        folder = above if out and len(names) == 1 else above / name
        each = evaluate(
            model, opened, protocols=protocols, limit=limit, batch_size=batch_size, out=folder, device=device,
            precision=precision, workers=workers, channel=channel, level=level, full_pools=full_pools, verify=verify,
            allow_contaminated=allow_contaminated, model_args=arguments, splits=splits, progress=Bar(),
        )  # fmt: skip
        if each.results:
            found.append(each)
            for tracker in trackers:
                log_results(each.results, each.folder, tracker)
            if jsonl:
                write_items(each.folder)
    if not found:
        return
    folders = " ".join(str(each.folder) for each in found)
    say(f"Scores and results are in {folders}. Next: score report {folders}")
    results = [each.results for each in found]
    if as_json:
        result(results[0] if len(results) == 1 else {"results": results, "pooled": pool_runs(results)}, True, "")
    else:
        print_table(results, full)
