"""Checks and plans a job: the request for a world, as given to `gen plan` or `gen render`."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.assets.sets import asset_request, check_asset
from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.holdout.designs.base import GRID
from generator.holdout.holdout import Holdout
from generator.holdout.presets import read_preset
from generator.holdout.request import HoldoutRequest, WorldPart, design_of, kind_asked, parse_seeds
from generator.holdout.syntax import short_name
from generator.scene.exchange import BOTH, EXCHANGES, VALUES
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary, with_assets

if TYPE_CHECKING:
    from generator.plan.store import StoredPlan
    from generator.scene.planned import Planned

logger = logging.getLogger(__name__)
MOST_OBJECTS = 10
_TRIAL = 8  # scenes with the most objects, placed as a test before a plan is written


@dataclass(frozen=True)
class Job:
    """The options that decide the contents of a world.

    `family`: a name or the path of a TOML file. `holdout`, `scenes`: as `--holdout` and `--scenes`
    take them; `scenes`
    may also be numbers by split, or None for the design's default. `width`, `height`: the image
    size in pixels that
    scenes are placed for. `objects`: the fewest and the most per scene. `assets`: the asset set,
    None for the family's.
    `environments`: the environments to use, empty for all of the family.
    """

    family: str
    holdout: str | Sequence[str]
    scenes: Mapping[str, int] | str | None
    width: int
    height: int
    seed: int = 0
    block_seed: int | Sequence[int] = 0
    objects: tuple[int, int] = (2, 2)
    pairs: bool | None = None
    """Whether scenes of evaluation splits get twins, which `scenes` counts; None: wherever there
    can be twins."""
    exchange: str | None = None
    """What twins exchange, one of `EXCHANGES` (scene/exchange.py); None: values, and places too if
    relations are held out."""
    design: str = "bindsplit"
    opposites: bool = True
    assets: str | None = None
    environments: tuple[str, ...] = ()


def as_tuple(given: Any) -> tuple[Any, ...]:
    """A list as a tuple; any other value as a tuple of one."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)


@dataclass(frozen=True)
class Prepared:
    """A job that has been checked. Nothing is planned or written yet.

    `text`: the vocabulary as TOML. `parts`: how many scenes of each split each holdout gets.
    """

    job: Job
    text: str
    vocabulary: Vocabulary
    holdouts: list[Holdout]
    parts: list[WorldPart]
    assets: Mapping[str, Any] | None

    @property
    def holdout(self) -> Holdout:
        """The first holdout; usually the only one."""
        return self.holdouts[0]

    @property
    def block_seeds(self) -> list[int]:
        """The distinct block seeds of the holdouts; a holdout.json has its own."""
        return list(dict.fromkeys(holdout.block_seed for holdout in self.holdouts))

    @cached_property
    def planned(self) -> "list[Planned]":
        """The plan, in memory. Raises UserError if a split has no scene, or if the fullest scenes
        cannot be placed."""
        # Here, so that wrong options are refused before SciPy is loaded.
        from generator.plan.minimal_pairs import plan_with_twins
        from generator.plan.plan import plan_parts

        job = self.job
        if job.exchange is None:
            plan = plan_parts(self.vocabulary, self.parts, job.seed, job.objects)
        else:
            plan = plan_with_twins(self.vocabulary, self.parts, job.seed, job.objects, job.exchange)
        if design_of(self.holdout).shares_scenes:
            # From here on no scene is of one holdout: each benchmark asks its own rule for the
            # split.
            plan = [scene._replace(part=0, split=None) for scene in plan]
        _check_room(plan, self.vocabulary, self.job)
        return plan

    @property
    def request(self) -> dict[str, Any]:
        """All that decides the plan, but no paths: the request in world/plan.parquet and in the
        world's manifest."""
        job = asdict(self.job)
        del job["assets"], job["environments"]  # the vocabulary contains both
        return {
            **job,
            "family": self.vocabulary.name,
            "holdout": [
                "holdout.json" if spec.endswith(".json") else spec
                for spec in as_tuple(self.job.holdout)
            ],
            "design": self.holdout.design,
            "block_seed": self.block_seeds,
            "scenes_asked": self.job.scenes,
            "scenes": GRID
            if self.parts[0].counts is None
            else [dict(part.counts or {}) for part in self.parts],
            "holdouts": [holdout.to_dict() for holdout in self.holdouts],
            "vocabulary": self.text,
            **({"assets": self.assets} if self.assets else {}),
        }


def prepare(job: Job) -> Prepared:
    """Check a job. Raises UserError if it is impossible; `Prepared.planned` raises errors that only
    planning finds."""
    text = vocabulary_text(job.family)
    if job.assets is not None:
        text = with_assets(text, job.assets)
    vocabulary = parse_vocabulary(text, job.family)
    if vocabulary.paints:
        vocabulary = vocabulary.painted_with(kind_asked(as_tuple(job.holdout), vocabulary))
        text = vocabulary.toml()
    if job.environments:
        vocabulary = vocabulary.placed_in(job.environments)
        text = vocabulary.toml()
    _check_number(job, vocabulary)
    _check_assets(job, vocabulary)
    asked = HoldoutRequest(
        job.design, as_tuple(job.holdout), as_tuple(job.block_seed), job.opposites, job.scenes
    )
    holdouts = asked.holdouts(vocabulary)
    parts = asked.parts(holdouts, vocabulary)
    if parts[0].counts is None and job.objects != (2, 2):
        raise UserError(
            "--scenes grid has two objects in each scene, so --objects has no effect; leave it out."
        )
    job = _with_pairs(job, holdouts[0], is_grid=parts[0].counts is None)
    used = [*vocabulary.asset_meshes, *vocabulary.panoramas]
    return Prepared(job, text, vocabulary, holdouts, parts, asset_request(used, vocabulary.assets))


def prepare_world(
    *,
    preset: str | None = None,
    design: str | None = None,
    holdout: str | Sequence[str] | None = None,
    family: str | None = None,
    assets: str | None = None,
    environments: Sequence[str] = (),
    objects: str | int | None = None,
    scenes: str | int | None = None,
    resolution: str = "320x240",
    pairs: bool | None = None,
    exchange: str | None = None,
    seed: int = 0,
    block_seed: str | int | None = None,
    opposites: bool | None = None,
) -> tuple[Prepared, str]:
    """Check the options of a world to plan; write nothing. Returns the checked job and a name for
    its folder.

    The arguments are the options of `gen plan` and mean the same: `holdout` is "3x3",
    "relation:pair=2x3", several of
    these, or a holdout.json; `objects` is 2 or "3..10"; `scenes` a number, "train=2000,seen=300" or
    "grid";
    `block_seed` 0 or "0..2". None is the default of the preset or the design. Raises UserError for
    impossible options,
    and for options that the preset itself sets.
    """
    if preset is not None:
        settled = {
            "design": design,
            "holdout": holdout,
            "block-seed": block_seed,
            "objects": objects,
            "opposites": opposites,
        }
        for option, value in settled.items():
            if value is not None:
                raise UserError(
                    f"--preset {preset} sets --{option} itself (scenes/presets/{preset}.toml); "
                    f"leave one of the two out."
                )
        stated = read_preset(preset)
        design, holdout, block_seed = stated.design, stated.holdout, stated.block_seed
        family = stated.family if family is None else family
        scenes, environments = scenes or stated.scenes, environments or stated.environments
    job = Job(
        "clevr" if family is None else family,
        (holdout,) if isinstance(holdout, str) else tuple(holdout or ()),
        None if scenes is None else str(scenes),
        *parse_resolution(resolution),
        seed,
        parse_seeds(str(block_seed or 0)),
        parse_objects(str(objects)) if objects else _default_objects(family or "clevr", scenes),
        pairs,
        exchange,
        design or "bindsplit",
        opposites is not False,
        assets,
        tuple(environments),
    )
    prepared = prepare(job)
    return prepared, folder_name(prepared, preset)


def _with_pairs(job: Job, holdout: Holdout, is_grid: bool) -> Job:
    """The job with `pairs` and `exchange` decided; `exchange` stays None if there are no twins.

    Raises UserError if twins are asked for where there can be none, or for an unknown exchange.
    """
    if job.exchange not in (None, *EXCHANGES):
        raise UserError(
            f"Expected --exchange to be {', '.join(EXCHANGES[:-1])} or {EXCHANGES[-1]}, got "
            f"'{job.exchange}'."
        )
    cannot = ""
    if is_grid:
        cannot = "over the grid every scene has its exchange already"
    elif not design_of(holdout).pairs:
        cannot = f"the scenes of the design {holdout.design} have no twins"
    if cannot and job.pairs:
        raise UserError(f"--pairs has no effect, since {cannot}; leave it out.")
    pairs = not cannot if job.pairs is None else job.pairs
    if not pairs and job.exchange:
        reason = cannot or "--no-pairs makes no twins"
        raise UserError(f"--exchange has no effect, since {reason}; leave it out.")
    exchange = job.exchange or (BOTH if holdout.triples else VALUES)
    return replace(job, pairs=pairs, exchange=exchange if pairs else None)


def plan_world(prepared: Prepared, root: Path) -> "StoredPlan":
    """Write the plan of a job into `root` unless it is there. Raises UserError if `root` holds
    something else."""
    from generator.plan.store import StoredPlan, is_planned, write_plan

    request = prepared.request
    if not is_planned(root, request):
        logger.info(f"Planning {_number_of_scenes(prepared)}.")
    return (
        StoredPlan(root)
        if is_planned(root, request)
        else write_plan(root, request, prepared.planned)
    )


def _number_of_scenes(prepared: Prepared) -> str:
    """The number of scenes to plan, as people say it."""
    if prepared.parts[0].counts is None:
        return "every arrangement of two objects"
    return f"{sum(sum((part.counts or {}).values()) for part in prepared.parts):,} scenes"


def folder_name(prepared: Prepared, preset: str | None) -> str:
    """The default name of the folder to write: preset, or family, options, holdout and block seeds;
    seed; size."""
    job = prepared.job
    return f"{preset or _world_name(prepared)}-s{job.seed}-{job.width}x{job.height}"


def _world_name(prepared: Prepared) -> str:
    job, vocabulary, design = prepared.job, prepared.vocabulary, design_of(prepared.holdout)
    asked = as_tuple(job.holdout) or design.default_holdout(vocabulary)
    if asked[0].endswith(".json"):
        asked = prepared.holdout.asked
    usual = f"{read_vocabulary(job.family).tested}:{vocabulary.category}="
    words = [re.sub(r"[^A-Za-z0-9_]+", "-", spec.removeprefix(usual)).strip("-") for spec in asked]
    held_out = "+".join(words)
    parts = [
        vocabulary.name,
        job.assets,
        *dict.fromkeys(job.environments),
        None if job.objects == (2, 2) else f"n{_span(range(job.objects[0], job.objects[1] + 1))}",
        design.prefix + short_name(held_out),
        f"b{_span(prepared.block_seeds)}",
    ]
    return "-".join(part for part in parts if part)


def _span(numbers: Sequence[int]) -> str:
    """Numbers in a folder's name: 0-2 for 0, 1, 2 and 1_5 for 1, 5."""
    first, last = numbers[0], numbers[-1]
    if list(numbers) != list(range(first, last + 1)):
        return "_".join(map(str, numbers))
    return str(first) if first == last else f"{first}-{last}"


def _check_number(job: Job, vocabulary: Vocabulary) -> None:
    most = vocabulary.placement.most
    if most is not None and job.objects[1] > most:
        raise UserError(
            f"--objects {job.objects[1]}: the family '{vocabulary.name}' has room for {most} "
            f"objects in a scene; take fewer, or the family clevr-many for up to {MOST_OBJECTS}."
        )


def _check_assets(job: Job, vocabulary: Vocabulary) -> None:
    if job.assets is not None and all("/" in name for name in vocabulary.asset_meshes):
        raise UserError(
            f"--assets {job.assets}: every mesh of the family '{vocabulary.name}' is a shape or "
            f"names its own asset "
            "set, so --assets changes nothing; leave it out."
        )
    for name in vocabulary.asset_meshes:
        check_asset(vocabulary.assets, name)


def _check_room(plan: "Sequence[Planned]", vocabulary: Vocabulary, job: Job) -> None:
    """Raise UserError if two of the fullest scenes cannot be placed: many would then fail during
    rendering."""
    from generator.placement.scenes import place_scene

    refused = False
    for each in nlargest(_TRIAL, plan, key=lambda planned: len(planned.objects)):
        try:
            place_scene(each, vocabulary, job.seed, 0, job.width, job.height)
        except UserError:
            if refused:
                raise
            refused = True


def parse_resolution(spec: str) -> tuple[int, int]:
    """Width and height in pixels from `320x240`. Raises UserError if malformed or outside
    16..4096."""
    width, height = map(whole_number, spec.split("x")) if spec.count("x") == 1 else (None, None)
    if width is None or height is None:
        raise UserError(
            f"Expected --resolution to be width x height such as 320x240, got '{spec}'."
        )
    if not all(16 <= side <= 4096 for side in (width, height)):
        raise UserError(f"--resolution {spec}: expected sides of 16 to 4096 pixels.")
    return width, height


def _default_objects(family: str, scenes: str | int | None) -> tuple[int, int]:
    """The fewest and the most objects of a scene if `--objects` is left out: what the family says,
    up to its room. A grid shows arrangements of two."""
    if scenes == GRID:
        return 2, 2
    placement = read_vocabulary(family).placement
    room = placement.most or MOST_OBJECTS
    fewest, most = placement.objects
    return min(fewest, room), min(most, room)


def parse_objects(spec: str) -> tuple[int, int]:
    """The fewest and the most objects of a scene from `2` or `3..10`. Raises UserError if malformed
    or outside 1..10."""
    least, dots, most = spec.partition("..")
    first, last = whole_number(least), whole_number(most if dots else least)
    if (
        first is None
        or last is None
        or not (1 <= first <= MOST_OBJECTS and 1 <= last <= MOST_OBJECTS)
    ):
        raise UserError(
            f"Expected --objects to be a number from 1 to {MOST_OBJECTS} or a range such as "
            f"3..{MOST_OBJECTS}, got '{spec}'."
        )
    if first > last:
        raise UserError(f"--objects {spec} runs backwards; write {last}..{first}.")
    return first, last
