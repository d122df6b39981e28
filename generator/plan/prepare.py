"""Checks the options of a world and plans it; nothing is written before all is checked."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.assets.sets import asset_request, check_asset
from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.dataset.own_frames import other_triples
from generator.holdout.designs.base import GRID
from generator.holdout.holdout import Holdout
from generator.holdout.presets import read_preset
from generator.holdout.request import HoldoutRequest, WorldPart, design_of, kind_named, parse_seeds
from generator.holdout.syntax import NONE, short_name
from generator.plan.options import WorldOptions
from generator.scene.exchange import BOTH, EXCHANGES, PLACES, VALUES
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary, with_assets

if TYPE_CHECKING:
    from generator.plan.ladder import LadderRequest
    from generator.plan.store import StoredPlan
    from generator.scene.planned import Planned

logger = logging.getLogger(__name__)

MOST_OBJECTS = 10
"""The most objects of a scene."""

# Scenes with the most objects that are placed as a test before a plan is written.
_TRIAL_SCENES = 8

# A degree is the smallest turn that pictures tell apart. Balancing takes time and memory with the
# number of azimuths times that of scenes: 100,000 azimuths of 40 scenes take minutes and gigabytes.
_MOST_VIEWPOINTS = 360


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A world whose options have been checked. Nothing is planned or written yet.

    `request` records it in a manifest, `from_request` reads the record back.
    """

    options: WorldOptions
    """The options. Those of a preset are filled in."""
    width: int
    """Width in pixels of the images that scenes are placed for."""
    height: int
    """Height in pixels of these images."""
    objects: tuple[int, int]
    """The least and the most objects of a scene."""
    pairs: bool
    """Whether scenes of evaluation splits get twins, which the numbers of scenes count."""
    exchange: str | None
    """What twins exchange, one of `EXCHANGES` (scene/exchange.py); None if there are no twins or
    turn twins."""
    viewpoints: int | None
    """The number of azimuths of the camera; None in a world whose scenes have none."""
    turns: tuple[float, ...]
    """The turns of the camera between a scene and its turn twin, degrees; empty without such
    twins."""
    vocabulary: Vocabulary
    """The family as the world has it: painted, with its asset set and its environments."""
    holdouts: list[Holdout]
    """What each benchmark of the world holds out."""
    parts: list[WorldPart]
    """How many scenes of each split each holdout gets."""
    assets: Mapping[str, Any] | None
    """Digests of the meshes and panoramas that the world uses; None if it uses built-in ones."""
    ladder: "LadderRequest | None" = None
    """What the ladders of the world grade; None for a world without ladders."""

    @property
    def holdout(self) -> Holdout:
        """The first holdout; usually the only one."""
        return self.holdouts[0]

    @property
    def block_seeds(self) -> list[int]:
        """The distinct block seeds of the holdouts; a holdout.json has its own."""
        return list(dict.fromkeys(holdout.block_seed for holdout in self.holdouts))

    @property
    def is_grid(self) -> bool:
        """Whether the world has every arrangement of two objects once (`--scenes grid`)."""
        return self.parts[0].counts is None

    @property
    def folder_name(self) -> str:
        """The default name of the folder to write: preset, or family, options, holdout and block
        seeds; seed; size."""
        options = self.options
        world_name = options.preset or _world_name(self)
        if self.ladder is not None:
            steps = f"{self.ladder.factor}{self.ladder.steps}"
            world_name = f"{self.vocabulary.name}-ladder-{steps}"
        return f"{world_name}-s{options.seed}-{self.width}x{self.height}"

    @cached_property
    def planned(self) -> "list[Planned]":
        """The plan, in memory.

        Raises:
            UserError: a split has no scene, or the fullest scenes cannot be placed.
        """
        # Here, so that wrong options are refused before SciPy is loaded.
        from generator.plan.minimal_pairs import plan_with_twins
        from generator.plan.plan import plan_parts
        from generator.plan.viewpoints import plan_with_turns, with_viewpoints

        seed = self.options.seed
        world = (self.vocabulary, self.parts, seed, self.objects)
        even_bindings = self.options.even_bindings
        if self.ladder is not None:
            from generator.plan.ladder import plan_ladders

            plan = plan_ladders(self.vocabulary, self.parts[0], seed=seed, request=self.ladder)
        elif self.turns:
            plan = plan_with_turns(*world, self.turns, even_bindings=even_bindings)
        elif self.exchange is None:
            plan = plan_parts(*world, even_bindings=even_bindings)
        else:
            plan = plan_with_twins(*world, self.exchange, even_bindings=even_bindings)
        if self.viewpoints is not None:
            plan = with_viewpoints(plan, self.viewpoints, seed)
        if design_of(self.holdout).shares_scenes:
            # From here on no scene is of one holdout: each benchmark asks its own rule for the
            # split.
            plan = [scene._replace(part=0, split=None) for scene in plan]
        self._check_room(plan)
        return plan

    @property
    def request(self) -> dict[str, Any]:
        """All that decides the plan, but no paths: the request in world/plan.parquet and in the
        world's manifest. Asset set and environments are in the vocabulary."""
        options = self.options
        holdout_options = [
            "holdout.json" if text.endswith(".json") else text
            for text in as_tuple(options.holdout or ())
        ]
        scenes: str | list[dict[str, int]] = GRID
        if not self.is_grid:
            scenes = [dict(part.counts or {}) for part in self.parts]
        # The order of these keys is that of the file.
        request: dict[str, Any] = {
            "family": self.vocabulary.name,
            "holdout": holdout_options,
            "scenes": scenes,
            "width": self.width,
            "height": self.height,
            "seed": options.seed,
            "block_seed": self.block_seeds,
            "objects": self.objects,
            "pairs": self.pairs,
            "exchange": self.exchange,
            "design": self.holdout.design,
            "opposites": options.opposites is not False,
            "scenes_asked": options.scenes,
            "holdouts": [holdout.to_dict() for holdout in self.holdouts],
            "vocabulary": self.vocabulary.text,
        }
        # Worlds without viewpoints keep the requests that they had before.
        if self.viewpoints is not None:
            request |= {"viewpoints": self.viewpoints, "turns": list(self.turns)}
        if any(holdout.own_frames for holdout in self.holdouts):
            request["own_sides"] = True
        if options.even_bindings:
            request["even_bindings"] = True
        if self.ladder is not None:
            request["ladder"] = {"factor": self.ladder.factor, "steps": self.ladder.steps}
        if self.assets:
            request["assets"] = self.assets
        return request

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> "Prepared":
        """The inverse of `request`: the world that a manifest records, with its vocabulary.

        A holdout.json is not recorded, so holdouts from such a file are read from the record; all
        others are drawn again.

        Raises:
            UserError: the recorded vocabulary or holdout is impossible.
        """
        # Scenes are placed for the size at which they were first rendered.
        first_rendered = request
        while "from" in first_rendered:
            first_rendered = first_rendered["from"]
        vocabulary = parse_vocabulary(request["vocabulary"], "world/vocabulary.toml")
        options = WorldOptions(
            family=vocabulary.name,
            holdout=tuple(request["holdout"]),
            scenes=request["scenes_asked"],
            resolution=f"{first_rendered['width']}x{first_rendered['height']}",
            seed=request["seed"],
            block_seed=tuple(request["block_seed"]),
            design=request["design"],
            opposites=request["opposites"],
            even_bindings=request.get("even_bindings", False),
        )
        holdout_request = _holdout_request(options)
        if any(text.strip().endswith(".json") for text in as_tuple(options.holdout)):
            holdouts = [Holdout.from_dict(recorded) for recorded in request["holdouts"]]
        else:
            holdouts = holdout_request.holdouts(vocabulary)
        least, most = request["objects"]
        ladder = None
        if "ladder" in request:
            from generator.plan.ladder import LadderRequest

            ladder = LadderRequest(**request["ladder"])
        return cls(
            options=options,
            width=first_rendered["width"],
            height=first_rendered["height"],
            objects=(least, most),
            pairs=request["pairs"],
            exchange=request["exchange"],
            viewpoints=request.get("viewpoints"),
            turns=tuple(request.get("turns", ())),
            vocabulary=vocabulary,
            holdouts=holdouts,
            parts=holdout_request.parts(holdouts, vocabulary),
            assets=request.get("assets"),
            ladder=ladder,
        )

    def _check_room(self, plan: "Sequence[Planned]") -> None:
        """Raise UserError if two of the fullest scenes cannot be placed: many would then fail
        during rendering."""
        from generator.placement.scenes import place_scene

        has_failed = False
        seed = self.options.seed
        fullest = nlargest(_TRIAL_SCENES, plan, key=lambda scene: len(scene.objects))
        for scene in fullest:
            try:
                place_scene(scene, self.vocabulary, seed, 0, self.width, self.height)
            except UserError:
                if has_failed:
                    raise
                has_failed = True


def prepare(options: WorldOptions) -> Prepared:
    """Check the options of a world to plan; write nothing.

    Args:
        options: as of `gen plan`. `objects` may also be the least and the most, `scenes` numbers by
            split, and `block_seed` several seeds.

    Returns:
        The checked world. Its `planned` raises the errors that only planning finds.

    Raises:
        UserError: options are impossible together, or a preset sets them itself.

    >>> prepared = prepare(WorldOptions(holdout="2x2", scenes=100))
    >>> prepared.folder_name
    'clevr-2x2-b0-s0-320x240'
    """
    options = _with_preset(options)
    width, height = parse_resolution(options.resolution)
    objects = options.objects
    if objects is not None and not isinstance(objects, tuple):
        objects = parse_objects(str(objects))
    holdout_request = _holdout_request(options)

    vocabulary = _world_vocabulary(options)
    if objects is None:
        objects = (2, 2) if options.scenes == GRID else _default_objects(vocabulary)
    _check_number(objects, vocabulary)
    _check_assets(options.assets, vocabulary)
    holdouts = holdout_request.holdouts(vocabulary)
    _check_own_frames(holdouts, objects)
    parts = holdout_request.parts(holdouts, vocabulary)
    is_grid = parts[0].counts is None
    if is_grid and objects != (2, 2):
        raise UserError(
            "--scenes grid has two objects in each scene, so --objects has no effect; leave it out."
        )
    turns = parse_turns(options.turns)
    pairs, exchange = _decide_pairs(options, holdouts[0], is_grid=is_grid, turns=turns)
    viewpoints = options.viewpoints
    if turns and viewpoints is None:
        viewpoints = 1
    used_assets = [*vocabulary.asset_meshes, *vocabulary.panoramas]
    return Prepared(
        options=options,
        width=width,
        height=height,
        objects=objects,
        pairs=pairs,
        exchange=exchange,
        viewpoints=viewpoints,
        turns=turns,
        vocabulary=vocabulary,
        holdouts=holdouts,
        parts=parts,
        assets=asset_request(used_assets, vocabulary.assets),
    )


def prepare_ladder(options: WorldOptions, request: "LadderRequest") -> Prepared:
    """Check the options of a world of ladders; write nothing.

    Args:
        options: The family, the number of scenes as `scenes`, resolution and seed.
        request: What is graded.

    Returns:
        The checked world.

    Raises:
        UserError: Options are impossible together, or the family lacks what the ladders need.
    """
    from generator.plan.ladder import check_ladder

    check_ladder(request, _world_vocabulary(options))
    n_scenes = whole_number(str(options.scenes))
    if n_scenes is None or n_scenes < 2 or n_scenes % 2:
        raise UserError(
            f"Expected --scenes to be an even number, since each scene has a twin, got "
            f"'{options.scenes}'."
        )
    prepared = prepare(replace(options, holdout=NONE, pairs=False, objects=request.objects))
    return replace(prepared, ladder=request)


def plan_world(prepared: Prepared, root: Path) -> "StoredPlan":
    """Write the plan of a world into `root` unless it is there.

    Args:
        prepared: the checked world.
        root: the folder of the dataset.

    Returns:
        The stored plan.

    Raises:
        UserError: `root` holds something else, or the world cannot be planned.
    """
    from generator.plan.store import StoredPlan, is_planned, write_plan

    request = prepared.request
    if is_planned(root, request):
        return StoredPlan(root)
    logger.info(f"Planning {_number_of_scenes(prepared)}{_sides(prepared)}.")
    return write_plan(root, request, prepared.planned)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A list as a tuple; any other value as a tuple of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _with_preset(options: WorldOptions) -> WorldOptions:
    """The options with those of the preset. Raises UserError if both set the same one."""
    scenes = options.scenes
    if isinstance(scenes, int):
        options = replace(options, scenes=str(scenes))
    if options.preset is None:
        return options
    set_by_preset = {
        "design": options.design,
        "holdout": options.holdout,
        "block-seed": options.block_seed,
        "objects": options.objects,
        "opposites": options.opposites,
    }
    for name, value in set_by_preset.items():
        if value is not None:
            raise UserError(
                f"--preset {options.preset} sets --{name} itself "
                f"(scenes/presets/{options.preset}.toml); leave one of the two out."
            )
    preset = read_preset(options.preset)
    return replace(
        options,
        design=preset.design,
        holdout=preset.holdout,
        block_seed=preset.block_seed,
        family=preset.family if options.family is None else options.family,
        scenes=options.scenes or preset.scenes,
        environments=options.environments or preset.environments,
    )


def _world_vocabulary(options: WorldOptions) -> Vocabulary:
    """The vocabulary of the family, with the asset set, paint and environments of the options."""
    family = _family(options)
    text = vocabulary_text(family)
    if options.assets is not None:
        text = with_assets(text, options.assets)
    vocabulary = parse_vocabulary(text, family)
    if vocabulary.paints:
        kind = kind_named(as_tuple(options.holdout or ()), vocabulary)
        vocabulary = vocabulary.painted_with(kind)
    if options.environments:
        vocabulary = vocabulary.placed_in(options.environments)
    if options.viewpoints is not None or options.turns is not None:
        vocabulary = _seen_from_all_sides(vocabulary, options)
    return vocabulary


def _seen_from_all_sides(vocabulary: Vocabulary, options: WorldOptions) -> Vocabulary:
    """The family with only the places that can be seen from all sides that the options ask for.

    Raises UserError if there are none, or if a place that `--environment` names is not among them;
    also for an impossible number of viewpoints.
    """
    if options.viewpoints is not None and not 1 <= options.viewpoints <= _MOST_VIEWPOINTS:
        raise UserError(
            f"Expected --viewpoints to be a number of azimuths from 1 to {_MOST_VIEWPOINTS}, got "
            f"{options.viewpoints}."
        )
    seen = vocabulary.seen_from(options.viewpoints or 1, parse_turns(options.turns))
    left_out = [name for name in vocabulary.environments if name not in seen.environments]
    option = f"--viewpoints {options.viewpoints}" if options.turns is None else "--turns"
    reason = (
        "has walls, no ground all around it, or no photograph in that direction "
        "(docs/frames.md, Places)"
    )
    if left_out and (options.environments or not seen.environments):
        raise UserError(
            f"{option}: the place '{left_out[0]}' of the family '{vocabulary.name}' cannot be seen "
            f"from another side, since it {reason}; choose other places with --environment, or a "
            f"family such as clevr or pug."
        )
    return seen


def _family(options: WorldOptions) -> str:
    return "clevr" if options.family is None else options.family


def _holdout_request(options: WorldOptions) -> HoldoutRequest:
    block_seed = options.block_seed
    if not isinstance(block_seed, list | tuple):
        block_seed = parse_seeds(str(block_seed or 0))
    scenes = options.scenes
    return HoldoutRequest(
        design=options.design or HoldoutRequest.design,
        holdout=as_tuple(options.holdout or ()),
        block_seeds=tuple(block_seed),
        opposites=options.opposites is not False,
        scenes=str(scenes) if isinstance(scenes, int) else scenes,
    )


def parse_turns(turns: str | float | Sequence[float] | None) -> tuple[float, ...]:
    """Parse `--turns`: degrees, such as 180 or "90,180".

    Args:
        turns: One turn, several, or None.

    Returns:
        The turns; empty for None.

    Raises:
        UserError: One is not a number between 0 and 360, or is there twice.

    >>> parse_turns("90,180"), parse_turns(None)
    ((90.0, 180.0), ())
    """
    if turns is None:
        return ()
    parts = turns.split(",") if isinstance(turns, str) else as_tuple(turns)
    try:
        degrees = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        degrees = ()
    are_turns = all(0 < turn < 360 for turn in degrees)
    has_repeats = len(set(degrees)) < len(degrees)
    if not degrees or not are_turns or has_repeats:
        raise UserError(
            f"Expected --turns to be different degrees between 0 and 360, such as 180 or "
            f"90,180,270; got '{turns}'."
        )
    return degrees


def _decide_pairs(
    options: WorldOptions, holdout: Holdout, *, is_grid: bool, turns: tuple[float, ...]
) -> tuple[bool, str | None]:
    """Whether there are twins, and what they exchange; None if there are none, or turn twins.

    Raises UserError if twins are asked for where there can be none, or for an unknown exchange.
    """
    if options.exchange not in (None, *EXCHANGES):
        raise UserError(
            f"Expected --exchange to be {', '.join(EXCHANGES[:-1])} or {EXCHANGES[-1]}, got "
            f"'{options.exchange}'."
        )
    obstacle = ""
    if is_grid:
        obstacle = "over the grid every scene has its exchange already"
    elif not design_of(holdout).pairs:
        obstacle = f"the scenes of the design {holdout.design} have no twins"
    if turns:
        _check_turns(options, holdout, obstacle)
        return True, None
    if obstacle and options.pairs:
        raise UserError(f"--pairs has no effect, since {obstacle}; leave it out.")
    pairs = not obstacle if options.pairs is None else options.pairs
    if pairs:
        if holdout.own_frames and options.exchange in (PLACES, BOTH):
            raise UserError(
                f"--exchange {options.exchange}: objects that exchange their places look past each "
                f"other, but the holdout says on whose own side each of them stands; take "
                f"--exchange {VALUES} or --turns."
            )
        default_exchange = BOTH if other_triples(holdout.triples) else VALUES
        return True, options.exchange or default_exchange
    if options.exchange:
        reason = obstacle or "--no-pairs makes no twins"
        raise UserError(f"--exchange has no effect, since {reason}; leave it out.")
    return False, None


def _check_turns(options: WorldOptions, holdout: Holdout, obstacle: str) -> None:
    """Raise UserError where there can be no turn twins. `obstacle`: why there are no twins."""
    if obstacle:
        raise UserError(f"--turns has no effect, since {obstacle}; leave it out.")
    if options.pairs is False:
        raise UserError("--no-pairs makes no twins, but --turns does; leave one of the two out.")
    if options.exchange:
        raise UserError(
            f"--exchange {options.exchange} and --turns both say what a twin is; leave one of the "
            f"two out."
        )
    if other_triples(holdout.triples):
        raise UserError(
            "--turns needs a holdout without relations that the camera decides: in a turn twin "
            "left may be right, so a scene and its twin would be in different splits; hold out "
            "combinations of values and objects, or directions in an object's own frame such as "
            "relation:object=2x3."
        )


def _number_of_scenes(prepared: Prepared) -> str:
    """The number of scenes to plan, as people say it."""
    if prepared.is_grid:
        return "every arrangement of two objects"
    totals = [sum((part.counts or {}).values()) for part in prepared.parts]
    total = sum(totals)
    if prepared.ladder is not None:
        return f"{total:,} scenes with {prepared.ladder.steps} steps of {prepared.ladder.factor}"
    return f"{total:,} scenes"


def _sides(prepared: Prepared) -> str:
    """From where the scenes are seen, and in which places, as people say it; "" without an
    azimuth."""
    if prepared.viewpoints is None:
        return ""
    places = ", ".join(prepared.vocabulary.environments)
    viewpoints = f"{prepared.viewpoints} azimuth" + "s" * (prepared.viewpoints > 1)
    turns = ""
    if prepared.turns:
        degrees = ", ".join(f"{turn:g}°" for turn in prepared.turns)
        turns = f" and their twins turned by {degrees}"
    return f", seen from {viewpoints}{turns}, in the places {places}"


def _name_of_views(prepared: Prepared) -> list[str]:
    """The words for azimuths and turns in the name of a world."""
    words = []
    # With turns, one viewpoint is the default. Without, headings differ from a world without any.
    is_default = prepared.viewpoints is None or (prepared.viewpoints == 1 and prepared.turns)
    if not is_default:
        words.append(f"v{prepared.viewpoints}")
    if prepared.turns:
        degrees = "_".join(f"{turn:g}" for turn in prepared.turns)
        words.append(f"t{degrees}")
    return words


def _world_name(prepared: Prepared) -> str:
    """A name made of the family and of all options that are not at their default."""
    options, vocabulary = prepared.options, prepared.vocabulary
    design = design_of(prepared.holdout)
    holdout_options = as_tuple(options.holdout or ()) or design.default_holdout(vocabulary)
    if holdout_options[0].endswith(".json"):
        holdout_options = prepared.holdout.asked
    # The kind that the family tests by default goes without saying.
    tested = read_vocabulary(_family(options)).tested
    words = []
    for text in holdout_options:
        without_default = text.removeprefix(f"{tested}:{vocabulary.category}=")
        # What may be part of the name of a folder.
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", without_default)
        words.append(plain.strip("-"))
    least, most = prepared.objects
    parts = [
        vocabulary.name,
        options.assets,
        *dict.fromkeys(options.environments),
        None if (least, most) == (2, 2) else f"n{_span(range(least, most + 1))}",
        *_name_of_views(prepared),
        design.prefix + short_name("+".join(words)),
        f"b{_span(prepared.block_seeds)}",
    ]
    return "-".join(part for part in parts if part)


def _span(numbers: Sequence[int]) -> str:
    """Numbers in a folder's name: 0-2 for 0, 1, 2 and 1_5 for 1, 5."""
    first, last = numbers[0], numbers[-1]
    if list(numbers) != list(range(first, last + 1)):
        return "_".join(map(str, numbers))
    return str(first) if first == last else f"{first}-{last}"


def _check_number(objects: tuple[int, int], vocabulary: Vocabulary) -> None:
    most = vocabulary.placement.most
    if most is not None and objects[1] > most:
        raise UserError(
            f"--objects {objects[1]}: the family '{vocabulary.name}' has room for {most} "
            f"objects in a scene; take fewer, or the family clevr-many for up to {MOST_OBJECTS}."
        )


def _check_own_frames(holdouts: Sequence[Holdout], objects: tuple[int, int]) -> None:
    """Raise UserError if directions in objects' own frames are held out of scenes of more than two
    objects: an object can rarely look so that two others are within the margin of one axis."""
    if objects[1] > 2 and any(holdout.own_frames for holdout in holdouts):
        raise UserError(
            f"--objects: with {objects[1]} objects in a scene, an object can hardly look so that "
            f"none of the others is on an own side that the holdout keeps out of training; take "
            f"--objects 2."
        )


def _check_assets(assets: str | None, vocabulary: Vocabulary) -> None:
    if assets is not None and all("/" in name for name in vocabulary.asset_meshes):
        raise UserError(
            f"--assets {assets}: every mesh of the family '{vocabulary.name}' is a shape or "
            f"names its own asset set, so --assets changes nothing; leave it out."
        )
    for name in vocabulary.asset_meshes:
        check_asset(vocabulary.assets, name)


def parse_resolution(text: str) -> tuple[int, int]:
    """Width and height in pixels from text such as 320x240.

    Raises:
        UserError: it is malformed, or a side is outside 16 to 4096.

    >>> parse_resolution("320x240")
    (320, 240)
    """
    width_text, _, height_text = text.partition("x")
    width, height = whole_number(width_text), whole_number(height_text)
    if width is None or height is None:
        raise UserError(
            f"Expected --resolution to be width x height such as 320x240, got '{text}'."
        )
    if not all(16 <= side <= 4096 for side in (width, height)):
        raise UserError(f"--resolution {text}: expected sides of 16 to 4096 pixels.")
    return width, height


def _default_objects(vocabulary: Vocabulary) -> tuple[int, int]:
    """The least and the most objects of a scene if `--objects` is left out: what the family says,
    up to its room."""
    placement = vocabulary.placement
    room = placement.most or MOST_OBJECTS
    fewest, most = placement.objects
    return min(fewest, room), min(most, room)


def parse_objects(text: str) -> tuple[int, int]:
    """The least and the most objects of a scene from text such as 2 or 3..10.

    Raises:
        UserError: it is malformed, or a number is outside 1 to 10.

    >>> parse_objects("2"), parse_objects("3..10")
    ((2, 2), (3, 10))
    """
    least_text, dots, most_text = text.partition("..")
    least = whole_number(least_text)
    most = whole_number(most_text) if dots else least
    possible = range(1, MOST_OBJECTS + 1)
    if least is None or most is None or least not in possible or most not in possible:
        raise UserError(
            f"Expected --objects to be a number from 1 to {MOST_OBJECTS} or a range such as "
            f"3..{MOST_OBJECTS}, got '{text}'."
        )
    if least > most:
        raise UserError(f"--objects {text} runs backwards; write {most}..{least}.")
    return least, most
