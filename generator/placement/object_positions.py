"""Where the objects of a plan stand: on the ground in the planned orders, or on the top of another."""

from collections.abc import Sequence

from generator.dataset.streams import Stream
from generator.placement.ground import Footprint, Ground, Post
from generator.scene.layouts import Arranged
from generator.scene.relations import Point
from generator.scene.stacks import shift, slip
from generator.vocabulary.schema import Vocabulary

Contents = Sequence[tuple[str, dict[str, str]]]


def stand(objects: Contents, planned: Arranged, ground: Ground, stream: Stream) -> list[Point] | None:
    """Places of planned objects (category, attribute values), in their order; None where the ground has no room."""
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
    places = dict(zip(carriers, found, strict=True))
    for lower, upper in riders.items():
        places[upper] = _upon(places[lower], *objects[lower], ground, stream)
    return [places[i] for i in range(len(objects))]


def _post(objects: Contents, lower: int, upper: int | None, vocabulary: Vocabulary) -> Post:
    """The footprints at one place: of an object, and of what rests on it."""
    own = _footprint(objects[lower], 0.0, 0.0, vocabulary)
    if upper is None:
        return (own,)
    height, _ = vocabulary.top(*objects[lower]) or (0.0, 0.0)
    return (own, _footprint(objects[upper], height, shift(vocabulary), vocabulary))


def _footprint(thing: tuple[str, dict[str, str]], height: float, aside: float, vocabulary: Vocabulary) -> Footprint:
    return Footprint(vocabulary.scale(thing[1]) + aside, height, vocabulary.reach(*thing) + aside)


def _upon(place: Point, category: str, attributes: dict[str, str], ground: Ground, stream: Stream) -> Point:
    """A place on the top of an object, near its middle."""
    height, _ = ground.vocabulary.top(category, attributes) or (0.0, 0.0)
    most = slip(ground.vocabulary)
    x, y = ground.moved(place, stream.uniform(-most, most), stream.uniform(-most, most))
    return (x, y, round(place[2] + height, 6))
