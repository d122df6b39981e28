"""A scene: objects with attributes and poses, camera, lamps; its graph; what each relation means in space."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import networkx as nx

from generator.vocabulary import Relation

Point = tuple[float, float, float]


@dataclass(frozen=True)
class SceneObject:
    """An object: its category, attribute values by kind, and pose.

    `position` is the point of the ground under its centre, in metres, z up; `heading` turns it about the vertical,
    in radians, counter-clockwise seen from above, 0 facing +x.
    """

    category: str
    attributes: dict[str, str]
    position: Point
    heading: float


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: position and target in metres, lens and sensor width in millimetres; up is +z."""

    position: Point
    target: Point
    lens: float
    sensor: float


@dataclass(frozen=True)
class Lamp:
    """A lamp that shines at the origin: energy in watts (area) or watts per square metre (sun), size in metres."""

    kind: str
    energy: float
    size: float | None
    color: Point
    position: Point


@dataclass(frozen=True)
class Scene:
    """Everything needed to render an image again, but for its size and quality."""

    objects: tuple[SceneObject, ...]
    camera: Camera
    lamps: dict[str, Lamp]
    environment: str

    def to_json(self) -> str:
        """Compact JSON with sorted keys; numbers are written so that they read back exactly."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """The inverse of `to_json`."""
        data = json.loads(text)
        objects = tuple(
            SceneObject(o["category"], o["attributes"], _point(o["position"]), o["heading"]) for o in data["objects"]
        )
        camera = data["camera"]
        lamps = {
            name: Lamp(v["kind"], v["energy"], v["size"], _point(v["color"]), _point(v["position"]))
            for name, v in data["lamps"].items()
        }
        return cls(
            objects,
            Camera(_point(camera["position"]), _point(camera["target"]), camera["lens"], camera["sensor"]),
            lamps,
            data["environment"],
        )

    def graph(self, relations: Mapping[str, Relation]) -> nx.MultiDiGraph:
        """The scene graph: a node per object (`category`, `attributes`), an edge per relation and ordered pair.

        An edge has the key `relation`, `margin` (signed metres by which the first object lies further in the
        relation's direction) and `holds` (True, False, or None where the margin does not decide).
        """
        graph = nx.MultiDiGraph()
        for index, thing in enumerate(self.objects):
            graph.add_node(index, category=thing.category, attributes=thing.attributes)
        directions = ground_directions(self.camera)
        for i, first in enumerate(self.objects):
            for j, second in enumerate(self.objects):
                if i == j:
                    continue
                for name, relation in relations.items():
                    margin = along(directions[relation.direction], first.position, second.position)
                    holds = None if abs(margin) < relation.margin else margin > 0
                    graph.add_edge(i, j, key=name, margin=margin, holds=holds)
        return graph


def ground_directions(camera: Camera) -> dict[str, tuple[float, float]]:
    """Unit vectors (x, y) on the ground for left, right, front and behind as the camera sees them."""
    x, y = (t - p for t, p in zip(camera.target[:2], camera.position[:2], strict=True))
    length = math.sqrt(x * x + y * y)
    x, y = x / length, y / length
    return {"behind": (x, y), "front": (-x, -y), "right": (y, -x), "left": (-y, x)}


def along(direction: tuple[float, float], first: Point, second: Point) -> float:
    """Signed metres, to the micrometre, by which `first` lies further in `direction` than `second`."""
    return round((first[0] - second[0]) * direction[0] + (first[1] - second[1]) * direction[1], 6)


def _point(values: list[float]) -> Point:
    x, y, z = values
    return (x, y, z)
