"""Scenes for a plan: what each holds, drawn so that all is balanced; where it stands, so that nothing is in doubt."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product

from generator.dataset.errors import UserError
from generator.projection import project
from generator.scene import Camera, Lamp, Point, Scene, SceneObject, along, ground_directions
from generator.splits import SPLITS, Arrangement, SplitPlan, arrangements, cluster_of
from generator.streams import Stream
from generator.vocabulary import Vocabulary

_TRIES = 2_000


@dataclass(frozen=True)
class Planned:
    """What a scene shall hold, before anything has a place: (category, attribute values by kind), left object first."""

    scene_id: str
    cluster_id: str
    objects: tuple[tuple[str, dict[str, str]], ...]


def plan_scenes(vocabulary: Vocabulary, splits: SplitPlan, counts: Mapping[str, int], seed: int) -> list[Planned]:
    """Draw the content of `counts[split]` scenes for each split.

    Within a split, clusters are as frequent as one another up to one, so are the arrangements of a cluster, and so
    are, for each place in the scene, the values of every attribute kind that is not under test. Scenes of all splits
    are shuffled together, so that a number says nothing.
    """
    tested = splits.holdout.kind
    by_split: dict[str, dict[str, list[Arrangement]]] = {split: {} for split in SPLITS}
    for arrangement in arrangements(vocabulary, tested):
        split = splits.place(arrangement).split
        if split is not None:
            by_split[split].setdefault(cluster_of(arrangement), []).append(arrangement)
    drawn: list[tuple[str, tuple[tuple[str, dict[str, str]], ...]]] = []
    for split, n in counts.items():
        drawn += _draw_split(vocabulary, tested, by_split[split], n, Stream("plan", seed, split))
    order = Stream("order", seed).shuffled(drawn)
    return [Planned(f"{index:06d}", cluster, objects) for index, (cluster, objects) in enumerate(order)]


def _draw_split(
    vocabulary: Vocabulary, tested: str, clusters: dict[str, list[Arrangement]], n: int, stream: Stream
) -> list[tuple[str, tuple[tuple[str, dict[str, str]], ...]]]:
    names = stream.shuffled(list(clusters))
    rounds = {name: stream.shuffled(clusters[name]) for name in names}
    chosen = [
        (name, rounds[name][i // len(names) % len(rounds[name])]) for i in range(n) for name in [names[i % len(names)]]
    ]
    others = [kind for kind in vocabulary.attributes if kind != tested]
    extras = {(slot, kind): stream.balanced(vocabulary.values(kind), n) for slot in range(2) for kind in others}
    return [
        (
            name,
            tuple(
                (thing, {tested: value, **{kind: extras[slot, kind][i] for kind in others}})
                for slot, (value, thing) in enumerate(arrangement)
            ),
        )
        for i, (name, arrangement) in enumerate(chosen)
    ]


def place_scene(planned: Planned, vocabulary: Vocabulary, seed: int, attempt: int, width: int, height: int) -> Scene:
    """Give the planned objects places, and the camera and lamps their jitter; a function of the arguments alone.

    Objects stand from left to right in the order of the plan, `gap` apart, `clearance` apart along every ground
    direction, wholly in view. A rejected placement is drawn again, never the content. Raises UserError when the
    placement rules of the vocabulary leave no room.
    """
    stream = Stream("scene", seed, planned.scene_id, attempt)
    radii = [_scale(attributes, vocabulary) for _, attributes in planned.objects]
    for _ in range(_TRIES):
        camera = _draw_camera(vocabulary, stream)
        positions = _draw_positions(len(radii), camera, vocabulary, stream)
        if _well_placed(positions, radii, camera, vocabulary, width, height):
            break
    else:
        raise UserError(
            f"No room for {len(radii)} objects in an image of {width}x{height}: take a --resolution nearer to a square, or "
            f"lessen gap, clearance or the objects' scale in the family '{vocabulary.name}'."
        )
    objects = tuple(
        SceneObject(
            thing, attributes, position, _draw_heading(position, camera, vocabulary.objects[thing].turn, stream)
        )
        for (thing, attributes), position in zip(planned.objects, positions, strict=True)
    )
    return Scene(objects, camera, _draw_lamps(vocabulary, stream))


def _scale(attributes: Mapping[str, str], vocabulary: Vocabulary) -> float:
    scales = (vocabulary.attributes[kind][value].scale for kind, value in attributes.items())
    return next(scale for scale in scales if scale is not None)


def _jittered(position: Point, jitter: float, stream: Stream) -> Point:
    x, y, z = (round(c + stream.uniform(-jitter, jitter), 6) for c in position)
    return (x, y, z)


def _draw_camera(vocabulary: Vocabulary, stream: Stream) -> Camera:
    spec = vocabulary.camera
    return Camera(_jittered(spec.position, spec.jitter, stream), spec.target, spec.lens, spec.sensor)


def _draw_lamps(vocabulary: Vocabulary, stream: Stream) -> dict[str, Lamp]:
    return {
        name: Lamp(spec.kind, spec.energy, spec.size, spec.color, _jittered(spec.position, spec.jitter, stream))
        for name, spec in vocabulary.lamps.items()
    }


def _draw_positions(n: int, camera: Camera, vocabulary: Vocabulary, stream: Stream) -> list[Point]:
    extent = vocabulary.placement.extent
    drawn = [
        (round(stream.uniform(-extent, extent), 6), round(stream.uniform(-extent, extent), 6), 0.0) for _ in range(n)
    ]
    right = ground_directions(camera)["right"]
    return sorted(drawn, key=lambda p: along(right, p, (0.0, 0.0, 0.0)))


def _well_placed(
    positions: list[Point], radii: list[float], camera: Camera, vocabulary: Vocabulary, width: int, height: int
) -> bool:
    rules = vocabulary.placement
    directions = ground_directions(camera)
    for i, j in combinations(range(len(positions)), 2):
        a, b = positions[i], positions[j]
        if math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) - radii[i] - radii[j] < rules.gap:
            return False
        if any(abs(along(directions[name], a, b)) < rules.clearance for name in ("right", "behind")):
            return False
    margin = (width - height) / 2 if rules.frame == "square" else 0
    left, top = max(0, margin), max(0, -margin)
    return all(_in_view(p, r, camera, width, height, left, top) for p, r in zip(positions, radii, strict=True))


def _in_view(position: Point, radius: float, camera: Camera, width: int, height: int, left: float, top: float) -> bool:
    """Whether the box around the unit mesh (radius 1, height 2, scaled) lies in the frame, whatever the heading.

    `left` and `top` are the pixels beyond the frame on either side.
    """
    x, y, z = position
    for sx, sy, sz in product((-radius, radius), (-radius, radius), (0.0, 2 * radius)):
        column, row, depth = project(camera, x + sx, y + sy, z + sz, width, height)
        if depth <= 0 or not (left <= column <= width - left and top <= row <= height - top):
            return False
    return True


def _draw_heading(position: Point, camera: Camera, turn: float, stream: Stream) -> float:
    facing = math.atan2(camera.position[1] - position[1], camera.position[0] - position[0])
    return round(facing + math.radians(turn) * stream.uniform(-0.5, 0.5), 6)
