"""A scene: objects with attributes and poses, camera, lamps; its graph."""

import json
from dataclasses import asdict, dataclass
from itertools import permutations

import networkx as nx

from generator.scene.relations import Point, Space, decided
from generator.vocabulary.schema import Vocabulary


@dataclass(frozen=True)
class SceneObject:
    """An object: its category, attribute values by kind, and pose.

    `position` is the point under its centre on which it stands, in metres, z up: of the ground (z = 0), or of the top of
    what carries it; `heading` turns it about the vertical,
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

    def graph(self, vocabulary: Vocabulary) -> nx.MultiDiGraph:
        """The scene graph: a node per object (`category`, `attributes`), an edge per relation and ordered pair.

        An edge has the key `relation`, `margin` (signed metres by which the first object stands in the relation to the
        second, see docs/vocabularies.md) and `holds` (True, False, or None where the margin does not decide).
        """
        graph = nx.MultiDiGraph()
        for index, thing in enumerate(self.objects):
            graph.add_node(index, category=thing.category, attributes=thing.attributes)
        space = Space(self, vocabulary)
        for i, j in permutations(range(len(self.objects)), 2):
            for name, relation in vocabulary.relations.items():
                margin = space.margin(relation, i, j)
                graph.add_edge(i, j, key=name, margin=margin, holds=decided(margin, relation))
        return graph


def _point(values: list[float]) -> Point:
    x, y, z = values
    return (x, y, z)
