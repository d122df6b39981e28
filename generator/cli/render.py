"""The commands `gen render` and `gen merge`."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import DRY_RUN, Bar, Command, DatasetFolder, result, say, slurm_options
from generator.base.errors import UserError
from generator.base.store import settle, shown
from generator.cli.options import EXPOSED, FOLDER, JSON, given, given_values
from generator.cli.plan import COMMON, content_options
from generator.plan.options import WorldOptions

if TYPE_CHECKING:
    from generator.dataset.reader import Dataset

_WITH_FROM = frozenset(
    {
        "source",
        "resolution",
        "quality",
        "device",
        "outputs",
        "workers",
        "farm",
        "address",
        "shards",
        "out",
        "as_json",
    }
)
_OF_SLURM = frozenset({"jobs", "partition", "account", "time", "memory", "wait", "dry_run"})
_OF_WRITING = frozenset({"shards", "wait"})
"""Options that neither a script nor its cost depends on."""


@click.command(
    cls=Command,
    common=(*COMMON, "quality"),
    examples=[
        "render --holdout 3x3",
        "render --holdout 3x3 --scenes 400 --resolution 64x64 --quality draft --out small",
        "render --family pug --holdout color:animal=4x4 --block-seed 0..2 --out zoo",
        "render --holdout none --scenes 500 --out probe",
    ],
)
@click.argument("planned", type=FOLDER, required=False)
@content_options
@click.option(
    "--from",
    "source",
    type=DatasetFolder(),
    help="Render the scenes of this dataset again, with another --resolution, --quality or --with, "
    "and copy its benchmarks.",
)
@click.option(
    "--quality",
    default="standard",
    help="draft: slightly blurred edges, for images up to 128 pixels (40.6 dB at worst, a hundred "
    "times as fast as CLEVR's own settings); standard: for most benchmarks (42.5 dB); reference: "
    "CLEVR's own 512 samples (47.4 dB); docs/engines.md.",
)
@click.option(
    "--device",
    default="auto",
    help="Device to render on: auto (a GPU if there is one), cpu, optix, cuda, hip, metal or "
    "oneapi. With --farm slurm the default is cpu, and auto is refused.",
)
@click.option(
    "--with",
    "outputs",
    help=(
        "Also write these for each image: masks, depth, normals, boxes, separated by commas "
        "(docs/dataset.md)."
    ),
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of render processes.  [default: one per GPU, or per core]",
)
@click.option(
    "--farm",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    help=(
        "Where workers run: on this machine, on a Ray cluster, or as an array of jobs on a Slurm "
        "cluster."
    ),
)
@click.option(
    "--address",
    help="Address of the Ray cluster, such as 10.0.0.1:6379 or auto.  [default: start one here]",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Slurm: number of jobs, each with --workers cores.  [default: 8 jobs of 8 cores]",
)
@slurm_options
@DRY_RUN
@click.option(
    "--wait/--no-wait",
    default=True,
    help="Slurm: whether to wait for the jobs, or to end once they are submitted.",
)
@click.option("--shard", help="Render only part i of n, as i/n. `gen merge` merges the parts.")
@click.option(
    "--shards",
    help="Pack the files of scenes into tars of at most this size, such as 256MB (WebDataset).",
)
@EXPOSED
@click.option(
    "--out",
    type=DatasetFolder(written=True),
    help="Folder or URL to write.  [default: PLANNED, or a folder named after the options]",
)
@JSON
@click.pass_context
def render(
    context: click.Context,
    planned: Path | None,
    source: Path | None,
    exposed_negatives: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Render a world and write a benchmark for each holdout.

    Renders the scenes of PLANNED, a folder made by `gen plan`. Without PLANNED, first plans a world
    from the options. If the command is stopped, run it again to continue.
    """
    if planned is None and source is None:
        check_content(context)
    from generator import api

    asked = given_values(context, options)
    farm, dataset = options["farm"], None
    if farm != "slurm" and (of_slurm := _OF_SLURM & given(context).keys()):
        raise UserError(
            f"--{min(of_slurm).replace('_', '-')} is about jobs of Slurm; add --farm slurm, or "
            f"leave it out."
        )
    if source is not None:
        for name, option in given(context).items():
            if name not in _WITH_FROM:
                raise UserError(
                    f"--from {source} renders the recorded scenes, so {option} has no effect; "
                    f"leave it out."
                )
        if farm == "slurm":
            raise UserError(
                f"--from {source} renders on this machine or with Ray; leave --farm slurm out."
            )
        dataset = api.render_again(source, progress=Bar(), **asked)
        say(f"Benchmarks: {', '.join(dataset.benchmark_names()) or 'none'}.")
    elif farm == "slurm":
        if extra := {"shard", "address"} & asked.keys():
            raise UserError(
                f"--farm slurm makes the shards itself, without --{min(extra)}; leave it out."
            )
        del asked["farm"]
        if asked.pop("dry_run", False):
            wanted = {name: value for name, value in asked.items() if name not in _OF_WRITING}
            scripts = api.slurm_script(planned, **wanted)
            say(scripts.cost)
            result(asdict(scripts), as_json, scripts.script)
            return
        dataset = api.render_on_slurm(
            planned, exposed_negatives=exposed_negatives, progress=Bar(), **asked
        )
        if dataset is None:
            say(
                "Run the same command again, with --wait, to follow the jobs and to merge their "
                "scenes."
            )
            return
    else:
        dataset = api.render(planned, exposed_negatives=exposed_negatives, progress=Bar(), **asked)
    if shard := asked.get("shard"):
        say(
            f"Next, when all {shard.partition('/')[2]} shards are there: gen merge SHARD... --out "
            f"DIR"
        )
        name = settle(dataset.root)
        result({"dataset": name, "shard": shard}, as_json, name)
    else:
        print_made(dataset, as_json)


def check_content(context: click.Context) -> None:
    """Check the options of a world to plan before anything heavy is loaded. Raises UserError as
    `prepare` does."""
    from generator.plan.prepare import prepare

    names = {field.name for field in fields(WorldOptions)}
    values = given_values(context, context.params)
    prepare(WorldOptions(**{name: value for name, value in values.items() if name in names}))


def print_made(dataset: "Dataset", as_json: bool) -> None:
    """Print where a dataset is and the scenes of its benchmarks."""
    made = {name: dataset.benchmark(name).manifest["scenes"] for name in dataset.benchmark_names()}
    say(f"Next: gen verify {shown(dataset.root)}")
    first = next(iter(made), None)
    name = settle(dataset.root)
    scenes = made[first] if first else {}
    result(
        {"dataset": name, "benchmark": first, "scenes": scenes, "benchmarks": made}, as_json, name
    )


@click.command(cls=Command, examples=["merge part-1 part-2 --out world"])
@click.argument("shards", type=DatasetFolder(), nargs=-1, required=True)
@EXPOSED
@click.option(
    "--out", type=DatasetFolder(written=True), required=True, help="Folder or URL to write."
)
@JSON
def merge(shards: tuple[Path, ...], exposed_negatives: bool, out: Path, as_json: bool) -> None:
    """Merge SHARDS, made by `gen render --shard i/n`, into one dataset.

    The files are the same as those of one `gen render` without --shard. They are hard links where
    the file system allows it.
    """
    from generator.api import write_first_benchmarks
    from generator.dataset.reader import Dataset
    from generator.dataset.writer import write_index
    from generator.describe.request import check_exposed
    from generator.holdout.holdout import Holdout
    from generator.render.shards import merge_worlds

    if exposed_negatives:
        check_exposed(
            map(Holdout.from_dict, Dataset.open(shards[0]).world.manifest["request"]["holdouts"])
        )
    merge_worlds(shards, out, Bar())
    write_first_benchmarks(out, exposed_negatives, Bar())
    write_index(out)
    print_made(Dataset.open(out), as_json)
