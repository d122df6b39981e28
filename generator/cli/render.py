"""The command `gen render`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Bar, DatasetFolder, OutFolder, result, say
from generator.base.errors import UserError
from generator.cli.options import EXPOSED, FOLDER, JSON, given
from generator.cli.plan import CONTENT, content_options, prepare_content, say_held_out

if TYPE_CHECKING:
    from generator.dataset.reader import World
    from generator.render.farm.pool import Farm

_WITH_FROM = {
    "source",
    "resolution",
    "quality",
    "device",
    "outputs",
    "workers",
    "farm_name",
    "address",
    "shards",
    "out",
    "as_json",
}


@click.command()
@click.argument("planned", type=FOLDER, required=False)
@content_options
@click.option(
    "--from",
    "source",
    type=DatasetFolder(),
    help=(
        "Render the scenes of this dataset again, with another --resolution, --quality or --with, and copy its "
        "benchmarks."
    ),
)
@click.option(
    "--quality",
    default="standard",
    help=(
        "draft: slightly blurred edges, for images up to 128 pixels (40.6 dB at worst, a hundred times as fast "
        "as CLEVR's own settings); standard: for most benchmarks (42.5 dB); reference: CLEVR's own 512 samples "
        "(47.4 dB); docs/engines.md."
    ),
)
@click.option(
    "--device",
    default="auto",
    help="What to render on: auto (a GPU if there is one), cpu, optix, cuda, hip, metal or oneapi.",
)
@click.option(
    "--with",
    "outputs",
    help="Also write these for each image: masks, depth, normals, boxes, separated by commas (docs/dataset.md).",
)
@click.option("--workers", type=click.IntRange(min=1), help="Number of render processes.  [default: one per core]")
@click.option(
    "--farm",
    "farm_name",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Where workers run: on this machine or on a Ray cluster.",
)
@click.option("--address", help="Address of the Ray cluster, such as 10.0.0.1:6379 or auto.  [default: start one here]")
@click.option("--shard", help="Render only part i of n, as i/n. `gen merge` merges the parts.")
@click.option("--shards", help="Pack the files of scenes into tars of at most this size, such as 256MB (WebDataset).")
@EXPOSED
@click.option(
    "--out", type=OutFolder(), help="Folder or URL to write.  [default: PLANNED, or a folder named after the options]"
)
@JSON
@click.pass_context
def render(
    context: click.Context,
    planned: Path | None,
    source: Path | None,
    quality: str,
    device: str,
    outputs: str | None,
    workers: int | None,
    farm_name: str,
    address: str | None,
    shard: str | None,
    shards: str | None,
    exposed_negatives: bool,
    out: Path | None,
    as_json: bool,
    **content: Any,
) -> None:
    """Render a world and write a benchmark for each holdout.

    Renders the scenes of PLANNED, a folder made by `gen plan`. Without PLANNED, first plans a world from the options.
    If the command is stopped, run it again to continue.
    """
    from generator.base.store import settle, shown
    from generator.dataset.outputs import parse_outputs
    from generator.plan.job import plan_world
    from generator.plan.store import StoredPlan, is_planned
    from generator.render.estimate import check_space
    from generator.render.farm.pool import Farm, default_workers
    from generator.render.run import Rendering, render_work, work_of
    from generator.render.settings import find_device
    from generator.render.shards import ShardScenes, Storage, parse_shard, parse_size

    if address and farm_name == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")
    farm = Farm(workers or default_workers(), farm_name == "ray", address)
    if source is not None:
        _render_again(context, source, out, farm, as_json)
        return
    if shard and exposed_negatives:
        raise UserError("--exposed-negatives is about texts and a shard has none; give it to `gen merge`.")
    storage = Storage(parse_shard(shard), parse_size(shards) if shards else None)
    device = find_device(device)
    rendering = Rendering(quality, parse_outputs(outputs), storage, device).request
    part = "-shard-{}-of-{}".format(*storage.shard) if storage.shard else ""
    if planned is not None:
        _check_planned(context, planned)
        plan = StoredPlan(planned)
        folder = planned.resolve()
        root = out or (folder.with_name(folder.name + part) if part else planned)
    else:
        prepared, name = prepare_content(context, **content)
        root = out or Path(f"{name}{part}")
        if not is_planned(root, prepared.request):
            check_space(root, len(ShardScenes(prepared.planned, storage.shard)), {**prepared.request, **rendering})
        plan = plan_world(prepared, root)
    work = work_of(plan, rendering)
    least, most = work.request["objects"]
    each = "" if least == most == 2 else f", {least if least == most else f'{least}..{most}'} objects each"
    say(
        f"{len(work.scenes):,} images of {work.request['width']}x{work.request['height']} ({quality}{each}) into "
        f"{shown(root)}, "
        f"{_time(work.seconds(farm.workers), device, farm)}."
    )
    say_held_out(plan)
    world = render_work(work, plan.root, root, farm, Bar())
    if shard:
        say(f"Next, when all {shard.partition('/')[2]} shards are there: gen merge SHARD... --out DIR")
        name = settle(root)
        result({"dataset": name, "shard": shard}, as_json, name)
    else:
        finish(root, world, exposed_negatives, as_json)


def _check_planned(context: click.Context, planned: Path) -> None:
    """Raise UserError for options that the plan has settled."""
    for name, option in given(context).items():
        if name in CONTENT:
            raise UserError(f"{planned} is planned already, so {option} has no effect; leave it out.")


def finish(root: Path, world: "World", exposed_negatives: bool, as_json: bool) -> None:
    """Write the first benchmarks of a world that has been rendered or merged, and print what they hold."""
    from generator.base.store import settle, shown
    from generator.describe.benchmark import write_benchmarks

    done = write_benchmarks(root, world, exposed_negatives, Bar())
    for name, described in done.items():
        counts = ", ".join(f"{split} {n:,}" for split, n in described.scenes.items())
        say(f"{name}: {counts}." if len(done) > 1 else f"Scenes: {counts}.")
        if empty := [split for split, n in described.scenes.items() if not n]:
            say(f"With this holdout no scene belongs to {', '.join(empty)} (docs/splits.md).")
    say(f"Next: gen verify {shown(root)}")
    made = {name: described.scenes for name, described in done.items()}
    first = next(iter(made))
    dataset = settle(root)
    result({"dataset": dataset, "benchmark": first, "scenes": made[first], "benchmarks": made}, as_json, dataset)


def _render_again(context: click.Context, source: Path, out: Path | None, farm: "Farm", as_json: bool) -> None:
    """`gen render --from`: what is not given stays as it was."""
    from generator.base.store import settle, shown
    from generator.dataset.outputs import parse_outputs
    from generator.dataset.reader import Dataset
    from generator.plan.job import parse_resolution
    from generator.render.rerender import Changes, default_folder, prepare_rerender, rerender
    from generator.render.settings import find_device
    from generator.render.shards import parse_size

    options = given(context)
    for name, option in options.items():
        if name not in _WITH_FROM:
            raise UserError(f"--from {source} renders the recorded scenes, so {option} has no effect; leave it out.")
    asked = {name: context.params[name] for name in options}
    opened = Dataset.open(source)
    changes = Changes(
        find_device(context.params["device"]),
        parse_resolution(asked["resolution"]) if "resolution" in asked else None,
        asked.get("quality"),
        parse_outputs(asked["outputs"]) if "outputs" in asked else None,
        parse_size(asked["shards"]) if "shards" in asked else None,
    )
    root = out or default_folder(opened, changes)
    work = prepare_rerender(opened, changes)
    say(
        f"{len(work.scenes):,} images of {work.request['width']}x{work.request['height']} "
        f"({work.request['quality']['name']}) into "
        f"{shown(root)}, scenes and benchmarks of {shown(source)}, "
        f"{_time(work.seconds(farm.workers), changes.device, farm)}."
    )
    rerender(opened, work, root, farm, Bar())
    names = Dataset.open(root).benchmark_names()
    say(f"Benchmarks: {', '.join(names) or 'none'}. Next: gen verify {shown(root)}")
    dataset = settle(root)
    result({"dataset": dataset, "benchmarks": names}, as_json, dataset)


def _time(seconds: float, device: str, farm: "Farm") -> str:
    from generator.render.estimate import duration

    workers = f"with {farm.workers} worker{'s' * (farm.workers > 1)}"
    if device == "cpu":
        return f"about {duration(seconds)} {workers}"
    return f"on {device}, which has not been timed, {workers}"
