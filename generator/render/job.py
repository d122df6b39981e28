"""What a world shall hold, as `gen plan` and `gen render` are asked for it, and the parsing of their options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generator.base.declarations import whole_number
from generator.base.errors import UserError

MOST_OBJECTS = 10


@dataclass(frozen=True)
class Job:
    """What decides the contents of a world.

    `family`: a name or the path of a TOML file. `holdout`, `scenes`: as `--holdout` and `--scenes` take them; `scenes` may
    also be numbers by split, or None for the design's own. `width`, `height`: pixels, for which scenes are placed.
    `objects`: the fewest and the most per scene. `pairs`: whether scenes of evaluation splits get twins, which `scenes`
    does not count. `assets`: the asset set, None for the family's own. `environments`: the only ones, none for all of the
    family.
    """

    family: str
    holdout: str | Sequence[str]
    scenes: Mapping[str, int] | str | None
    width: int
    height: int
    seed: int = 0
    block_seed: int | Sequence[int] = 0
    objects: tuple[int, int] = (2, 2)
    pairs: bool = False
    design: str = "bindsplit"
    opposites: bool = True
    assets: str | None = None
    environments: tuple[str, ...] = ()


def as_tuple(given: Any) -> tuple[Any, ...]:
    """A list as a tuple; any other value as a tuple of one."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def parse_resolution(spec: str) -> tuple[int, int]:
    """Width and height in pixels from `320x240`. Raises UserError if malformed or outside 16..4096."""
    width, height = map(whole_number, spec.split("x")) if spec.count("x") == 1 else (None, None)
    if width is None or height is None:
        raise UserError(f"Expected --resolution to be width x height such as 320x240, got '{spec}'.")
    if not all(16 <= side <= 4096 for side in (width, height)):
        raise UserError(f"--resolution {spec}: expected sides of 16 to 4096 pixels.")
    return width, height


def parse_objects(spec: str) -> tuple[int, int]:
    """The fewest and the most objects of a scene from `2` or `3..10`. Raises UserError if malformed or outside 1..10."""
    least, dots, most = spec.partition("..")
    first, last = whole_number(least), whole_number(most if dots else least)
    if first is None or last is None or not (1 <= first <= MOST_OBJECTS and 1 <= last <= MOST_OBJECTS):
        raise UserError(
            f"Expected --objects to be a number from 1 to {MOST_OBJECTS} or a range such as 3..{MOST_OBJECTS}, got '{spec}'."
        )
    if first > last:
        raise UserError(f"--objects {spec} runs backwards; write {last}..{first}.")
    return first, last
