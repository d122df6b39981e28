"""The commands `gen render` and `gen merge`."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import DRY_RUN, Bar, Command, DatasetFolder, result, say, slurm_options
from generator.base.errors import UserError
from generator.base.store import display_name, drop_local_copy
from generator.cli.farm import (
    ADDRESS,
    SHARDS,
    SLURM_PARAMETERS,
    WAIT,
    WORKERS,
    check_slurm_options,
    check_slurm_shards,
)
from generator.cli.options import EXPOSED, FOLDER, JSON, options_given, values_given
from generator.cli.plan import COMMON, content_options
from generator.plan.options import WorldOptions

if TYPE_CHECKING:
    from generator.dataset.reader import Dataset

_PARAMETERS_WITH_FROM = frozenset(
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
"""Parameters that have an effect on `--from`, which renders recorded scenes."""
_WRITING_PARAMETERS = frozenset({"shards", "wait"})
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
@WORKERS
@click.option(
    "--farm",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    help=(
        "Where workers run: on this machine, on a Ray cluster, or as an array of jobs on a Slurm "
        "cluster."
    ),
)
@ADDRESS
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Slurm: number of jobs, each with --workers cores.  [default: 8 jobs of 8 cores]",
)
@slurm_options
@DRY_RUN
@WAIT
@click.option("--shard", help="Render only part i of n, as i/n. `gen merge` merges the parts.")
@SHARDS
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
    # Wrong options are refused within a second, before SciPy and Blender are loaded.
    if planned is None and source is None:
        check_content(context)
    from generator import api

    values = values_given(context, options)
    farm = options["farm"]
    check_slurm_options(context, farm, SLURM_PARAMETERS | {"dry_run"})
    dataset: Dataset | None
    if source is not None:
        _check_options_of_from(context, source, farm)
        dataset = api.render_again(source, progress=Bar(), **values)
        say(f"Benchmarks: {', '.join(dataset.benchmark_names()) or 'none'}.")
    elif farm == "slurm":
        dataset = _render_on_slurm(planned, exposed_negatives, values, as_json)
        if dataset is None:
            return
    else:
        dataset = api.render(planned, exposed_negatives=exposed_negatives, progress=Bar(), **values)

    shard = values.get("shard")
    if shard:
        n_shards = shard.partition("/")[2]
        say(f"Next, when all {n_shards} shards are there: gen merge SHARD... --out DIR")
        # A shard has no benchmarks to print, and at a URL nothing of it stays here.
        name = drop_local_copy(dataset.root)
        result({"dataset": name, "shard": shard}, as_json, name)
    else:
        print_dataset(dataset, as_json)


def _check_options_of_from(context: click.Context, source: Path, farm: str) -> None:
    """Raise UserError if an option has no effect on recorded scenes."""
    for name, option in options_given(context).items():
        if name not in _PARAMETERS_WITH_FROM:
            raise UserError(
                f"--from {source} renders the recorded scenes, so {option} has no effect; leave it "
                f"out."
            )
    if farm == "slurm":
        raise UserError(
            f"--from {source} renders on this machine or with Ray; leave --farm slurm out."
        )


def _render_on_slurm(
    planned: Path | None, exposed_negatives: bool, values: dict[str, Any], as_json: bool
) -> "Dataset | None":
    """Render by jobs of Slurm.

    Args:
        planned: a folder made by `gen plan`; None to plan a world from the options.
        exposed_negatives: whether training negatives may name held-out bindings.
        values: the other options that the user gave.
        as_json: print the script as JSON.

    Returns:
        The dataset; None if jobs are only submitted, or if only their script is printed.

    Raises:
        UserError: an option has no effect on jobs.
    """
    from generator import api

    check_slurm_shards(values)
    values = {name: value for name, value in values.items() if name != "farm"}
    if values.pop("dry_run", False):
        script_options = {
            name: value for name, value in values.items() if name not in _WRITING_PARAMETERS
        }
        script = api.slurm_script(planned, **script_options)
        say(script.cost)
        result(asdict(script), as_json, script.script)
        return None
    dataset = api.render_on_slurm(
        planned, exposed_negatives=exposed_negatives, progress=Bar(), **values
    )
    if dataset is None:
        say(
            "Run the same command again, with --wait, to follow the jobs and to merge their scenes."
        )
    return dataset


def check_content(context: click.Context) -> None:
    """Check the options of a world to plan before anything heavy is loaded.

    Args:
        context: The context of the command.

    Raises:
        UserError: As `prepare`.
    """
    from generator.plan.prepare import prepare

    names = {field.name for field in fields(WorldOptions)}
    # The command has options of rendering too, which no plan knows.
    content = {}
    for name, value in values_given(context, context.params).items():
        if name in names:
            content[name] = value
    prepare(WorldOptions(**content))


def print_dataset(dataset: "Dataset", as_json: bool) -> None:
    """Print where a dataset is and the scenes of its benchmarks.

    Args:
        dataset: The dataset.
        as_json: Whether to print JSON.
    """
    scenes_of = {}
    for name in dataset.benchmark_names():
        scenes_of[name] = dataset.benchmark(name).manifest["scenes"]
    say(f"Next: gen verify {display_name(dataset.root)}")
    first = next(iter(scenes_of), None)
    # After the last read: of a dataset at a URL, the local copy goes.
    place = drop_local_copy(dataset.root)
    data = {
        "dataset": place,
        "benchmark": first,
        "scenes": scenes_of[first] if first else {},
        "benchmarks": scenes_of,
    }
    result(data, as_json, place)


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
    the file system allows it. Shards of `gen suite` are merged world by world.
    """
    from generator.suite.record import is_suite

    # `merge_suites` compares the others with the first.
    if is_suite(shards[0]):
        _merge_suites(shards, exposed_negatives, out, as_json)
        return
    from generator.api import write_first_benchmarks
    from generator.dataset.reader import Dataset
    from generator.dataset.writer import write_index
    from generator.describe.request import check_exposed
    from generator.holdout.holdout import Holdout
    from generator.render.shards import merge_worlds

    if exposed_negatives:
        # All shards have the request of the world that they are parts of.
        request = Dataset.open(shards[0]).world.manifest["request"]
        check_exposed([Holdout.from_dict(record) for record in request["holdouts"]])
    merge_worlds(shards, out, Bar())
    write_first_benchmarks(out, exposed_negatives, Bar())
    write_index(out)
    print_dataset(Dataset.open(out), as_json)


def _merge_suites(
    shards: tuple[Path, ...], exposed_negatives: bool, out: Path, as_json: bool
) -> None:
    """Merge the shards of a suite, made by `gen suite --shard i/n`."""
    from generator.suite.making import merge_suites
    from generator.suite.record import read_record

    if exposed_negatives:
        raise UserError("--exposed-negatives is for a dataset, and these are shards of a suite.")
    faults = merge_suites(shards, out, progress=Bar())
    for fault in faults:
        say(f"Not as published: {fault}.")
    say(f"Next: score suite {out} --model SPEC, or gen verify {out}")
    result({"suite": str(out), **read_record(out), "faults": faults}, as_json, str(out))
    raise SystemExit(1 if faults else 0)
