"""Positions of the objects of a plan: on the ground in the planned orders, or on the top of another object."""

from collections.abc import Sequence

from generator.base.streams import Stream
from generator.placement.ground import Footprint, Ground, Post
from generator.scene.layouts import Arranged
from generator.scene.scene import Point
from generator.scene.stacks import shift, slip
from generator.vocabulary.schema import Vocabulary

Contents = Sequence[tuple[str, dict[str, str]]]
"""Category and attribute values by kind of each object, listed from left to right."""


def draw_positions(objects: Contents, planned: Arranged, ground: Ground, stream: Stream) -> list[Point] | None:
    """Random positions of planned objects, in their order; None where the ground has no room."""
    vocabulary = ground.vocabulary
    carried_by = dict(enumerate(planned.rests_on or (None,) * len(objects)))
    carriers = [i for i, lower in carried_by.items() if lower is None]
    riders = {lower: upper for upper, lower in carried_by.items() if lower is not None}
    posts = [_post(objects, i, riders.get(i), vocabulary) for i in carriers]
    depths = sorted(planned.depth_order[i] for i in carriers)
    found = ground.find(
        posts, [depths.index(planned.depth_order[i]) for i in carriers], stream,
        [planned.clumps[i] for i in carriers] if planned.clumps else (),
    )  # fmt: skip
    if found is None:
        return None
    positions = dict(zip(carriers, found, strict=True))
    for lower, upper in riders.items():
        positions[upper] = _on_top(positions[lower], *objects[lower], ground, stream)
    return [positions[i] for i in range(len(objects))]


def _post(objects: Contents, lower: int, upper: int | None, vocabulary: Vocabulary) -> Post:
    """The footprints at one position: of an object, and of the object that rests on it."""
    own = _footprint(objects[lower], 0.0, 0.0, vocabulary)
    if upper is None:
        return (own,)
    height, _ = vocabulary.top(*objects[lower]) or (0.0, 0.0)
    return (own, _footprint(objects[upper], height, shift(vocabulary), vocabulary))


def _footprint(obj: tuple[str, dict[str, str]], height: float, aside: float, vocabulary: Vocabulary) -> Footprint:
    """The footprint of an object that stands at a height and at most `aside` from the middle of its post, metres."""
    return Footprint(vocabulary.scale(obj[1]) + aside, height, vocabulary.reach(*obj) + aside)


def _on_top(position: Point, category: str, attributes: dict[str, str], ground: Ground, stream: Stream) -> Point:
    """A random position on the top of an object, near its middle."""
    height, _ = ground.vocabulary.top(category, attributes) or (0.0, 0.0)
    most = slip(ground.vocabulary)
    x, y = ground.moved(position, stream.uniform(-most, most), stream.uniform(-most, most))
    return (x, y, round(position[2] + height, 6))
