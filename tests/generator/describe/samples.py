"""Items of every protocol over random scenes, for tests of protocols."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Item
from generator.describe.protocol import Protocol
from generator.describe.protocols.registry import find_protocol, protocol_names
from generator.describe.scenes import DescribedScene
from generator.describe.statistics import parse_statistics
from generator.describe.training import TrainingTexts
from generator.language.complexity import LEVELS, cells
from generator.language.form import Form, Link
from generator.scene.scene import Scene
from tests.generator.scenes import CATEGORIES, VOCABULARY, captioner, described, random_scene

CELLS = cells(tuple(LEVELS), (1, 12), {}, VOCABULARY, 10)
WITHOUT_ITEMS = ("retrieval", "pairs")
"""Protocols that need worlds of their own: scenes of two objects, twins."""


class Sample(NamedTuple):
    """An item and the scene that it is about."""

    scene: Scene
    described: DescribedScene
    item: Item


def make(captioner: Captioner, name: str) -> Protocol:
    """A protocol of the registry with all its kinds."""
    found = find_protocol(name)
    return found(captioner, **({"cells": CELLS} if found.graded else {}))


def all_protocols(captioner: Captioner) -> list[Protocol]:
    """Every protocol that random scenes can have items of, and the training texts."""
    evaluated = [make(captioner, name) for name in protocol_names() if name not in WITHOUT_ITEMS]
    statistics = parse_statistics("density=0.4,completeness=0.7,saliency=1")
    return [*evaluated, TrainingTexts(captioner, CELLS, statistics=statistics)]


def scenes(n: int, seed: int, least: int = 2, most: int = 9) -> Iterator[tuple[int, Scene]]:
    """Random scenes. A third of them has few categories, so that objects repeat."""
    draw = random.Random(seed)
    for number in range(n):
        yield number, random_scene(draw, least, most, CATEGORIES[:5] if number % 3 == 0 else None)


def samples(
    n: int, seed: int = 0, equal_familiarity: bool = False, least: int = 2, names: Sequence[str] | None = None
) -> Iterator[Sample]:
    """The items of protocols (all, or those named) over `n` random scenes."""
    language = captioner(equal_familiarity=equal_familiarity)
    protocols = all_protocols(language) if names is None else [make(language, name) for name in names]
    for survey in (True, False):
        for number, scene in scenes(n, seed, least):
            shown = described(scene, scene_id=f"{number:06d}")
            shown.salience = tuple(float(i) for i in range(len(scene.objects)))
            for protocol in protocols:
                stream = Stream("texts", seed, protocol.name, number)
                if survey:
                    protocol.survey(shown, stream)
                    continue
                for item in protocol.items(shown, stream):
                    assert item.kind in protocol.kinds
                    yield Sample(scene, shown, item)


def asked(
    protocol: Protocol, n: int, seed: int, least: int = 2, most: int = 9, split: str = "seen"
) -> Iterator[tuple[DescribedScene, Item]]:
    """The items of a protocol over `n` random scenes of a split, each with its scene."""
    for survey in (True, False):
        for number, scene in scenes(n, seed, least, most):
            shown = described(scene, split, f"{number:06d}")
            shown.salience = tuple(random.Random(number).random() for _ in scene.objects)
            if survey:
                protocol.survey(shown, Stream("texts", number))
            else:
                yield from ((shown, item) for item in protocol.items(shown, Stream("texts", number)))


def items_of(found: Sequence[Sample], protocol: str, kind: str | None = None) -> list[Item]:
    """The items of one protocol, or of one of its kinds."""
    return [each.item for each in found if each.item.protocol == protocol and kind in (None, each.item.kind)]


def by_slot(item: Item, slot: str, truth: bool | None = None) -> list[Candidate]:
    """The candidates of an item in one slot."""
    return [c for c in item.candidates if c.slot == slot and truth in (None, c.truth)]


def triple(form: Form, link: Link) -> tuple[str | None, str, str | None]:
    """A relation of a form, by the categories of its ends."""
    return form.objects[link.subject].category, link.relation, form.objects[link.object].category


def sizes(found: Sequence[Sample], protocol: str) -> dict[str, set[int]]:
    """The numbers of foils (slot n) of a protocol's items, by kind."""
    numbers: dict[str, set[int]] = {}
    for item in items_of(found, protocol):
        foils = by_slot(item, "n", False)
        assert len({foil.text.form for foil in foils}) == len(foils) or protocol in ("integration", "train")
        numbers.setdefault(item.kind, set()).add(len(foils))
    return numbers
