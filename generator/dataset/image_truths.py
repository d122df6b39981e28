"""Makes the truth records of a dataset's images from its stored scenes.

Relations are decided again from the recorded poses by the rules of space, because the table of
scenes lists only those that hold: it does not tell a false relation from an undecided one.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generator.base.errors import UserError
from generator.base.files import parse_toml
from generator.dataset.descriptions.truth import Box, Holds, ImageTruth, TrueObject, Truth
from generator.dataset.descriptions.vocabulary import Vocabulary
from generator.dataset.reader import Benchmark, World
from generator.dataset.relations import AXES, Axis, Pose

_COLUMNS = ("scene_id", "cluster_id", "status", "objects", "scene")
"""The columns of scenes.parquet that are read."""


@dataclass(frozen=True)
class _Terms:
    """The numbers of a vocabulary that decide relations."""

    margins: dict[str, float]
    """By relation, metres within which it is undecided."""
    distances: dict[str, float]
    """By relation, its bound in metres; 0 without one."""
    tops: dict[str, tuple[float, float]]
    """By category, height and radius of its flat top, in units of its scale."""
    scales: dict[tuple[str, str], float]
    """By kind and value, the scale that it gives to its object, metres."""
    fronts: dict[str, float]
    """By category, the direction of its front in its mesh, radians; without those that have
    none."""

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> "_Terms":
        margins = {}
        distances = {}
        for name, declared in tables.get("relations", {}).items():
            margins[name] = float(declared["margin"])
            distances[name] = float(declared.get("distance", 0.0))
        tops = {}
        fronts = {}
        for category, declared in tables["objects"].items():
            if "front" in declared:
                fronts[category] = math.radians(declared["front"])
            if "top" in declared:
                size = float(declared.get("size", 1))
                top = declared["top"]
                tops[category] = (top["height"] * size, top["radius"] * size)
        scales = {}
        for kind, values in tables["attributes"].items():
            for value, declared in values.items():
                if "scale" in declared:
                    scales[kind, value] = float(declared["scale"])
        return cls(margins, distances, tops, scales, fronts)

    def top(self, category: str, attributes: Mapping[str, str]) -> tuple[float, float]:
        """The flat top of an object.

        Args:
            category: its category.
            attributes: its value of each attribute kind.

        Returns:
            Its height and its radius, metres; 0, 0 without one.
        """
        height, radius = self.tops.get(category, (0.0, 0.0))
        for pair in attributes.items():
            # One kind of a family sets the scale, such as size.
            if pair in self.scales:
                return height * self.scales[pair], radius * self.scales[pair]
        return 0.0, 0.0


def read_truths(
    world: World, benchmark: Benchmark | None = None, splits: Collection[str] | None = None
) -> Iterator[ImageTruth]:
    """Read the truth record of every image of a dataset.

    Args:
        world: the scenes.
        benchmark: gives splits and held-out bindings; None for none.
        splits: only the images of these splits of the benchmark; None for all images, also those
            in no split.

    Yields:
        A record for each image, in the order of the table of scenes.

    Raises:
        UserError: the vocabulary or a scene is damaged.
    """
    vocabulary, terms = _read_words(world.vocabulary_text)
    split_of: dict[str, str | None] = {}
    holdout: Mapping[str, Any] = {}
    if benchmark is not None:
        scene_ids = benchmark.splits["scene_id"].to_pylist()
        scene_splits = benchmark.splits["split"].to_pylist()
        split_of = dict(zip(scene_ids, scene_splits, strict=True))
        holdout = benchmark.holdout or {}
    held_out = frozenset((value, category) for value, category in holdout.get("bindings", ()))
    held_out_relations = frozenset(
        (subject, relation, target) for subject, relation, target in holdout.get("triples", ())
    )

    for batch in world.batches("scenes", _COLUMNS):
        for row in batch.to_pylist():
            split = split_of.get(row["scene_id"])
            # A failed scene has no image to describe.
            if row["status"] != "ok" or (splits is not None and split not in splits):
                continue
            objects = _read_objects(row["objects"])
            relations, environment = _read_scene(row, terms)
            yield ImageTruth(
                scene_id=row["scene_id"],
                cluster_id=row["cluster_id"],
                split=split,
                objects=objects,
                relations=relations,
                environment=environment,
                tested_kind=holdout.get("kind"),
                held_out=held_out,
                held_out_relations=held_out_relations,
                vocabulary=vocabulary,
            )


def _read_words(vocabulary_toml: str) -> tuple[Vocabulary, _Terms]:
    try:
        tables = parse_toml(vocabulary_toml)
        return Vocabulary.from_tables(tables), _Terms.from_tables(tables)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"The world's vocabulary.toml cannot be read ({error!r}); restore it or render again."
        ) from None


def _read_objects(rows: Sequence[Mapping[str, Any]]) -> tuple[TrueObject, ...]:
    objects = []
    for row in rows:
        left, top, right, bottom = row["amodal_box"]
        box: Box = (left, top, right, bottom)
        objects.append(TrueObject(row["category"], dict(row["attributes"]), box))
    return tuple(objects)


def _read_scene(row: Mapping[str, Any], terms: _Terms) -> tuple[dict[str, Holds], str | None]:
    """The relations and the place of a scene, from its record."""
    try:
        record = json.loads(row["scene"])
        poses = _poses_of(record, terms)
        environment = record.get("environment")
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise UserError(
            f"The world has a damaged scene {row['scene_id']} ({error!r}); restore its "
            f"scenes.parquet or make the world again."
        ) from None
    relations = {}
    for axis in AXES:
        # A family declares both relations of an axis or neither, so the first tells.
        if axis.arity == 2 and axis.rules[0] in terms.margins:
            relations[axis.rules[0]] = _decide_axis(axis, poses, terms)
    return relations, environment if isinstance(environment, str) else None


def _poses_of(record: Mapping[str, Any], terms: _Terms) -> list[Pose]:
    """Where the objects of a scene stand, as seen from its camera."""
    camera_x, camera_y, _ = record["camera"]["position"]
    target_x, target_y, _ = record["camera"]["target"]
    length = math.sqrt((target_x - camera_x) ** 2 + (target_y - camera_y) ** 2)
    # The ground direction in which the camera looks; "right" is a quarter turn clockwise.
    away_x, away_y = (target_x - camera_x) / length, (target_y - camera_y) / length
    poses = []
    for described in record["objects"]:
        x, y, foot = described["position"]
        height, radius = terms.top(described["category"], described["attributes"])
        front_x, front_y = 0.0, 0.0
        front = terms.fronts.get(described["category"])
        if front is not None:
            angle = described["heading"] + front
            front_x, front_y = math.cos(angle), math.sin(angle)
        poses.append(
            Pose(
                right=away_y * x - away_x * y,
                behind=away_x * x + away_y * y,
                foot=foot,
                top_height=height,
                top_radius=radius,
                facing_right=away_y * front_x - away_x * front_y,
                facing_behind=away_x * front_x + away_y * front_y,
            )
        )
    return poses


def _decide_axis(axis: Axis, poses: Sequence[Pose], terms: _Terms) -> Holds:
    """Whether the first relation of an axis holds of each pair of objects."""
    name = axis.rules[0]
    rows = []
    for i, subject in enumerate(poses):
        row: list[Truth] = []
        for j, target in enumerate(poses):
            if i == j:
                row.append(None)
                continue
            metres = axis.margin(name, (subject, target), terms.distances[name])
            is_undecided = abs(metres) < terms.margins[name]
            row.append(None if is_undecided else metres > 0)
        rows.append(tuple(row))
    return tuple(rows)
