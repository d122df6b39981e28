"""Check a job and plan its scenes, before anything is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generator.assets.lookup import asset_request
from generator.assets.sets import check_asset
from generator.dataset.errors import UserError
from generator.holdout.holdout import Holdout
from generator.holdout.request import HoldoutRequest, WorldPart, design_of, kind_asked
from generator.placement.scenes import place_scene
from generator.plan.minimal_pairs import WithTwins
from generator.plan.plan import Plan, plan_parts
from generator.plan.record import Planned
from generator.render.estimate import render_seconds, seconds_a_scene
from generator.render.job import MOST_OBJECTS, Job, as_tuple
from generator.render.quality import Quality, read_quality
from generator.render.shards import ShardScenes
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary, with_assets

_TRIAL = 8  # scenes of the most objects that are placed before anything is rendered


@dataclass(frozen=True)
class Prepared:
    """A job that has been checked and planned. Nothing is written yet.

    `text`: the vocabulary as TOML. `planned`: all scenes, with twins; `scenes` are those of this shard.
    """

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
        """The first holdout, mostly the only one."""
        return self.holdouts[0]

    def seconds(self, workers: int) -> float:
        """About how many seconds rendering takes on as many cores."""
        objects = sum(len(planned.objects) for planned in self.scenes)
        return render_seconds(len(self.scenes), self.seconds_a_scene, workers, objects)

    @property
    def scenes(self) -> ShardScenes:
        """The scenes that this job renders: all scenes, or those of its shard."""
        return ShardScenes(self.planned, self.job.storage)

    @property
    def seconds_a_scene(self) -> float:
        """About how many seconds a scene takes on one core, its objects not counted."""
        return seconds_a_scene(self.job.width, self.job.height, self.quality, self.job.outputs, self.vocabulary)


def prepare(job: Job) -> Prepared:
    """Check a job and plan its scenes. Raises UserError if the job is impossible."""
    text = vocabulary_text(job.family)
    if job.assets is not None:
        text = with_assets(text, job.assets)
    vocabulary = parse_vocabulary(text, job.family)
    if vocabulary.paints:
        vocabulary = vocabulary.painted_with(kind_asked(as_tuple(job.holdout), vocabulary))
        text = vocabulary.toml()
    quality = read_quality(job.quality)
    _check_number(job, vocabulary)
    _check_assets(job, vocabulary)
    asked = HoldoutRequest(job.design, as_tuple(job.holdout), as_tuple(job.block_seed), job.opposites, job.scenes)
    holdouts = asked.holdouts(vocabulary)
    parts = asked.parts(holdouts, vocabulary)
    plan = plan_parts(vocabulary, parts, job.seed, job.objects)
    planned = _twinned(plan, holdouts, vocabulary, job) if job.pairs else plan
    _check_room(planned, vocabulary, job)
    assets = asset_request(vocabulary.asset_meshes, vocabulary.assets)
    return Prepared(job, text, vocabulary, quality, holdouts, parts, plan, planned, assets)


def folder_name(prepared: Prepared, preset: str | None) -> str:
    """The name of the folder to write if the user gives none: what is held out, block seeds, seed, size, shard."""
    job = prepared.job
    stem = preset or _world_name(prepared)
    shard = "-shard-{}-of-{}".format(*job.storage.shard) if job.storage.shard else ""
    return f"{stem}-s{job.seed}-{job.width}x{job.height}{shard}"


def _world_name(prepared: Prepared) -> str:
    job, vocabulary, design = prepared.job, prepared.vocabulary, design_of(prepared.holdout)
    asked = as_tuple(job.holdout) or design.default_holdout(vocabulary)
    if asked[0].endswith(".json"):
        asked = prepared.holdout.asked
    usual = f"{read_vocabulary(job.family).tested}:{vocabulary.category}="
    held_out = "+".join(spec.removeprefix(usual) for spec in asked)
    parts = [
        vocabulary.name,
        job.assets,
        None if job.objects == (2, 2) else f"n{_span(range(job.objects[0], job.objects[1] + 1))}",
        design.prefix + held_out.replace(":", "-").replace("=", "-").replace("..", "-"),
        f"b{_span(as_tuple(job.block_seed))}",
    ]
    return "-".join(part for part in parts if part)


def _span(numbers: Sequence[int]) -> str:
    """Numbers in a folder's name: 0-2 for 0, 1, 2 and 1_5 for 1, 5."""
    first, last = numbers[0], numbers[-1]
    if list(numbers) != list(range(first, last + 1)):
        return "_".join(map(str, numbers))
    return str(first) if first == last else f"{first}-{last}"


def _twinned(plan: Plan, holdouts: Sequence[Holdout], vocabulary: Vocabulary, job: Job) -> WithTwins:
    design = design_of(holdouts[0])
    if len(holdouts) > 1 or not design.pairs:
        raise UserError(
            f"--pairs makes twins for the splits of one holdout, and {len(holdouts)} are asked for; take one --block-seed and a design "
            f"with one holdout."
        )
    return WithTwins(plan, design.rule(vocabulary, holdouts[0]), job.seed)


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
    """Raise UserError if two of the fullest scenes cannot be placed: many would then fail during rendering."""
    fullest = sorted(planned, key=lambda each: -len(each.objects))[:_TRIAL]
    refused = False
    for each in fullest:
        try:
            place_scene(each, vocabulary, job.seed, 0, job.width, job.height)
        except UserError:
            if refused:
                raise
            refused = True
