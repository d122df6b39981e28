"""Render a world: plan, workers, journal, tables. Continues where an earlier run stopped."""

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from generator.assets.lookup import asset_request
from generator.assets.sets import check_asset
from generator.dataset.commands import progress, say
from generator.dataset.errors import UserError
from generator.dataset.outputs import bytes_a_pixel
from generator.dataset.reader import World
from generator.dataset.writer import WorldWriter
from generator.holdout.holdout import Holdout
from generator.holdout.request import HoldoutRequest, WorldPart, design_of, kind_asked
from generator.holdout.scene_counts import GRID
from generator.placement.scenes import place_scene
from generator.plan.minimal_pairs import WithTwins
from generator.plan.plan import Plan, plan_parts
from generator.plan.record import Planned
from generator.render.device import Drive
from generator.render.farm.choice import Farm
from generator.render.farm.local import Limits
from generator.render.quality import Quality, read_quality
from generator.render.shards import Storage, Turn
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, with_assets

MOST_OBJECTS = 10
_BYTES_A_PIXEL = 1.2
_SECONDS_A_SCENE, _SECONDS_AN_OBJECT = 0.05, 0.003  # whatever the size
_LANDSCAPE = 2.2  # times as long as before a bare floor
_MICROSECONDS_A_RAY = 2.0  # a pixel of masks, depth, normals and boxes together
_PATIENCE, _SLACK = 300.0, 20  # seconds, and times the estimate, that a scene may take before its worker counts as hung
_TRIAL = 8  # scenes of the most objects that are placed before anything is rendered


@dataclass(frozen=True)
class Job:
    """What `gen render` was asked for.

    `scenes` are numbers by split, what `--scenes` takes, or None for the design's own; `objects` are the fewest and the
    most of a scene, `outputs` what is written beside images, `pairs` whether scenes of the evaluation splits have twins,
    which `scenes` does not count, `drive` what renders, `assets` the asset set where it is not the family's own.
    """

    family: str
    holdout: str | Sequence[str]
    scenes: Mapping[str, int] | str | None
    width: int
    height: int
    quality: str
    seed: int = 0
    block_seed: int | Sequence[int] = 0
    objects: tuple[int, int] = (2, 2)
    outputs: tuple[str, ...] = ()
    pairs: bool = False
    storage: Storage = field(default_factory=Storage)
    drive: Drive = field(default_factory=Drive)
    design: str = "bindsplit"
    opposites: bool = True
    assets: str | None = None


@dataclass(frozen=True)
class Prepared:
    """A job that has been checked and planned; nothing is written yet."""

    job: Job
    text: str
    vocabulary: Vocabulary
    quality: Quality
    holdouts: list[Holdout]
    parts: list[WorldPart]
    plan: Plan
    planned: Sequence[Planned]
    assets: Mapping[str, Any] | None

    @property
    def holdout(self) -> Holdout:
        """The only holdout, or the first of several."""
        return self.holdouts[0]

    def seconds(self, workers: int) -> float:
        """About how long rendering takes on as many cores."""
        objects = sum(len(planned.objects) for planned in self.turn)
        return (len(self.turn) * self.seconds_a_scene + objects * _SECONDS_AN_OBJECT) / workers + 5

    @property
    def turn(self) -> Turn:
        """The scenes that this job renders: all, or those of its shard."""
        return Turn(self.planned, self.job.storage)

    @property
    def seconds_a_scene(self) -> float:
        """About how long a scene takes on one core, but for its objects."""
        return seconds_a_scene(self.job.width, self.job.height, self.quality, self.job.outputs, self.vocabulary)


def seconds_a_scene(width: int, height: int, quality: Quality, outputs: Sequence[str], vocabulary: Vocabulary) -> float:
    """About how long a scene takes on one core, but for its objects."""
    places = vocabulary.environments.values()
    harder = sum(1 if place.ground is None else _LANDSCAPE for place in places) / len(places)
    rays = _MICROSECONDS_A_RAY if outputs else 0
    return width * height * (quality.microseconds * harder + rays) / 1e6 + _SECONDS_A_SCENE


def prepare(job: Job) -> Prepared:
    """Check everything about a job and plan its scenes. Raises UserError for whatever is impossible."""
    text = vocabulary_text(job.family)
    if job.assets is not None:
        text = with_assets(text, job.assets)
    vocabulary = parse_vocabulary(text, job.family)
    if vocabulary.paints:
        vocabulary = vocabulary.painted_with(kind_asked(_several(job.holdout), vocabulary))
        text = vocabulary.toml()
    quality = read_quality(job.quality)
    _check_number(job, vocabulary)
    _check_assets(job, vocabulary)
    asked = HoldoutRequest(job.design, _several(job.holdout), _several(job.block_seed), job.opposites, job.scenes)
    holdouts = asked.holdouts(vocabulary)
    parts = asked.parts(holdouts, vocabulary)
    plan = plan_parts(vocabulary, parts, job.seed, job.objects)
    planned = _twinned(plan, holdouts, vocabulary, job) if job.pairs else plan
    _check_room(planned, vocabulary, job)
    assets = asset_request(vocabulary.asset_meshes, vocabulary.assets)
    return Prepared(job, text, vocabulary, quality, holdouts, parts, plan, planned, assets)


def _twinned(plan: Plan, holdouts: Sequence[Holdout], vocabulary: Vocabulary, job: Job) -> WithTwins:
    design = design_of(holdouts[0])
    if len(holdouts) > 1 or not design.pairs:
        raise UserError(
            f"--pairs makes twins for the splits of one holdout, and {len(holdouts)} are asked for; take one --block-seed and a design "
            f"with one holdout."
        )
    return WithTwins(plan, design.rule(vocabulary, holdouts[0]), job.seed)


def _several(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def parse_resolution(spec: str) -> tuple[int, int]:
    """Width and height in pixels from `320x240`. Raises UserError when malformed or beyond 16..4096."""
    width, _, height = spec.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise UserError(f"Expected --resolution to be width x height such as 320x240, got '{spec}'.")
    if not all(16 <= int(side) <= 4096 for side in (width, height)):
        raise UserError(f"--resolution {spec}: expected sides of 16 to 4096 pixels.")
    return int(width), int(height)


def parse_objects(spec: str) -> tuple[int, int]:
    """The fewest and the most objects of a scene from `2` or `3..10`. Raises UserError when malformed or beyond 1..10."""
    least, dots, most = spec.partition("..")
    numbers = (least, most if dots else least)
    if not all(number.isascii() and number.isdigit() and 1 <= int(number) <= MOST_OBJECTS for number in numbers):
        raise UserError(
            f"Expected --objects to be a number from 1 to {MOST_OBJECTS} or a range such as 3..{MOST_OBJECTS}, got '{spec}'."
        )
    if int(numbers[0]) > int(numbers[1]):
        raise UserError(f"--objects {spec} runs backwards; write {numbers[1]}..{numbers[0]}.")
    return int(numbers[0]), int(numbers[1])


def _check_number(job: Job, vocabulary: Vocabulary) -> None:
    most = vocabulary.placement.most
    if most is not None and job.objects[1] > most:
        raise UserError(
            f"--objects {job.objects[1]}: the family '{vocabulary.name}' has room for {most} objects in a scene; take fewer, or "
            f"the family clevr-many for up to {MOST_OBJECTS}."
        )


def _check_assets(job: Job, vocabulary: Vocabulary) -> None:
    if job.assets is not None and all("/" in name for name in vocabulary.asset_meshes):
        raise UserError(
            f"--assets {job.assets}: all meshes of the family '{vocabulary.name}' are shapes, or of a set that they name, so it "
            f"can change nothing; leave it out."
        )
    for name in vocabulary.asset_meshes:
        check_asset(vocabulary.assets, name)


def _check_room(planned: Sequence[Planned], vocabulary: Vocabulary, job: Job) -> None:
    """Raise UserError when two of the fullest scenes find no room: too many would fail one by one later."""
    fullest = sorted(planned, key=lambda each: -len(each.objects))[:_TRIAL]
    refused = False
    for each in fullest:
        try:
            place_scene(each, vocabulary, job.seed, 0, job.width, job.height)
        except UserError:
            if refused:
                raise
            refused = True


@dataclass(frozen=True)
class Work:
    """Scenes to be rendered into a world: its request and vocabulary, what workers are told, seconds for one scene."""

    request: Mapping[str, Any]
    vocabulary: str
    scenes: Collection[Planned]
    setup: Mapping[str, Any]
    seconds_a_scene: float


def render_world(prepared: Prepared, root: Path, farm: Farm) -> World:
    """Render what is not yet rendered, and finish the world in `root`. Raises UserError as the farm does."""
    setup = worker_setup(prepared, root / "world")
    work = Work(request_of(prepared), prepared.text, prepared.turn, setup, prepared.seconds_a_scene)
    return carry_out(work, root, farm)


def carry_out(work: Work, root: Path, farm: Farm, failed: Iterable[Mapping[str, Any]] = ()) -> World:
    """Render what is not yet rendered, and finish the world in `root`; `failed` are the answers for scenes that are not
    to be rendered. Raises UserError as the farm does."""
    _check_space(root, work)
    with WorldWriter(root, work.request) as writer:
        if not writer.finished:
            _render_rest(work, writer, farm)
            for answer in failed:
                writer.add(answer)
            writer.finish(work.vocabulary)
    return World(root / "world")


def request_of(prepared: Prepared) -> dict[str, Any]:
    """Everything that decides the files of a world, as its manifest has it."""
    job = asdict(prepared.job)
    drive = job.pop("drive")
    storage = {name: value for name, value in job.pop("storage").items() if value is not None}
    job["holdout"], job["block_seed"] = (_several(job[name]) for name in ("holdout", "block_seed"))
    job["scenes_asked"] = job["scenes"]
    del job["assets"]
    job["scenes"] = GRID if prepared.parts[0].counts is None else [dict(part.counts or {}) for part in prepared.parts]
    return {
        **job,
        **drive,
        **storage,
        "quality": quality_request(prepared.job.quality),
        "family": prepared.vocabulary.name,
        "blender": blender_version(),
        "vocabulary": prepared.text,
        **({"assets": prepared.assets} if prepared.assets else {}),
    }


def quality_request(name: str) -> dict[str, Any]:
    """What a request says of a quality: all that decides the images."""
    return {"name": name, **read_quality(name).model_dump(exclude={"microseconds"})}


def blender_version() -> str:
    """The version of bpy. Raises UserError where it is not installed."""
    try:
        return version("bpy")
    except PackageNotFoundError:
        raise UserError(
            "Rendering needs Blender's module bpy, which exists for Python 3.11: pip install 'bpy==4.5.*'."
        ) from None


def _check_space(root: Path, work: Work) -> None:
    done = sum(1 for _ in root.glob("world/images/[!.]*"))
    pixels = max(0, len(work.scenes) - done) * work.request["width"] * work.request["height"]
    needed = pixels * (_BYTES_A_PIXEL + bytes_a_pixel(work.request["outputs"]))
    place = next(folder for folder in (root.absolute(), *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise UserError(
            f"{root} has {free / 1e6:,.0f} MB free and the files need about {needed / 1e6:,.0f} MB: free some space, choose "
            f"another --out, or render fewer or smaller scenes."
        )


def worker_setup(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """What a worker process is told first: what to render, and the folder of the world."""
    return {
        "vocabulary": prepared.text, "quality": prepared.quality.model_dump(), "width": prepared.job.width,
        "height": prepared.job.height, "seed": prepared.job.seed, "folder": str(folder.resolve()), "outputs": prepared.job.outputs,
        "assets": prepared.assets, **asdict(prepared.job.drive),
    }  # fmt: skip


def _render_rest(work: Work, writer: WorldWriter, farm: Farm) -> None:
    scenes = work.scenes
    rest = (planned for planned in scenes if planned.scene_id not in writer.done)
    left = len(scenes) - writer.n_done
    if writer.n_done:
        say(f"{writer.n_done:,} images are already rendered.")
    setup, failed = dict(work.setup), 0
    limits = Limits(timeout=_PATIENCE + _SLACK * work.seconds_a_scene)
    with progress() as bar:
        task = bar.add_task("rendering", total=len(scenes), completed=writer.n_done, note="")
        for answer in farm.render(rest, left, setup, limits):
            writer.add(answer.get("scene", answer))
            failed += "failed" in answer
            bar.update(task, advance=1, note=f"{failed} failed" if failed else "")
    if failed:
        say(f"{failed} scenes failed; scenes.parquet gives each one's reason, and they are in no split.")
