"""Class lists of (generalised) zero-shot classification: labels that train, validate and test
(Pearson et al. 2025)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.relations import converse_of
from generator.holdout.holdout import Binding, Class, Holdout, check_fits, closed
from generator.holdout.membership import (
    Arrangement,
    Fact,
    Placing,
    held_out_bindings,
    held_out_facts,
    named,
)
from generator.holdout.presets import read_preset
from generator.holdout.syntax import check_kind
from generator.vocabulary.schema import Vocabulary

TASKS = ("single", "two-object", "relational")
"""The published datasets."""
THREE_OBJECTS = "objects=3"
"""The value of `--holdout` that adds the dataset `three-object` to drawn class lists."""
OBJECTS = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}
"""Number of objects in each scene, by dataset."""
LISTS = ("train", "ood_val", "ood_test")
SPLITS = ("train", "id_val", "id_test", "ood_val", "ood_test")
_OF_TWO = {"train": 40, "id_val": 10, "id_test": 10, "ood_val": 50, "ood_test": 50}
PER_LABEL = {
    "single": {name: 2 * n for name, n in _OF_TWO.items()},
    **dict.fromkeys(("two-object", "relational", "three-object"), _OF_TWO),
}
"""Images per label, as published (section 3, table 1). For `three-object`, images per label of two
objects."""
_RELATIONS = ("left", "right")
"""The relations of the relational dataset, as published (section 3)."""
_SPEC = re.compile(
    r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?classes(?:=(?P<train>\d+)/(?P<val>\d+)/(?P<test>\d+))?"
)
_SHARES = (17, 4, 11)
_RELATED = (6, 2, 4)
_DISTRACTORS = 2


def draw_classes(asked: Sequence[str], vocabulary: Vocabulary, block_seed: int) -> list[Holdout]:
    """Class lists for the three datasets, drawn by seed: every value and every object is in a
    training label.

    With `objects=3` in `asked`, a fourth dataset has scenes of three objects and the class lists of
    bindings.

    Labels are objects with values of the tested kind, or of a requested kind as in
    `texture:animal=classes`. No two labels of `ood_val` share a value or an object, so any two of
    them can make a scene. Raises UserError if the vocabulary is too small, or if the numbers of
    classes are impossible.
    """
    lists_asked = [spec for spec in asked if spec != THREE_OBJECTS] or ["classes"]
    tasks = (*TASKS, "three-object") if THREE_OBJECTS in asked else TASKS
    asked = [*lists_asked, THREE_OBJECTS] if THREE_OBJECTS in asked else lists_asked
    match = _SPEC.fullmatch(asked[0]) if len(lists_asked) == 1 else None
    if not match:
        raise UserError(
            f"Expected --holdout of the design gzsl to be classes, a preset with class lists, "
            f"classes=17/4/11 (train/ood_val/ood_test), or texture:animal=classes, with "
            f"{THREE_OBJECTS} beside drawn lists, got '{' '.join(asked)}'."
        )
    kind = check_kind(match[0], match["kind"], match["category"], vocabulary)
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    # a scene has one label of ood_val per object, and two more labels are its distractors
    least = max(OBJECTS[task] for task in tasks) + _DISTRACTORS
    if min(len(values), len(objects)) < least:
        raise UserError(
            f"The design gzsl needs at least {least} values of {kind} and {least} objects"
            f"{f' with {THREE_OBJECTS}' * (least > 4)}; '{vocabulary.name}' has {len(values)} and "
            f"{len(objects)}."
        )
    total = len(values) * len(objects)
    sizes = _sizes(
        asked[0],
        match,
        total,
        least,
        min(len(values), len(objects)),
        max(len(values), len(objects)),
    )
    stream = Stream("classes", block_seed, kind, *sizes)
    lists = _share_out(values, objects, sizes, stream)
    bound = [Class(name, binding) for name in LISTS for binding in sorted(lists[name])]
    related = _related(objects, vocabulary, Stream("related classes", block_seed))
    return _holdouts(bound, related, vocabulary, kind, tasks, asked, block_seed)


def published_classes(name: str, vocabulary: Vocabulary) -> list[Holdout]:
    """The holdouts of the three datasets over the class lists of a preset.

    Raises UserError when the preset has none, or when they do not fit the vocabulary.
    """
    preset = read_preset(name)
    if preset.bindings is None or preset.relations is None:
        raise UserError(
            f"--holdout {name}: this preset has no class lists; take pearson2025 or "
            f"pearson2025-clean."
        )
    bound, related = (
        [Class(split, tuple(label.split())) for split in LISTS for label in getattr(lists, split)]
        for lists in (preset.bindings, preset.relations)
    )
    made = _holdouts(bound, related, vocabulary, vocabulary.tested, TASKS, (name,), 0)
    for holdout in made:
        if unknown := check_fits(holdout, vocabulary):
            raise UserError(
                f"The preset {name} names {', '.join(unknown)}, which the family "
                f"'{vocabulary.name}' does not have; take --family {preset.family}."
            )
    return made


def _holdouts(
    bound: Sequence[Class],
    related: Sequence[Class],
    vocabulary: Vocabulary,
    kind: str,
    tasks: Sequence[str],
    asked: Sequence[str],
    block_seed: int,
) -> list[Holdout]:
    """The holdout of each dataset: its labels outside training; for relations, with their
    converses."""
    if not vocabulary.relations.keys() >= {*_RELATIONS}:
        raise UserError(
            f"The relational dataset of the design gzsl needs the relations left and right; "
            f"'{vocabulary.name}' lacks them."
        )
    held_out: list[Binding] = sorted((value, thing) for value, thing in _outside(bound))
    triples = closed([(s, r, o) for s, r, o in _outside(related)], vocabulary.relations, False)
    names = tuple(vocabulary.values(kind)), tuple(vocabulary.objects)
    common: dict[str, Any] = {"design": "gzsl", "asked": tuple(asked), "block_seed": block_seed}
    several = Holdout(
        kind, vocabulary.category, *names, bindings=tuple(held_out), classes=tuple(bound), **common
    )
    relational = Holdout(
        kind,
        vocabulary.category,
        triples=triples,
        opposites=False,
        classes=tuple(related),
        **common,
    )
    return [replace(relational if task == "relational" else several, task=task) for task in tasks]


def _outside(classes: Sequence[Class]) -> Iterator[tuple[str, ...]]:
    return (each.label for each in classes if each.split != "train")


def _sizes(
    asked: str, match: re.Match[str], total: int, least: int, side: int, longer: int
) -> tuple[int, int, int]:
    if match["train"]:
        train, val, test = (int(match[name]) for name in ("train", "val", "test"))
    else:
        whole = sum(_SHARES)
        val = min(max(least, total * _SHARES[1] // whole), side)
        test = max(least, total * _SHARES[2] // whole)
        train = total - val - test
    if (
        train + val + test != total
        or not longer <= train
        or not least <= val <= side
        or test < least
    ):
        raise UserError(
            f"--holdout {asked}: divide the {total} labels into at least {longer} for training "
            f"(with every value and object), {least} to {side} for ood_val (all different in "
            f"value and object) and {least} or more for ood_test; together {total}."
        )
    return train, val, test


def _share_out(
    values: Sequence[str], objects: Sequence[str], sizes: tuple[int, int, int], stream: Stream
) -> dict[str, list[Binding]]:
    rows, columns = stream.shuffled(values), stream.shuffled(objects)
    longer = max(len(rows), len(columns))
    val: list[Binding] = [(rows[i], columns[i]) for i in range(sizes[1])]
    cover = [(rows[i % len(rows)], columns[(i + 1) % len(columns)]) for i in range(longer)]
    # where a binding is in ood_val already, its object trains with the next value
    cover = [
        binding if binding not in val else (rows[(i + 1) % len(rows)], binding[1])
        for i, binding in enumerate(cover)
    ]
    rest = stream.shuffled(
        [(v, o) for v in values for o in objects if (v, o) not in val and (v, o) not in cover]
    )
    missing = sizes[0] - len(cover)
    return {"train": cover + rest[:missing], "ood_val": val, "ood_test": rest[missing:]}


def _related(objects: Sequence[str], vocabulary: Vocabulary, stream: Stream) -> list[Class]:
    """Arrangements "x left of y", each with its converse. Training has every object; no two
    arrangements of ood_val have the same two objects."""
    ordered = list(permutations(objects, 2))
    whole = sum(_RELATED)
    n_val = max(2, len(ordered) * _RELATED[1] // whole)
    n_test = max(2, len(ordered) * _RELATED[2] // whole)
    while True:
        drawn = stream.shuffled(ordered)
        first: dict[frozenset[str], tuple[str, str]] = {}
        for pair in drawn:
            first.setdefault(frozenset(pair), pair)
        val = [*first.values()][:n_val]
        rest = [pair for pair in drawn if pair not in val]
        test, train = rest[:n_test], rest[n_test:]
        if {end for pair in train for end in pair} == {*objects}:
            break
    lists = {"train": train, "ood_val": val, "ood_test": test}
    return [
        Class(name, triple)
        for name in LISTS
        for x, y in sorted(lists[name])
        for triple in ((x, "left", y), (y, vocabulary.relations["left"].converse, x))
    ]


def shared_labels(holdout: Holdout) -> list[str]:
    """Arrangements that are in two lists of a relational dataset, as one line each: LABEL (LIST) =
    LABEL (LIST).

    The published lists have three (Pearson et al. 2025): the converse of a label is in another
    list.
    """
    found = []
    triples = [(each.split, each.label) for each in holdout.classes if len(each.label) == 3]
    for i, (split, (subject, relation, thing)) in enumerate(triples):
        for other, second in triples[i + 1 :]:
            same = second in (
                (subject, relation, thing),
                (thing, converse_of(relation), subject),
            )
            if same and other != split:
                found.append(
                    f"{subject} {relation} {thing} ({split}) = {' '.join(second)} ({other})"
                )
    return found


def list_of(split: str) -> str:
    """The class list from which the scenes of a split take their labels."""
    return "train" if split.startswith("id_") else split


class ClassRule:
    """The rule of the design gzsl: a scene belongs to the split of the one list that has its
    labels.

    Scenes with training labels are divided at random among train, id_val and id_test; the scene_id
    decides the draw.
    """

    splits = SPLITS

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary, self.holdout = vocabulary, holdout
        self._lists_of: dict[tuple[str, ...], list[str]] = {}
        for each in holdout.classes:
            self._lists_of.setdefault(each.label, []).append(each.split)

    def listed(self, name: str) -> list[tuple[str, ...]]:
        """The labels of a list: bindings, or triples of the relational dataset."""
        return [each.label for each in self.holdout.classes if each.split == name]

    def scenes(self, name: str, n: int | None = None) -> list[tuple[Binding, ...]]:
        """The possible scenes of a list: `n` of its bindings (by default one per object) in any
        order, all different in value and in object."""
        n = n or OBJECTS[str(self.holdout.task)]
        bound = [(value, thing) for value, thing in self.listed(name)]
        return [
            chosen
            for chosen in permutations(bound, n)
            if all(len({*names}) == n for names in zip(*chosen, strict=True))
        ]

    def published_counts(self) -> dict[str, int]:
        """Published number of scenes of each split: images per label × labels. `three-object` has
        the numbers of `two-object`."""
        task = str(self.holdout.task)

        def labels(name: str) -> int:
            return len(
                self.listed(name)
                if task == "relational"
                else self.scenes(name, min(OBJECTS[task], 2))
            )

        return {name: n * labels(list_of(name)) for name, n in PER_LABEL[task].items()}

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """Split and held-out labels of a scene."""
        held_out = held_out_bindings(arrangement, self.holdout)
        triples = named(arrangement, held_out_facts(arrangement, facts, self.holdout))
        lists = self._lists(arrangement, facts)
        split = next(iter(lists)) if len(lists) == 1 else None
        return Placing(self._share(scene_id) if split == "train" else split, held_out, triples)

    def _lists(self, arrangement: Arrangement, facts: Sequence[Fact]) -> list[str]:
        """The lists of a scene's labels, without duplicates; "" stands for a binding that is in no
        list."""
        n = OBJECTS[str(self.holdout.task)]
        values, things = zip(*arrangement, strict=True)
        if len(things) != n or len({*things}) < n:
            return []
        if self.holdout.task == "relational":
            shown = [(things[i], name, things[j]) for i, name, j in facts]
            return list(
                dict.fromkeys(split for triple in shown for split in self._lists_of.get(triple, []))
            )
        if len({*values}) < n:
            return []
        return list(
            dict.fromkeys(
                split for binding in arrangement for split in self._lists_of.get(binding, [""])
            )
        )

    def _share(self, scene_id: str) -> str:
        shares = PER_LABEL[str(self.holdout.task)]
        draw = Stream("classes", self.holdout.block_seed, scene_id).below(
            sum(shares[name] for name in SPLITS[:3])
        )
        return (
            "train"
            if draw < shares["train"]
            else "id_val"
            if draw < shares["train"] + shares["id_val"]
            else "id_test"
        )
