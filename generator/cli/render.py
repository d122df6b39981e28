"""`gen render` and `gen merge`: worlds and the benchmarks that are made with them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from generator.cli.options import BLOCK_SEED, DESIGN, EXPOSED, HOLDOUT, JSON, OPPOSITES, SEED
from generator.dataset.commands import DatasetFolder, OutFolder, result, say
from generator.dataset.errors import UserError

if TYPE_CHECKING:
    from generator.dataset.reader import World
    from generator.render.device import Backend
    from generator.render.farm.choice import Farm
    from generator.render.prepare import Prepared


@click.command()
@click.option("--preset", help="A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare.")
@DESIGN
@HOLDOUT
@click.option("--family", default="clevr", help="World family: a name, or the path of a TOML file of your own.")
@click.option(
    "--assets",
    help="Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: what the family says, else builtin]",
)
@click.option("--objects", default="2", help="Objects in a scene: a number, or a range such as 3..10.")
@click.option(
    "--scenes",
    help="Number of scenes, or train=2000,seen=300,..., or grid: every arrangement of two objects once.  "
    "[default: train=2000, val=100, seen, partial, unseen=300]",
)
@click.option(
    "--from",
    "source",
    type=DatasetFolder(),
    help="Render the scenes of this dataset again, with another --resolution, --quality or --with; its benchmarks come along.",
)
@click.option("--resolution", default="320x240", help="Width x height in pixels.")
@click.option(
    "--quality",
    default="standard",
    help="draft: edges slightly blurred, for images up to 128 pixels (40.6 dB at worst, a hundred times as fast as CLEVR's "
    "own settings); standard: for most benchmarks (42.5 dB); reference: CLEVR's own 512 samples (47.4 dB); docs/engines.md.",
)
@click.option("--engine", default="cycles", help="cycles traces light; eevee draws with OpenGL (docs/engines.md).")
@click.option(
    "--device",
    default="auto",
    help="What cycles renders on: auto (a GPU where there is one), cpu, optix, cuda, hip, metal, oneapi.",
)
@click.option(
    "--with",
    "outputs",
    help="What to write beside the images: masks, depth, normals, boxes, several with commas (docs/dataset.md).",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Render scenes of val, seen, partial and unseen twice, with one binding or relation exchanged; --scenes does not count the second.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Render processes.  [default: one a core]")
@click.option(
    "--farm",
    "farm_name",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Where workers run: here, or on a Ray cluster.",
)
@click.option("--address", help="Ray cluster to use, such as 10.0.0.1:6379 or auto.  [default: one started here]")
@click.option("--shard", help="Render only the i-th of n parts, as i/n; `gen merge` puts the parts together.")
@click.option("--shards", help="Put the files of scenes into tars of at most this size, such as 256MB (WebDataset).")
@click.option("--seed", type=SEED, default=0, help="Seed of the scenes.")
@BLOCK_SEED
@OPPOSITES
@EXPOSED
@click.option("--out", type=OutFolder(), help="Folder or URL to write.  [default: a folder named after what it holds]")
@JSON
@click.pass_context
def render(
    context: click.Context, preset: str | None, design: str, holdout: tuple[str, ...], family: str, assets: str | None, objects: str,
    scenes: str | None, source: Path | None, pairs: bool, workers: int | None, farm_name: str, address: str | None, shard: str | None, shards: str | None,
    seed: int, block_seed: str, opposites: bool, exposed_negatives: bool, out: Path | None, as_json: bool, **look: Any,
) -> None:  # fmt: skip
    """Render a world and the benchmarks of what is held out over it.

    Stopped at any moment, it continues when run again with the same arguments.
    """
    from generator.dataset.outputs import parse_outputs
    from generator.dataset.store import settle, shown
    from generator.holdout.request import design_of, parse_seeds
    from generator.render.device import find_backend
    from generator.render.farm.choice import Farm
    from generator.render.farm.local import default_workers
    from generator.render.job import Job, parse_objects, parse_resolution
    from generator.render.prepare import prepare
    from generator.render.run import render_world
    from generator.render.shards import Storage, parse_shard, parse_size

    if address and farm_name == "local":
        raise UserError(f"--address {address} is that of a Ray cluster; add --farm ray.")
    farm = Farm(workers or default_workers(), farm_name == "ray", address)
    if source is not None:
        _render_again(context, source, out, farm, as_json)
        return
    if preset is not None:
        design, holdout, block_seed, family, scenes = _of_preset(preset, family, scenes)
    asked = _Look(**look)
    width, height = parse_resolution(asked.resolution)
    numbers = parse_objects(objects)
    storage = Storage(parse_shard(shard), parse_size(shards) if shards else None)
    if shard and exposed_negatives:
        raise UserError("--exposed-negatives is about texts, which a shard has not; give it to `gen merge`.")
    job = Job(
        family, holdout, scenes, width, height, asked.quality, seed, parse_seeds(block_seed), numbers,
        parse_outputs(asked.outputs), pairs, storage, find_backend(asked.engine, asked.device), design, opposites, assets,
    )  # fmt: skip
    prepared = prepare(job)
    part = f"-shard-{shard.replace('/', '-of-')}" if shard else ""
    root = out or Path(_folder_name(preset, prepared, objects, block_seed) + part)
    many = "" if numbers == (2, 2) else f", {objects} objects each"
    say(
        f"{len(prepared.scenes):,} images of {width}x{height} ({asked.quality}{many}) into {shown(root)}, "
        f"{_estimate(prepared.seconds(farm.workers), job.backend)} with {farm.workers} worker{'s' * (farm.workers > 1)}."
    )
    for each in prepared.holdouts:
        say(f"Held out: {design_of(each).summary(each)}.")
    world = render_world(prepared, root, farm)
    if shard:
        say(f"Next, when all {shard.partition('/')[2]} shards are there: gen merge SHARD... --out DIR")
        name = settle(root)
        result({"dataset": name, "shard": shard}, as_json, name)
        return
    _first_benchmarks(root, world, exposed_negatives, as_json)


def _first_benchmarks(root: Path, world: "World", exposed_negatives: bool, as_json: bool) -> None:
    """Write the benchmarks that are made with their world, and say so."""
    from generator.dataset.store import settle, shown
    from generator.describe.first_benchmarks import write_benchmarks

    done = write_benchmarks(root, world, exposed_negatives)
    for name, described in done.items():
        counts = ", ".join(f"{split} {n:,}" for split, n in described.scenes.items())
        say(f"{name}: {counts}." if len(done) > 1 else f"Scenes: {counts}.")
        if none := [split for split, n in described.scenes.items() if not n]:
            say(f"What is held out leaves no scene for {', '.join(none)} (docs/splits.md).")
    say(f"Next: gen verify {shown(root)}")
    made = {name: described.scenes for name, described in done.items()}
    first = next(iter(made))
    dataset = settle(root)
    result({"dataset": dataset, "benchmark": first, "scenes": made[first], "benchmarks": made}, as_json, dataset)


def _of_preset(preset: str, family: str, scenes: str | None) -> tuple[str, tuple[str, ...], str, str, str | None]:
    """Design, holdout, block seed, family and scenes of a preset; only family and scenes may be given beside it."""
    from generator.dataset.errors import UserError
    from generator.holdout.presets import read_preset

    context = click.get_current_context()
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    for name in ("design", "holdout", "block_seed", "objects", "opposites"):
        if name in given:
            raise UserError(
                f"--preset {preset} says what --{name.replace('_', '-')} is; leave one of them out. Its parts stand in "
                f"scenes/presets/{preset}.toml."
            )
    read = read_preset(preset)
    return (
        read.design, read.holdout, read.block_seed, family if "family" in given else read.family,
        scenes if scenes is not None else read.scenes,
    )  # fmt: skip


def _folder_name(preset: str | None, prepared: "Prepared", objects: str, block_seed: str) -> str:
    from generator.holdout.request import design_of
    from generator.vocabulary.schema import read_vocabulary

    job = prepared.job
    size = f"s{job.seed}-{job.width}x{job.height}"
    if preset is not None:
        return f"{preset}-{size}"
    many = "" if job.objects == (2, 2) else f"-n{objects.replace('..', '-')}"
    design = design_of(prepared.holdout)
    asked = job.holdout or design.default_holdout(prepared.vocabulary)
    drawn = prepared.holdout.asked if asked[0].endswith(".json") else asked
    usual = f"{read_vocabulary(job.family).tested}:{prepared.vocabulary.category}="
    held = "+".join(spec.removeprefix(usual) for spec in drawn)
    block = f"-{design.prefix}{held}".replace(":", "-").replace("=", "-").replace("..", "-")
    assets = f"-{job.assets}" if job.assets else ""
    return f"{prepared.vocabulary.name}{assets}{many}{block}-b{block_seed.replace('..', '-').replace(',', '-')}-{size}"


@click.command()
@click.argument("shards", type=DatasetFolder(), nargs=-1, required=True)
@EXPOSED
@click.option("--out", type=OutFolder(), required=True, help="Folder or URL to write.")
@JSON
def merge(shards: tuple[Path, ...], exposed_negatives: bool, out: Path, as_json: bool) -> None:
    """Put SHARDS, made by `gen render --shard i/n`, together: the same files as one `gen render` makes.

    Files of the shards are linked, not copied, where the file system allows.
    """
    from generator.render.merge import merge_worlds

    _first_benchmarks(out, merge_worlds(shards, out), exposed_negatives, as_json)


@dataclass(frozen=True)
class _Look:
    """How images shall look and what shall make them, as the options of `gen render` say it."""

    resolution: str
    quality: str
    engine: str
    device: str
    outputs: str | None


def _estimate(seconds: float, backend: "Backend") -> str:
    """How long it takes, and on what."""
    if backend.timed:
        return f"about {duration(seconds)}"
    return f"with {backend.engine} on {backend.device}, which has not been timed,"


_AGAIN = (
    "source",
    "resolution",
    "quality",
    "engine",
    "device",
    "outputs",
    "workers",
    "farm_name",
    "address",
    "shards",
    "out",
    "as_json",
)


def _render_again(context: click.Context, source: Path, out: Path | None, farm: "Farm", as_json: bool) -> None:
    """`gen render --from`: what is not given stays as it was."""
    from generator.dataset.outputs import parse_outputs
    from generator.dataset.reader import Dataset
    from generator.dataset.store import settle, shown
    from generator.render.device import find_backend
    from generator.render.job import parse_resolution
    from generator.render.rerender import Look, prepare_again, render_again
    from generator.render.shards import parse_size

    given = {
        each.name: each.opts[0] for each in context.command.params
        if each.name and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    }  # fmt: skip
    for name, option in given.items():
        if name not in _AGAIN:
            raise UserError(
                f"--from {source} renders the scenes as they were recorded, so {option} can change nothing; leave it out."
            )
    asked = {name: context.params[name] for name in given}
    opened = Dataset.open(source)
    before = opened.world.manifest["request"]
    look = Look(
        find_backend(asked.get("engine", before.get("engine", "cycles")), context.params["device"]),
        parse_resolution(asked["resolution"]) if "resolution" in asked else None, asked.get("quality"),
        parse_outputs(asked["outputs"]) if "outputs" in asked else None,
    )  # fmt: skip
    width, height = look.size or (before["width"], before["height"])
    root = out or Path(f"{source.resolve().name}-again-{width}x{height}")
    work = prepare_again(opened, look, root)
    if "shards" in asked:
        work = replace(work, request={**work.request, "tar_bytes": parse_size(asked["shards"])})
    seconds = len(work.scenes) * work.seconds_a_scene / farm.workers + 5
    say(
        f"{len(work.scenes):,} images of {width}x{height} ({work.request['quality']['name']}) into {shown(root)}, scenes and benchmarks of "
        f"{shown(source)}, {_estimate(seconds, look.backend)} with {farm.workers} worker{'s' * (farm.workers > 1)}."
    )
    render_again(opened, work, root, farm)
    names = Dataset.open(root).benchmark_names()
    say(f"Benchmarks: {', '.join(names) or 'none'}. Next: gen verify {shown(root)}")
    dataset = settle(root)
    result({"dataset": dataset, "benchmarks": names}, as_json, dataset)


def duration(seconds: float) -> str:
    """A time span as a person says it.

    >>> duration(40), duration(100), duration(4000)
    ('40 s', '2 min', '1.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
