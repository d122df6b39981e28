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
"""What may change: the value of an object, its category, or which object has which value."""
SAME = "same"
"""No change: another scene of the same content."""
Pair = tuple[tuple[str, str], tuple[str, str]]
"""The value and the category of two objects, in the order of mention."""
Content = frozenset[tuple[str, str]]
"""The values and the categories of two objects, in no order."""
_ANY_SPLIT = ""
"""Stands for all splits among the keys of texts and scenes."""


@dataclass(frozen=True, kw_only=True)
class ProbeQuestion:
    """An image of two objects, its caption and its foil."""

    item: str
    """The id of the item."""
    split: str
    """The split of the item."""
    cluster: str
    """The cluster of the item."""
    scene: str
    """The image."""
    pair: Pair
    """What the caption says."""
    template: str
    """The template of the caption; "" if it is not known."""
    caption: str
    """The true text."""
    foil: str
    """The caption with the values exchanged."""


@dataclass(frozen=True, kw_only=True)
class ProbePairs:
    """Questions, and their neighbours by factor, "" if there is none."""

    questions: Sequence[ProbeQuestion]
    """The questions."""
    texts: dict[str, list[str]]
    """{factor: for each question, a text whose content differs only in the factor}; for BINDING,
    the foil."""
    scenes: dict[str, list[str]]
    """{factor: for each question, a scene whose content differs only in the factor}; for SAME,
    another scene with the same content."""
    differing_names: dict[str, list[tuple[str, str]]]
    """For ATTRIBUTE and OBJECT: for each question, (name in its text, name in the other text) where
    the two differ."""

    def clusters(self, rows: np.ndarray) -> Clusters:
        """Collect what questions share.

        Args:
            rows: The rows of the questions.

        Returns:
            Their clusters, bindings and scenes.
        """
        questions = [self.questions[row] for row in rows]
        bindings = []
        for question in questions:
            names = sorted(f"{value}{OF}{category}" for value, category in question.pair)
            bindings.append(SEPARATOR.join(names))
        return Clusters.from_names(
            [question.cluster for question in questions],
            bindings,
            [question.scene for question in questions],
        )


_Texts = Mapping[tuple[str, Pair], list[tuple[str, str]]]
"""{(split, what it says): the (template, text) of each text}."""
_Scenes = Mapping[tuple[str, Content], list[str]]
"""{(split, content): the scenes of this content}."""


def find_pairs(world: World, benchmark: Benchmark, seed: int) -> ProbePairs:
    """Find the binary questions that exchange the values of a scene's two objects.

    Args:
        world: The world of the images.
        benchmark: The benchmark.
        seed: The seed of the neighbours, which are drawn from the same split, or from any split if
            it has none.

    Returns:
        The questions with their neighbours.

    Raises:
        UserError: There is no such question.
    """
    questions = list(_questions(world, benchmark))
    if not questions:
        raise UserError(
            f"{benchmark.name} has no binary question on a scene of two objects with different "
            f"values and categories; give a dataset of two objects (`gen render`)."
        )

    # Each text and scene is found by its split, and by none.
    texts_of: dict[tuple[str, Pair], list[tuple[str, str]]] = defaultdict(list)
    scenes_of: dict[tuple[str, Content], list[str]] = defaultdict(list)
    for question in questions:
        exchanged = exchange_values(question.pair)
        for split in (question.split, _ANY_SPLIT):
            texts_of[split, question.pair].append((question.template, question.caption))
            texts_of[split, exchanged].append((question.template, question.foil))
            scenes_of[split, frozenset(question.pair)].append(question.scene)

    # How each factor changes a pair. A change of a value has several outcomes, one of which is
    # drawn.
    all_pairs = [question.pair for question in questions]
    values = names_of(all_pairs, 0)
    categories = names_of(all_pairs, 1)
    changes: dict[str, Callable[[Pair], list[Pair]]] = {
        SAME: lambda pair: [pair],
        ATTRIBUTE: lambda pair: _change_name(pair, 0, values),
        OBJECT: lambda pair: _change_name(pair, 1, categories),
        BINDING: lambda pair: [exchange_values(pair)],
    }
    texts = {BINDING: [question.foil for question in questions]}
    differing: dict[str, list[tuple[str, str]]] = {}
    for part, factor in enumerate((ATTRIBUTE, OBJECT)):
        texts[factor] = []
        differing[factor] = []
        for question in questions:
            pairs = changes[factor](question.pair)
            text, pair = _choose_text(question, pairs, texts_of=texts_of, seed=seed)
            texts[factor].append(text)
            differing[factor].append(_differing_names(question.pair, pair, part))
    scenes: dict[str, list[str]] = {}
    for factor, change in changes.items():
        scenes[factor] = []
        for question in questions:
            scene = _choose_scene(
                question, change(question.pair), scenes_of=scenes_of, seed=f"{seed} {factor}"
            )
            scenes[factor].append(scene)
    return ProbePairs(questions=questions, texts=texts, scenes=scenes, differing_names=differing)


def _choose_text(
    question: ProbeQuestion, pairs: Sequence[Pair], *, texts_of: _Texts, seed: int
) -> tuple[str, Pair]:
    """A text of one of these pairs, if possible in the question's template, and its pair; else ""
    and the question's pair."""
    # Of the question's own split if possible, so that familiarity does not change too.
    for split in (question.split, _ANY_SPLIT):
        available = [pair for pair in pairs if (split, pair) in texts_of]
        if not available:
            continue
        (pair,) = Stream(seed, "other text", question.item).sample(available, 1)
        texts = texts_of[split, pair]
        for template, text in texts:
            if template == question.template:
                return text, pair
        return texts[0][1], pair
    return "", question.pair


def _differing_names(pair: Pair, other: Pair, part: int) -> tuple[str, str]:
    """The values (part 0) or categories (part 1) of the first object in which two pairs differ; two
    empty names if they are equal."""
    for object_, changed in zip(pair, other, strict=True):
        if object_ != changed:
            return object_[part], changed[part]
    return "", ""


def _choose_scene(
    question: ProbeQuestion, pairs: Sequence[Pair], *, scenes_of: _Scenes, seed: str
) -> str:
    """Another scene that shows one of these pairs; "" if there is none."""
    for split in (question.split, _ANY_SPLIT):
        scenes: set[str] = set()
        for pair in pairs:
            scenes.update(scenes_of.get((split, frozenset(pair)), ()))
        available = sorted(scenes - {question.scene})
        if available:
            (scene,) = Stream(0, "other scene", seed, question.item).sample(available, 1)
            return scene
    return ""


def names_of(pairs: Sequence[Pair], part: int) -> list[str]:
    """List the values or categories of pairs.

    Args:
        pairs: The pairs.
        part: 0 for values, 1 for categories.

    Returns:
        The distinct names, sorted.

    Example:
        >>> names_of([(("red", "cube"), ("blue", "ball"))], 0)
        ['blue', 'red']
    """
    return sorted({object_[part] for pair in pairs for object_ in pair})


def exchange_values(pair: Pair) -> Pair:
    """Exchange the values of the two objects of a pair.

    Args:
        pair: The pair.

    Returns:
        The other pair.

    Example:
        >>> exchange_values((("red", "cube"), ("blue", "ball")))
        (('blue', 'cube'), ('red', 'ball'))
    """
    (value, category), (other_value, other_category) = pair
    return (other_value, category), (value, other_category)


def _questions(world: World, benchmark: Benchmark) -> Iterator[ProbeQuestion]:
    """The binary questions that exchange values, on scenes of two objects, in the splits that are
    reported."""
    # What the benchmark says of scenes, texts and items, by their ids.
    scenes_of_two = set()
    for scene, objects in rows_of(world.scenes, "scene_id", "objects"):
        if len(objects) == 2:
            scenes_of_two.add(scene)
    form_of: dict[str, str | None] = {}
    template_of: dict[str, str | None] = {}
    for text, form, template in rows_of(benchmark.texts, "text_id", "form", "template"):
        form_of[text] = form
        template_of[text] = template
    items = benchmark.items_of("binary")
    splits = reported_splits(items["split"].to_pylist())
    captions: dict[str, tuple[str, str]] = {}
    foils: dict[str, str] = {}
    columns = ("item_id", "scene_id", "text_id", "slot", "kind")
    for item, scene, text, slot, kind in rows_of(benchmark.candidates, *columns):
        if slot == "c":
            captions[item] = (scene, text)
        elif kind == "swap":
            foils[item] = text
    # The items whose foil is the caption with exchanged values.
    for item, split, cluster in rows_of(items, "item_id", "split", "cluster_id"):
        scene, text = captions.get(item, ("", ""))
        if item not in foils or split not in splits or scene not in scenes_of_two:
            continue
        pair = _read_pair(form_of[text])
        foil_pair = _read_pair(form_of[foils[item]])
        if pair is None or foil_pair != exchange_values(pair):
            continue
        # Objects of one value or of one category: the exchange says the same, or cannot be seen.
        if foil_pair == pair or len({category for _, category in pair}) < 2:
            continue
        yield ProbeQuestion(
            item=item,
            split=split,
            cluster=cluster,
            scene=scene,
            pair=pair,
            template=template_of[text] or "",
            caption=benchmark.text_of[text],
            foil=benchmark.text_of[foils[item]],
        )


def _read_pair(form: str | None) -> Pair | None:
    """The value and category of the two objects that a text names; None if it says anything
    else."""
    content = json.loads(form or "{}")
    objects = content.pop("objects", [])
    if content or len(objects) != 2:
        return None
    pair = []
    for object_ in objects:
        if object_.keys() != {"category", "attributes"} or len(object_["attributes"]) != 1:
            return None
        (value,) = object_["attributes"].values()
        pair.append((value, object_["category"]))
    return pair[0], pair[1]


def _change_name(pair: Pair, part: int, names: Sequence[str]) -> list[Pair]:
    """The pairs in which one object gets a value (part 0) or category (part 1) that neither object
    has."""
    first, second = pair
    changed: list[Pair] = []
    for name in names:
        if name in (first[part], second[part]):
            continue
        changed.append((_rename(first, part, name), second))
        changed.append((first, _rename(second, part, name)))
    return changed


def _rename(object_: tuple[str, str], part: int, name: str) -> tuple[str, str]:
    value, category = object_
    return (name, category) if part == 0 else (value, name)
