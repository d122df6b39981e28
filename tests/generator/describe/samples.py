"""Items of every protocol over random scenes, for tests of protocols."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Item
from generator.describe.protocol import Protocol
from generator.describe.protocols import find_protocol, protocol_names
from generator.describe.scenes import DescribedScene
from generator.describe.statistics import parse_statistics
from generator.describe.training import TrainingTexts
from generator.language.complexity import LEVELS, list_cells
from generator.language.form import Form, Link
from generator.scene.scene import Scene
from tests.generator.scenes import CATEGORIES, VOCABULARY, captioner, described, random_scene

CELLS = list_cells(tuple(LEVELS), (1, 12), {}, vocabulary=VOCABULARY, most_objects=10)
WITHOUT_ITEMS = ("retrieval", "pairs", "frames", "views", "steps")
"""Protocols that need worlds of their own: scenes of two objects, twins, ladders."""


class Sample(NamedTuple):
    """An item and the scene that it is about."""

    scene: Scene
    described: DescribedScene
    item: Item


def every_protocol(**language: object) -> list[Protocol]:
    """Every protocol that random scenes can have items of, with all its kinds, and the training
    texts."""
    spoken = captioner(**language)
    protocol_classes = [
        find_protocol(name) for name in protocol_names() if name not in WITHOUT_ITEMS
    ]
    statistics = parse_statistics("density=0.4,completeness=0.7,saliency=1")
    evaluated = [
        protocol_class(spoken, **({"cells": CELLS} if protocol_class.graded else {}))
        for protocol_class in protocol_classes
    ]
    return [*evaluated, TrainingTexts(spoken, CELLS, statistics=statistics)]


def scenes(n: int, seed: int, least: int = 2, most: int = 9) -> Iterator[tuple[int, Scene]]:
    """Random scenes. A third of them has few categories, so that objects repeat."""
    draw = random.Random(seed)
    for number in range(n):
        yield number, random_scene(draw, least, most, CATEGORIES[:5] if number % 3 == 0 else None)


def samples(
    protocols: Sequence[Protocol],
    n: int,
    seed: int = 0,
    least: int = 2,
    most: int = 9,
    split: str = "seen",
) -> Iterator[Sample]:
    """The items of protocols over `n` random scenes of a split."""
    for survey in (True, False):
        for number, scene in scenes(n, seed, least, most):
            described_scene = described(scene, split, f"{number:06d}")
            described_scene.salience = tuple(random.Random(number).random() for _ in scene.objects)
            for protocol in protocols:
                stream = Stream("texts", seed, protocol.name, number)
                if survey:
                    protocol.survey(described_scene, stream)
                    continue
                for item in protocol.items(described_scene, stream):
                    assert item.kind in protocol.kinds
                    yield Sample(scene, described_scene, item)
    by_id = {f"{number:06d}": scene for number, scene in scenes(n, seed, least, most)}
    for protocol in protocols:
        for described_scene, item in protocol.pooled_items():
            yield Sample(by_id[described_scene.scene_id], described_scene, item)


def asked(protocol: Protocol, *scenes: int, **more: Any) -> Iterator[tuple[DescribedScene, Item]]:
    """As samples, of one protocol; each item with its scene."""
    return ((sample.described, sample.item) for sample in samples([protocol], *scenes, **more))


def items_of(samples_: Sequence[Sample], protocol: str, kind: str | None = None) -> list[Item]:
    """The items of one protocol, or of one of its kinds."""
    return [
        sample.item
        for sample in samples_
        if sample.item.protocol == protocol and kind in (None, sample.item.kind)
    ]


def by_slot(item: Item, slot: str, truth: bool | None = None) -> list[Candidate]:
    """The candidates of an item in one slot."""
    return [c for c in item.candidates if c.slot == slot and truth in (None, c.truth)]


def caption_of(item: Item) -> Form:
    """What the caption of an item says."""
    return by_slot(item, "c")[0].text.form


def change_of(foil: Candidate) -> tuple[str, str, str, str]:
    """What was changed in a foil, or the first of it: where, of what kind, from what, to what."""
    place, kind, values = foil.changed[0].split(":")
    old, new = values.split(">")
    return place, kind, old, new


def triple(form: Form, link: Link) -> tuple[str | None, str, str | None]:
    """A relation of a form, by the categories of its ends."""
    return form.objects[link.subject].category, link.relation, form.objects[link.object].category


def sizes(samples_: Sequence[Sample], protocol: str) -> dict[str, set[int]]:
    """The numbers of foils (slot n) of a protocol's items, by kind."""
    numbers: dict[str, set[int]] = {}
    for item in items_of(samples_, protocol):
        foils = by_slot(item, "n", False)
        assert len({foil.text.form for foil in foils}) == len(foils) or protocol in (
            "integration",
            "train",
        )
        numbers.setdefault(item.kind, set()).add(len(foils))
    return numbers
