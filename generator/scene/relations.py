"""Computes relations in space: signed margins between the objects of a scene (docs/vocabularies.md,
"Rules of space"), the scene graph, and the scene's row in scenes.parquet."""

import math
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import networkx as nx

from generator.dataset.relations import Pose
from generator.scene.planned import Job
from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary

Truth = bool | None
"""True, False, or None if undecided."""


def poses_of(scene: Scene, vocabulary: Vocabulary) -> list[Pose]:
    """The poses of a scene's objects, from which the rules of space compute margins."""
    ground = ground_directions(scene.camera)
    right, behind = ground["right"], ground["behind"]
    poses = []
    for obj in scene.objects:
        # An object without a flat top has one of no size, on which nothing can rest.
        top_height, top_radius = vocabulary.top(obj.category, obj.attributes) or (0.0, 0.0)
        facing = front_direction(obj, vocabulary)
        pose = Pose(
            right=along(right, obj.position),
            behind=along(behind, obj.position),
            foot=obj.position[2],
            top_height=top_height,
            top_radius=top_radius,
            facing_right=along(right, facing),
            facing_behind=along(behind, facing),
        )
        poses.append(pose)
    return poses


def front_direction(obj: SceneObject, vocabulary: Vocabulary) -> Point:
    """The unit vector on the ground, in world coordinates, to an object's front; 0 if its category
    has none.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> fox = SceneObject("fox", {}, (0.0, 0.0, 0.0), heading=0.0)
    >>> front_direction(fox, read_vocabulary("pug"))
    (1.0, 0.0, 0.0)
    """
    front = vocabulary.objects[obj.category].front
    if front is None:
        return (0.0, 0.0, 0.0)
    angle = obj.heading + math.radians(front)
    return (math.cos(angle), math.sin(angle), 0.0)


def decided(margin: float, relation: Relation) -> Truth:
    """Whether a relation holds, from its signed margin (metres); None if it is within the
    relation's own margin."""
    return None if abs(margin) < relation.margin else margin > 0


def ground_directions(camera: Camera) -> dict[str, tuple[float, float]]:
    """Unit vectors (x, y) on the ground for left, right, front and behind as the camera sees
    them."""
    x = camera.target[0] - camera.position[0]
    y = camera.target[1] - camera.position[1]
    length = math.sqrt(x * x + y * y)
    x, y = x / length, y / length
    return {"behind": (x, y), "front": (-x, -y), "right": (y, -x), "left": (-y, x)}


def along(direction: tuple[float, float], point: Point) -> float:
    """The coordinate of a point along a ground direction, metres."""
    return direction[0] * point[0] + direction[1] * point[1]


def scene_graph(scene: Scene, vocabulary: Vocabulary) -> nx.MultiDiGraph:
    """The graph of a scene: a node per object (`category`, `attributes`), an edge per relation and
    ordered pair.

    An edge has the key `relation`, `margin` (signed metres by which the first object stands in the
    relation to the second, see docs/vocabularies.md) and `holds` (True, False, or None if
    undecided).
    """
    graph = nx.MultiDiGraph()
    for index, obj in enumerate(scene.objects):
        graph.add_node(index, category=obj.category, attributes=obj.attributes)
    poses = poses_of(scene, vocabulary)
    for name, relation in vocabulary.pair_relations.items():
        distance = relation.distance or 0.0
        for i, j in permutations(range(len(poses)), 2):
            margin = relation.axis.margin(name, (poses[i], poses[j]), distance)
            holds = decided(margin, relation)
            graph.add_edge(i, j, key=name, margin=margin, holds=holds)
    return graph


def scene_row(
    job: Job,
    scene: Scene,
    boxes: Iterable[tuple[Sequence[int], float]],
    vocabulary: Vocabulary,
) -> dict[str, Any]:
    """A row of `generator.dataset.records.SCENES`; `WorldWriter` adds status and size.

    Args:
        job: the scene that was to be rendered.
        scene: the scene as it was placed.
        boxes: for each object its amodal box (left, top, right, bottom in pixels), and the fraction
            of it that is visible.
        vocabulary: of the world.
    """
    objects = []
    for obj, (box, visible_fraction) in zip(scene.objects, boxes, strict=True):
        row = {
            "category": obj.category,
            "attributes": obj.attributes,
            "amodal_box": list(box),
            "visible_fraction": visible_fraction,
        }
        objects.append(row)
    relations = []
    # An undecided relation is not listed, like one that does not hold.
    for i, j, name, holds in scene_graph(scene, vocabulary).edges(keys=True, data="holds"):
        if holds:
            relations.append({"subject": i, "relation": name, "object": j})
    return {
        "scene_id": job.scene_id,
        "cluster_id": job.cluster_id,
        "twin_of": job.twin_of,
        "objects": objects,
        "relations": relations,
        "scene": scene.to_json(),
    }
