"""The command `gen render`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.cli.options import BLOCK_SEED, DESIGN, EXPOSED, HOLDOUT, JSON, OPPOSITES, SEED, given
from generator.dataset.commands import Bar, DatasetFolder, OutFolder, result, say
from generator.dataset.errors import UserError

if TYPE_CHECKING:
    from generator.dataset.reader import World
    from generator.render.device import Backend
    from generator.render.farm.choice import Farm

_WITH_FROM = {"source", "resolution", "quality", "engine", "device", "outputs", "workers", "farm_name", "address", "shards",
              "out", "as_json"}  # fmt: skip
_OF_PRESET = ("design", "holdout", "block_seed", "objects", "opposites")


@click.command()
@click.option("--preset", help="A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare.")
@DESIGN
@HOLDOUT
@click.option("--family", default="clevr", help="World family: a name, or the path of your own TOML file.")
@click.option(
    "--assets",
    help="Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: the family's own, else builtin]",
)
@click.option("--objects", default="2", help="Objects per scene: a number, or a range such as 3..10.")
@click.option(
    "--scenes",
    help="Number of scenes: in all, by split as train=2000,seen=300,..., or grid for every arrangement of two objects once.  "
    "[default: train=2000, val=100, seen, partial, unseen=300]",
)
@click.option(
    "--from",
    "source",
    type=DatasetFolder(),
    help="Render the scenes of this dataset again, with another --resolution, --quality or --with, and copy its benchmarks.",
)
@click.option("--resolution", default="320x240", help="Width x height in pixels.")
@click.option(
    "--quality",
    default="standard",
    help="draft: slightly blurred edges, for images up to 128 pixels (40.6 dB at worst, a hundred times as fast as CLEVR's "
    "own settings); standard: for most benchmarks (42.5 dB); reference: CLEVR's own 512 samples (47.4 dB); docs/engines.md.",
)
@click.option("--engine", default="cycles", help="cycles (ray tracing) or eevee (OpenGL); docs/engines.md.")
@click.option(
    "--device",
    default="auto",
    help="What cycles renders on: auto (a GPU if there is one), cpu, optix, cuda, hip, metal or oneapi.",
)
@click.option(
    "--with",
    "outputs",
    help="Write these beside the images: masks, depth, normals, boxes, separated by commas (docs/dataset.md).",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Render each scene of val, seen, partial and unseen with a twin in which one binding or relation is exchanged. "
    "--scenes does not count twins.",
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
@click.option("--seed", type=SEED, default=0, help="Seed of the scenes.")
@BLOCK_SEED
@OPPOSITES
@EXPOSED
@click.option("--out", type=OutFolder(), help="Folder or URL to write.  [default: a folder named after the options]")
@JSON
@click.pass_context
def render(
    context: click.Context, preset: str | None, design: str, holdout: tuple[str, ...], family: str, assets: str | None, objects: str,
    scenes: str | None, source: Path | None, pairs: bool, workers: int | None, farm_name: str, address: str | None, shard: str | None, shards: str | None,
    seed: int, block_seed: str, opposites: bool, exposed_negatives: bool, out: Path | None, as_json: bool, **images: Any,
) -> None:  # fmt: skip
    """Render a world and write the benchmarks for what it holds out.

    If it is stopped, run the same command again to continue.
    """
    from generator.dataset.outputs import parse_outputs
    from generator.dataset.store import settle, shown
    from generator.holdout.presets import read_preset
    from generator.holdout.request import design_of, parse_seeds
    from generator.render.device import find_backend
    from generator.render.farm.choice import Farm
    from generator.render.farm.local import default_workers
    from generator.render.job import Job, parse_objects, parse_resolution
    from generator.render.prepare import folder_name, prepare
    from generator.render.run import render_world
    from generator.render.shards import Storage, parse_shard, parse_size

    if address and farm_name == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")
    farm = Farm(workers or default_workers(), farm_name == "ray", address)
    if source is not None:
        _render_again(context, source, out, farm, as_json)
        return
    if preset is not None:
        stated = read_preset(preset)
        _check_preset(context, preset)
        design, holdout, block_seed = stated.design, stated.holdout, stated.block_seed
        family = family if "family" in given(context) else stated.family
        scenes = scenes or stated.scenes
    asked = _ImageOptions(**images)
    width, height = parse_resolution(asked.resolution)
    numbers = parse_objects(objects)
    storage = Storage(parse_shard(shard), parse_size(shards) if shards else None)
    if shard and exposed_negatives:
        raise UserError("--exposed-negatives is about texts and a shard has none; give it to `gen merge`.")
    job = Job(
        family, holdout, scenes, width, height, asked.quality, seed, parse_seeds(block_seed), numbers,
        parse_outputs(asked.outputs), pairs, storage, find_backend(asked.engine, asked.device), design, opposites, assets,
    )  # fmt: skip
    prepared = prepare(job)
    root = out or Path(folder_name(prepared, preset))
    each = "" if numbers == (2, 2) else f", {objects} objects each"
    say(
        f"{len(prepared.scenes):,} images of {width}x{height} ({asked.quality}{each}) into {shown(root)}, "
        f"{_time(prepared.seconds(farm.workers), job.backend, farm)}."
    )
    for held_out in prepared.holdouts:
        say(f"Held out: {design_of(held_out).summary(held_out)}.")
    world = render_world(prepared, root, farm, Bar())
    if shard:
        say(f"Next, when all {shard.partition('/')[2]} shards are there: gen merge SHARD... --out DIR")
        name = settle(root)
        result({"dataset": name, "shard": shard}, as_json, name)
    else:
        finish(root, world, exposed_negatives, as_json)


@dataclass(frozen=True)
class _ImageOptions:
    """The options of `gen render` about images."""

    resolution: str
    quality: str
    engine: str
    device: str
    outputs: str | None


def finish(root: Path, world: "World", exposed_negatives: bool, as_json: bool) -> None:
    """Write the first benchmarks of a world that has been rendered or merged, and print what they hold."""
    from generator.dataset.store import settle, shown
    from generator.describe.first_benchmarks import write_benchmarks

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


def _check_preset(context: click.Context, preset: str) -> None:
    options = given(context)
    for name in _OF_PRESET:
        if name in options:
            raise UserError(
                f"--preset {preset} sets {options[name]} itself (scenes/presets/{preset}.toml); leave one of the two out."
            )


def _render_again(context: click.Context, source: Path, out: Path | None, farm: "Farm", as_json: bool) -> None:
    """`gen render --from`: what is not given stays as it was."""
    from generator.dataset.outputs import parse_outputs
    from generator.dataset.reader import Dataset
    from generator.dataset.store import settle, shown
    from generator.render.device import find_backend
    from generator.render.estimate import render_seconds
    from generator.render.job import parse_resolution
    from generator.render.rerender import Changes, default_folder, prepare_rerender, rerender
    from generator.render.shards import parse_size

    options = given(context)
    for name, option in options.items():
        if name not in _WITH_FROM:
            raise UserError(f"--from {source} renders the recorded scenes, so {option} has no effect; leave it out.")
    asked = {name: context.params[name] for name in options}
    opened = Dataset.open(source)
    engine = asked.get("engine", opened.world.manifest["request"].get("engine", "cycles"))
    changes = Changes(
        find_backend(engine, context.params["device"]),
        parse_resolution(asked["resolution"]) if "resolution" in asked else None,
        asked.get("quality"),
        parse_outputs(asked["outputs"]) if "outputs" in asked else None,
        parse_size(asked["shards"]) if "shards" in asked else None,
    )
    root = out or default_folder(opened, changes)
    work = prepare_rerender(opened, changes, root)
    seconds = render_seconds(len(work.scenes), work.seconds_a_scene, farm.workers)
    say(
        f"{len(work.scenes):,} images of {work.request['width']}x{work.request['height']} ({work.request['quality']['name']}) into "
        f"{shown(root)}, scenes and benchmarks of {shown(source)}, {_time(seconds, changes.backend, farm)}."
    )
    rerender(opened, work, root, farm, Bar())
    names = Dataset.open(root).benchmark_names()
    say(f"Benchmarks: {', '.join(names) or 'none'}. Next: gen verify {shown(root)}")
    dataset = settle(root)
    result({"dataset": dataset, "benchmarks": names}, as_json, dataset)


def _time(seconds: float, backend: "Backend", farm: "Farm") -> str:
    from generator.render.estimate import duration

    workers = f"with {farm.workers} worker{'s' * (farm.workers > 1)}"
    if backend.timed:
        return f"about {duration(seconds)} {workers}"
    return f"with {backend.engine} on {backend.device}, which has not been timed, {workers}"
