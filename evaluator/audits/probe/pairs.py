"""Finds the questions on scenes of two objects, and for each question a text and a scene with one
factor changed."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.benchmarks.tables import rows_of
from evaluator.protocols.items import reported_splits
from generator.base.clusters import OF, SEPARATOR, Clusters
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World

ATTRIBUTE, OBJECT, BINDING = FACTORS = ("attribute", "object", "binding")
SAME = "same"
Pair = tuple[tuple[str, str], tuple[str, str]]
"""The value and the category of two objects, in the order of mention."""
Content = frozenset[tuple[str, str]]
_ANY = ""


@dataclass(frozen=True)
class Question:
    """An image of two objects and its caption. foil: the caption with the values exchanged."""

    item: str
    split: str
    cluster: str
    scene: str
    pair: Pair
    template: str
    caption: str
    foil: str


@dataclass(frozen=True)
class Pairs:
    """Questions, and their neighbours by factor, "" if there is none. texts: for each question, a
    text whose content differs only in the factor; for BINDING, the foil. scenes: a scene whose
    content differs only in the factor; for SAME, another scene with the same content. differ: for
    ATTRIBUTE and OBJECT, (name in the question's text, name in the other text) where the two
    differ."""

    questions: Sequence[Question]
    texts: dict[str, list[str]]
    scenes: dict[str, list[str]]
    differ: dict[str, list[tuple[str, str]]]

    def clusters(self, rows: np.ndarray) -> Clusters:
        """The clusters, bindings and scenes of the questions in these rows."""
        some = [self.questions[row] for row in rows]
        shown = [
            SEPARATOR.join(sorted(f"{value}{OF}{category}" for value, category in each.pair))
            for each in some
        ]
        return Clusters.of([each.cluster for each in some], shown, [each.scene for each in some])


def find_pairs(world: World, benchmark: Benchmark, seed: int) -> Pairs:
    """Find the binary questions that exchange the values of a scene's two objects. Neighbours are
    drawn by seed from the same split, or from any split if it has none. Raises UserError if there
    is no such question."""
    questions = list(_questions(world, benchmark))
    if not questions:
        raise UserError(
            f"{benchmark.name} has no binary question on a scene of two objects with different "
            f"values and categories; give a dataset of two objects (`gen render`)."
        )
    said: dict[tuple[str, Pair], list[tuple[str, str]]] = defaultdict(list)
    shown: dict[tuple[str, Content], list[str]] = defaultdict(list)
    for each in questions:
        for split in (each.split, _ANY):
            said[split, each.pair].append((each.template, each.caption))
            said[split, exchanged(each.pair)].append((each.template, each.foil))
            shown[split, frozenset(each.pair)].append(each.scene)
    names = [names_of([each.pair for each in questions], part) for part in (0, 1)]
    changes: dict[str, Callable[[Pair], list[Pair]]] = {
        SAME: lambda pair: [pair],
        ATTRIBUTE: lambda pair: _changes(pair, 0, names[0]),
        OBJECT: lambda pair: _changes(pair, 1, names[1]),
        BINDING: lambda pair: [exchanged(pair)],
    }
    texts = {BINDING: [each.foil for each in questions]}
    differ: dict[str, list[tuple[str, str]]] = {}
    for part, factor in enumerate((ATTRIBUTE, OBJECT)):
        told = [_other_text(each, changes[factor](each.pair), said, seed) for each in questions]
        texts[factor] = [text for text, _ in told]
        differ[factor] = [
            next(
                ((a[part], b[part]) for a, b in zip(each.pair, pair, strict=True) if a != b),
                ("", ""),
            )
            for each, (_, pair) in zip(questions, told, strict=True)
        ]
    scenes = {
        factor: [_other_scene(each, of(each.pair), shown, f"{seed} {factor}") for each in questions]
        for factor, of in changes.items()
    }
    return Pairs(questions, texts, scenes, differ)


def _other_text(
    question: Question,
    pairs: Sequence[Pair],
    said: Mapping[tuple[str, Pair], list[tuple[str, str]]],
    seed: int,
) -> tuple[str, Pair]:
    """A text of one of these pairs, if possible in the question's template, and its pair; else ""
    and the question's pair."""
    for split in (question.split, _ANY):
        if there := [pair for pair in pairs if (split, pair) in said]:
            pair = Stream(seed, "other text", question.item).sample(there, 1)[0]
            texts = said[split, pair]
            return next(
                (text for template, text in texts if template == question.template), texts[0][1]
            ), pair
    return "", question.pair


def _other_scene(
    question: Question,
    pairs: Sequence[Pair],
    shown: Mapping[tuple[str, Content], list[str]],
    seed: str,
) -> str:
    """Another scene that shows one of these pairs; "" if there is none."""
    for split in (question.split, _ANY):
        there = sorted(
            {scene for pair in pairs for scene in shown.get((split, frozenset(pair)), ())}
            - {question.scene}
        )
        if there:
            return Stream(0, "other scene", seed, question.item).sample(there, 1)[0]
    return ""


def names_of(pairs: Sequence[Pair], part: int) -> list[str]:
    """The distinct values (part 0) or categories (part 1) of pairs, sorted."""
    return sorted({each[part] for pair in pairs for each in pair})


def exchanged(pair: Pair) -> Pair:
    """
    >>> exchanged((("red", "cube"), ("blue", "ball")))
    (('blue', 'cube'), ('red', 'ball'))
    """
    (value, category), (other, second) = pair
    return (other, category), (value, second)


def _questions(world: World, benchmark: Benchmark) -> Iterator[Question]:
    """The binary questions that exchange values, on scenes of two objects, in the splits that are
    reported."""
    of_two = {
        scene
        for scene, objects in rows_of(world.scenes, "scene_id", "objects")
        if len(objects) == 2
    }
    told = {text: rest for text, *rest in rows_of(benchmark.texts, "text_id", "form", "template")}
    items = benchmark.items_of("binary")
    splits = reported_splits(items["split"].to_pylist())
    true: dict[str, tuple[str, str]] = {}
    false: dict[str, str] = {}
    names = ("item_id", "scene_id", "text_id", "slot", "kind")
    for item, scene, text, slot, kind in rows_of(benchmark.candidates, *names):
        if slot == "c":
            true[item] = (scene, text)
        elif kind == "swap":
            false[item] = text
    for item, split, cluster in rows_of(items, "item_id", "split", "cluster_id"):
        scene, text = true.get(item, ("", ""))
        if item not in false or split not in splits or scene not in of_two:
            continue
        pair, foil = _pair(told[text][0]), _pair(told[false[item]][0])
        if (
            pair is not None
            and foil == exchanged(pair)
            and foil != pair
            and len({category for _, category in pair}) == 2
        ):
            said = (benchmark.text_of[each] for each in (text, false[item]))
            yield Question(item, split, cluster, scene, pair, told[text][1] or "", *said)


def _pair(form: str | None) -> Pair | None:
    """The value and category of the two objects that a text names; None if it says anything
    else."""
    read = json.loads(form or "{}")
    objects = read.pop("objects", [])
    if (
        read
        or len(objects) != 2
        or any(each.keys() != {"category", "attributes"} for each in objects)
    ):
        return None
    if any(len(each["attributes"]) != 1 for each in objects):
        return None
    first, second = ((*each["attributes"].values(), each["category"]) for each in objects)
    return first, second


def _changes(pair: Pair, part: int, names: Sequence[str]) -> list[Pair]:
    """The pairs in which one object gets a value (part 0) or category (part 1) that neither object
    has."""
    found: list[Pair] = []
    for name in names:
        if name in (pair[0][part], pair[1][part]):
            continue
        for place in (0, 1):
            value, category = pair[place]
            new = (name, category) if part == 0 else (value, name)
            found.append((new, pair[1]) if place == 0 else (pair[0], new))
    return found
