"""Zero-shot and generalised zero-shot classes: which labels train, which validate, which test (Pearson et al. 2025)."""

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.holdout import Binding, Class, Holdout, Triple, check_fits, closed
from generator.holdout.membership import Arrangement, Fact, Placing, held_out_bindings, held_out_facts, named
from generator.holdout.presets import read_preset
from generator.vocabulary.schema import Vocabulary

TASKS = ("single", "two-object", "relational")
"""The published datasets."""
THREE_OBJECTS = "objects=3"
"""What `--holdout` takes beside class lists for a dataset more, `three-object`."""
OBJECTS = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}
"""Objects in a scene of each dataset."""
LISTS = ("train", "ood_val", "ood_test")
SPLITS = ("train", "id_val", "id_test", "ood_val", "ood_test")
PER_LABEL = {
    "single": {"train": 80, "id_val": 20, "id_test": 20, "ood_val": 100, "ood_test": 100},
    "two-object": {"train": 40, "id_val": 10, "id_test": 10, "ood_val": 50, "ood_test": 50},
    "relational": {"train": 40, "id_val": 10, "id_test": 10, "ood_val": 50, "ood_test": 50},
    "three-object": {"train": 40, "id_val": 10, "id_test": 10, "ood_val": 50, "ood_test": 50},
}
"""Images a label, as published (section 3, table 1). Those of `three-object` are for each label of two objects."""
SIDES = ("left", "right")
_CONVERSES = {"left": "right", "right": "left"}
_SPEC = re.compile(r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?classes(?:=(?P<train>\d+)/(?P<val>\d+)/(?P<test>\d+))?")
_SHARES = (17, 4, 11)
_RELATED = (6, 2, 4)
_DISTRACTORS = 2


def draw_classes(asked: Sequence[str], vocabulary: Vocabulary, block_seed: int) -> list[Holdout]:
    """Class lists for the three datasets, chosen by seed: every value and every object is in a training label.

    With `objects=3` in `asked` a fourth dataset has scenes of three objects, over the lists of the other two.

    Labels are values of the kind under test, or of the one that is asked for as in `texture:animal=classes`, with
    objects. Labels of `ood_val` differ from one another in value and in object, so that any two of them make a scene.
    Raises UserError when the vocabulary is too small, or when the numbers of classes cannot be.
    """
    lists_asked = [spec for spec in asked if spec != THREE_OBJECTS] or ["classes"]
    asked, tasks = (
        (lists_asked, TASKS)
        if THREE_OBJECTS not in asked
        else ([*lists_asked, THREE_OBJECTS], (*TASKS, "three-object"))
    )
    match = _SPEC.fullmatch(asked[0]) if len(lists_asked) == 1 else None
    if not match:
        raise UserError(
            f"Expected --holdout of the design gzsl to be classes, a preset with class lists, classes=17/4/11 "
            f"(train/ood_val/ood_test), or texture:animal=classes, with {THREE_OBJECTS} beside drawn lists, got "
            f"'{' '.join(asked)}'."
        )
    kind = _kind_of(match, vocabulary)
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    # any labels of ood_val make a scene, and two more are its distractors
    least = max(OBJECTS[task] for task in tasks) + _DISTRACTORS
    if min(len(values), len(objects)) < least:
        raise UserError(
            f"The design gzsl needs {least} values of {kind} and {least} objects at "
            f"least{f' with {THREE_OBJECTS}' * (least > 4)}; "
            f"'{vocabulary.name}' has {len(values)} and {len(objects)}."
        )
    total = len(values) * len(objects)
    sizes = _sizes(asked[0], match, total, least, min(len(values), len(objects)), max(len(values), len(objects)))
    stream = Stream("classes", block_seed, kind, *sizes)
    lists = _share_out(values, objects, sizes, stream)
    classes = tuple(Class(name, bindings=(binding,)) for name in LISTS for binding in sorted(lists[name]))
    held_out = tuple(sorted(lists["ood_val"] + lists["ood_test"]))
    made = []
    for task in tasks:
        common: dict[str, Any] = {"asked": tuple(asked), "block_seed": block_seed, "task": task}
        if task == "relational":
            if not {*SIDES} <= {*vocabulary.relations}:
                raise UserError(
                    f"The relational dataset of the design gzsl needs the relations left and right; "
                    f"'{vocabulary.name}' lacks them."
                )
            related = _related(objects, vocabulary, Stream("related classes", block_seed))
            made.append(relational(related, vocabulary, kind, **common))
        else:
            made.append(
                Holdout(
                    kind,
                    vocabulary.category,
                    tuple(values),
                    tuple(objects),
                    bindings=held_out,
                    classes=classes,
                    **common,
                )
            )
    return made


def _kind_of(match: re.Match[str], vocabulary: Vocabulary) -> str:
    """The attribute kind of the labels. Raises UserError where the family lacks what is named."""
    if match["kind"] is None:
        return vocabulary.tested
    named = match["kind"], match["category"]
    if named[0] not in vocabulary.attributes or named[1] != vocabulary.category:
        raise UserError(
            f"--holdout {match[0]}: labels of '{vocabulary.name}' are values of {' or '.join(vocabulary.attributes)} "
            f"with "
            f"{vocabulary.category}, such as {vocabulary.tested}:{vocabulary.category}=classes."
        )
    return named[0]


def published_classes(name: str, vocabulary: Vocabulary) -> list[Holdout]:
    """The holdouts of the three datasets over the class lists of a preset.

    Raises UserError when the preset has none, or when they do not fit the vocabulary.
    """
    preset = read_preset(name)
    if preset.bindings is None or preset.relations is None:
        raise UserError(f"--holdout {name}: this preset has no class lists; take pearson2025 or pearson2025-clean.")
    common: dict[str, Any] = {"asked": (name,)}
    kind, made = vocabulary.tested, []
    bound = [Class(split, bindings=(_binding(label),)) for split in LISTS for label in getattr(preset.bindings, split)]
    related = [Class(split, triple=_triple(label)) for split in LISTS for label in getattr(preset.relations, split)]
    held_out = tuple(sorted(each.bindings[0] for each in bound if each.split != "train"))
    for task in TASKS:
        if task == "relational":
            made.append(relational(related, vocabulary, kind, task=task, **common))
        else:
            made.append(
                Holdout(
                    kind,
                    vocabulary.category,
                    tuple(vocabulary.values(kind)),
                    tuple(vocabulary.objects),
                    bindings=held_out,
                    classes=tuple(bound),
                    task=task,
                    **common,
                )
            )
    for holdout in made:
        if unknown := check_fits(holdout, vocabulary):
            raise UserError(
                f"The preset {name} names {', '.join(unknown)}, which the family '{vocabulary.name}' does not have; "
                f"take --family {preset.family}."
            )
    return made


def _binding(label: str) -> Binding:
    value, _, thing = label.rpartition(" ")
    return value, thing


def _triple(label: str) -> Triple:
    subject, relation, thing = label.split()
    return subject, relation, thing


def relational(classes: Sequence[Class], vocabulary: Vocabulary, kind: str, **common: Any) -> Holdout:
    """The holdout of a relational dataset: out-of-distribution labels are held out in both phrasings."""
    ood = [each.triple for each in classes if each.split != "train" and each.triple]
    return Holdout(
        kind,
        vocabulary.category,
        triples=closed(ood, vocabulary.relations, False),
        opposites=False,
        classes=tuple(classes),
        **common,
    )


def _sizes(asked: str, match: re.Match[str], total: int, least: int, side: int, longer: int) -> tuple[int, int, int]:
    if match["train"]:
        train, val, test = (int(match[name]) for name in ("train", "val", "test"))
    else:
        whole = sum(_SHARES)
        val = min(max(least, total * _SHARES[1] // whole), side)
        test = max(least, total * _SHARES[2] // whole)
        train = total - val - test
    if train + val + test != total or not longer <= train or not least <= val <= side or test < least:
        raise UserError(
            f"--holdout {asked}: the {total} labels should be shared out with at least {longer} for training (every "
            f"value and object "
            f"is in one), {least} to {side} for ood_val (no two alike) and {least} or more for ood_test; together "
            f"{total}."
        )
    return train, val, test


def _share_out(
    values: Sequence[str], objects: Sequence[str], sizes: tuple[int, int, int], stream: Stream
) -> dict[str, list[Binding]]:
    rows, columns = stream.shuffled(values), stream.shuffled(objects)
    longer = max(len(rows), len(columns))
    val: list[Binding] = [(rows[i], columns[i]) for i in range(sizes[1])]
    cover = [(rows[i % len(rows)], columns[(i + 1) % len(columns)]) for i in range(longer)]
    # where the last meets the first of ood_val, its object trains with the next value
    cover = [
        binding if binding not in val else (rows[(i + 1) % len(rows)], binding[1]) for i, binding in enumerate(cover)
    ]
    rest = stream.shuffled([(v, o) for v in values for o in objects if (v, o) not in val and (v, o) not in cover])
    missing = sizes[0] - len(cover)
    return {"train": cover + rest[:missing], "ood_val": val, "ood_test": rest[missing:]}


def _related(objects: Sequence[str], vocabulary: Vocabulary, stream: Stream) -> list[Class]:
    """Arrangements "x left of y", each with its converse: in training every object, in ood_val no two of the same
    objects."""
    ordered = list(permutations(objects, 2))
    whole = sum(_RELATED)
    n_val = max(2, len(ordered) * _RELATED[1] // whole)
    n_test = max(2, len(ordered) * _RELATED[2] // whole)
    while True:
        drawn = stream.shuffled(ordered)
        val, test, train = drawn[:n_val], drawn[n_val : n_val + n_test], drawn[n_val + n_test :]
        if {end for pair in train for end in pair} == {*objects} and len({frozenset(pair) for pair in val}) == len(val):
            break
    lists = {"train": train, "ood_val": val, "ood_test": test}
    return [
        Class(name, triple=triple)
        for name in LISTS
        for x, y in sorted(lists[name])
        for triple in ((x, "left", y), (y, vocabulary.relations["left"].converse, x))
    ]


def shared_labels(holdout: Holdout) -> list[str]:
    """Arrangements that stand in two lists of a relational dataset, as a sentence each that names them.

    The published lists have three (Pearson et al. 2025): the converse of a label is the label of another list.
    """
    found = []
    triples = [(each.split, each.triple) for each in holdout.classes if each.triple]
    for i, (split, (subject, relation, thing)) in enumerate(triples):
        for other, second in triples[i + 1 :]:
            same = second == (subject, relation, thing) or second == (thing, _CONVERSES.get(relation), subject)
            if same and other != split:
                found.append(f"{subject} {relation} {thing} ({split}) = {' '.join(second)} ({other})")
    return found


def list_of(split: str) -> str:
    """The class list that the scenes of a split have their labels from."""
    return "train" if split.startswith("id_") else split


class ClassRule:
    """Which scenes belong to which split of class lists: the labels of a scene are all of one list.

    Scenes of training labels are shared out to train, id_val and id_test, each by a random number that its own name
    decides.
    """

    splits = SPLITS

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout):
        self.vocabulary, self.holdout = vocabulary, holdout
        self._list_of = {each.bindings[0]: each.split for each in holdout.classes if each.bindings}
        self._related: dict[Triple, list[str]] = {}
        for each in holdout.classes:
            if each.triple:
                self._related.setdefault(each.triple, []).append(each.split)

    def labels(self, name: str) -> list[tuple[Binding, ...]]:
        """The labels of a list: as many bindings as a scene has objects, in any order, that differ in value and
        object."""
        return self._bound(name, OBJECTS[str(self.holdout.task)])

    def _bound(self, name: str, n: int) -> list[tuple[Binding, ...]]:
        bound = [each.bindings[0] for each in self.holdout.classes if each.split == name and each.bindings]
        return [
            chosen
            for chosen in permutations(bound, n)
            if all(len({*names}) == n for names in zip(*chosen, strict=True))
        ]

    def related_labels(self, name: str) -> list[Triple]:
        """The labels of a list of the relational dataset."""
        return [each.triple for each in self.holdout.classes if each.split == name and each.triple]

    def published_counts(self) -> dict[str, int]:
        """Scenes of each split as published: so many for each label. Of three objects, as many as of two."""
        task = str(self.holdout.task)

        def labels(name: str) -> int:
            return len(self.related_labels(name) if task == "relational" else self._bound(name, min(OBJECTS[task], 2)))

        return {name: n * labels(list_of(name)) for name, n in PER_LABEL[task].items()}

    def place(self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = "") -> Placing:
        """Split and held-out labels of a scene."""
        held_out = held_out_bindings(arrangement, self.holdout)
        triples = named(arrangement, held_out_facts(arrangement, facts, self.holdout))
        lists = self._lists(arrangement, facts)
        split = next(iter(lists)) if len(lists) == 1 else None
        return Placing(self._share(scene_id) if split == "train" else split, held_out, True, triples)

    def _lists(self, arrangement: Arrangement, facts: Sequence[Fact]) -> list[str]:
        n = OBJECTS[str(self.holdout.task)]
        if len(arrangement) != n or len({thing for _, thing in arrangement}) < n:
            return []
        if self.holdout.task == "relational":
            shown = [(arrangement[i][1], name, arrangement[j][1]) for i, name, j in facts]
            return list(dict.fromkeys(split for triple in shown for split in self._related.get(triple, [])))
        if len({value for value, _ in arrangement}) < n:
            return []
        return list(dict.fromkeys(self._list_of.get(binding, "") for binding in arrangement))

    def _share(self, scene_id: str) -> str:
        shares = PER_LABEL[str(self.holdout.task)]
        draw = Stream("classes", self.holdout.block_seed, scene_id).below(sum(shares[name] for name in SPLITS[:3]))
        return (
            "train" if draw < shares["train"] else "id_val" if draw < shares["train"] + shares["id_val"] else "id_test"
        )
