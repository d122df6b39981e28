"""Cuts a thumbnail of every value on every category out of a world's images, for the sheet and the
page of `gen preview`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from generator.dataset.reader import World
from generator.holdout.holdout import Binding, Holdout
from generator.vocabulary.relations import GROUND, GROUND_AGAIN
from generator.vocabulary.schema import parse_vocabulary

THUMBNAIL_SIDE = 112
"""Width and height of a thumbnail, pixels."""
_MARGIN = 0.12
"""Width of the margin around an object, as a share of its box."""


@dataclass(frozen=True)
class Combination:
    """A value on a category."""

    value: str
    """The value of the tested kind."""
    category: str
    """The category of the object."""
    is_held_out: bool
    """Whether training never shows it."""
    thumbnail: Image.Image | None
    """The object, cut out of the image that shows it largest; None if no image shows it."""


@dataclass(frozen=True)
class CombinationGrid:
    """All values of the tested kind, on all categories."""

    kind: str
    """The tested kind of attribute."""
    category_word: str
    """The vocabulary's word for categories."""
    categories: list[str]
    """The columns."""
    rows: dict[str, list[Combination]]
    """The combinations of each value, in the order of the columns."""
    title: str
    """What rows and columns are."""


@dataclass(frozen=True)
class _ShownObject:
    """An object in an image."""

    scene_id: str
    """The scene of the image."""
    box: tuple[int, int, int, int]
    """Left, top, right, bottom; pixels."""
    visible_area: float
    """Pixels."""


def combination_grid(world: World, holdout_data: Mapping[str, Any]) -> CombinationGrid:
    """The grid of values and categories of a world.

    Args:
        world: The world.
        holdout_data: Contents of the holdout.json of one of its benchmarks.
    """
    holdout = Holdout.from_dict(holdout_data)
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    largest = _largest_objects(world, holdout.kind)
    rows: dict[str, list[Combination]] = {}
    for value in vocabulary.values(holdout.kind):
        rows[value] = []
        for category in vocabulary.objects:
            binding = (value, category)
            # Training shows an absent name with nothing at all.
            is_held_out = holdout.holds_out(*binding) or holdout.absent(*binding)
            thumbnail = _cut_out(world, largest.get(binding))
            rows[value].append(Combination(value, category, is_held_out, thumbnail))
    title = f"{holdout.kind} x {holdout.category}"
    return CombinationGrid(holdout.kind, holdout.category, list(vocabulary.objects), rows, title)


def relation_grids(world: World, holdout_data: Mapping[str, Any]) -> list[CombinationGrid]:
    """A grid of first object × second object for each relation with held-out triples.

    Rows and columns are the categories that any held-out triple names. Arguments as of
    `combination_grid`.
    """
    holdout = Holdout.from_dict(holdout_data)
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    named: set[str] = set()
    relations: dict[str, None] = {}
    for first, relation, second in holdout.triples:
        named |= {first, second}
        relations[relation] = None
    categories = [category for category in vocabulary.objects if category in named]
    grids = []
    for relation in relations:
        largest = _largest_pairs(world, relation)
        rows: dict[str, list[Combination]] = {}
        for first in categories:
            rows[first] = []
            for second in categories:
                is_held_out = holdout.holds_out_triple(first, relation, second)
                thumbnail = _cut_out(world, largest.get((first, second)))
                rows[first].append(Combination(first, second, is_held_out, thumbnail))
        phrase = vocabulary.relations[relation].phrase
        title = f"row {phrase.replace(GROUND, 'column').replace(GROUND_AGAIN, 'the column')}"
        if GROUND not in phrase:
            title += " column"
        grids.append(CombinationGrid(relation, holdout.category, categories, rows, title))
    return grids


def _largest_objects(world: World, kind: str) -> dict[Binding, _ShownObject]:
    """For each combination, the object with the largest visible area; on ties, the object of the
    first scene."""
    largest: dict[Binding, _ShownObject] = {}
    for batch in world.batches("scenes", ("scene_id", "status", "objects")):
        for row in batch.to_pylist():
            if row["status"] != "ok":
                continue
            for listed in row["objects"]:
                binding = (dict(listed["attributes"])[kind], listed["category"])
                area = _visible_area(listed)
                if binding not in largest or area > largest[binding].visible_area:
                    left, top, right, bottom = listed["amodal_box"]
                    box = (left, top, right, bottom)
                    largest[binding] = _ShownObject(row["scene_id"], box, area)
    return largest


def _visible_area(listed: Mapping[str, Any]) -> float:
    """The visible area of an object of scenes.parquet, pixels: that of its box, less what is
    hidden."""
    left, top, right, bottom = listed["amodal_box"]
    return float((right - left) * (bottom - top) * listed["visible_fraction"])


def _box_around(first: Sequence[int], second: Sequence[int]) -> tuple[int, int, int, int]:
    """The smallest box that holds two boxes."""
    lefts, tops, rights, bottoms = zip(first, second, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _largest_pairs(world: World, relation: str) -> dict[tuple[str, str], _ShownObject]:
    """For each pair of categories, where the first stands in the relation to the second and the
    smaller of both has the largest visible area; the box is around both."""
    largest: dict[tuple[str, str], _ShownObject] = {}
    for batch in world.batches("scenes", ("scene_id", "status", "objects", "relations")):
        for row in batch.to_pylist():
            if row["status"] != "ok":
                continue
            for fact in row["relations"]:
                if fact["relation"] != relation:
                    continue
                subject = row["objects"][fact["subject"]]
                other = row["objects"][fact["object"]]
                pair = (subject["category"], other["category"])
                area = min(_visible_area(subject), _visible_area(other))
                if pair not in largest or area > largest[pair].visible_area:
                    box = _box_around(subject["amodal_box"], other["amodal_box"])
                    largest[pair] = _ShownObject(row["scene_id"], box, area)
    return largest


def _cut_out(world: World, shown_object: _ShownObject | None) -> Image.Image | None:
    """The square around an object, with a margin, moved into the image at its edges."""
    if shown_object is None:
        return None
    image = world.image(shown_object.scene_id)
    left, top, right, bottom = shown_object.box
    side_with_margin = max(right - left, bottom - top) * (1 + 2 * _MARGIN)
    side = min(side_with_margin, *image.size)
    centred_x = (left + right - side) / 2
    centred_y = (top + bottom - side) / 2
    x = min(max(centred_x, 0), image.width - side)
    y = min(max(centred_y, 0), image.height - side)
    square = (x, y, x + side, y + side)
    size = (THUMBNAIL_SIDE, THUMBNAIL_SIDE)
    return image.resize(size, Image.Resampling.LANCZOS, square)
