"""Class lists of (generalised) zero-shot classification: labels that train, validate and test
(Pearson et al. 2025)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

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
    named_triples,
)
from generator.holdout.presets import Lists, read_preset
from generator.holdout.syntax import check_kind
from generator.vocabulary.schema import Vocabulary

TASKS = ("single", "two-object", "relational")
"""The published datasets."""
THREE_OBJECTS = "objects=3"
"""The value of `--holdout` that adds the dataset `three-object` to drawn class lists."""
OBJECTS = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}
"""Number of objects in each scene, by dataset."""
LISTS = ("train", "ood_val", "ood_test")
"""The class lists: labels that training shows, and others."""
SPLITS = ("train", "id_val", "id_test", "ood_val", "ood_test")
"""The splits. Those with id_ have labels of training, in other images."""
_PER_LABEL_OF_TWO = {"train": 40, "id_val": 10, "id_test": 10, "ood_val": 50, "ood_test": 50}
PER_LABEL = {
    "single": {name: 2 * n for name, n in _PER_LABEL_OF_TWO.items()},
    **dict.fromkeys(("two-object", "relational", "three-object"), _PER_LABEL_OF_TWO),
}
"""Images per label, as published (section 3, table 1). For `three-object`, images per label of two
objects."""
_RELATIONS = ("left", "right")
"""The relations of the relational dataset, as published (section 3)."""
_OPTION = re.compile(
    r"(?:(?P<kind>[^:=]+):(?P<category>[^:=]+)=)?classes(?:=(?P<train>\d+)/(?P<val>\d+)/(?P<test>\d+))?"
)
# Labels of train, ood_val and ood_test, as published: of 8 colours x 4 shapes, and of ordered pairs
# of 4 shapes.
_BINDING_SHARES = (17, 4, 11)
_RELATION_SHARES = (6, 2, 4)

# Labels beside those of a scene that a question about it offers.
_DISTRACTORS = 2


def draw_classes(
    holdout_options: Sequence[str], vocabulary: Vocabulary, block_seed: int
) -> list[Holdout]:
    """Class lists for the three datasets, drawn by seed: every value and every object is in a
    training label.

    Labels are objects with values of the tested kind, or of another kind. No two labels of
    `ood_val` share a value or an object, so any two of them can make a scene.

    Args:
        holdout_options: the values of `--holdout`: `classes`, with numbers as in
            `classes=17/4/11`, or with a kind as in `texture:animal=classes`. With `objects=3`, a
            fourth dataset has scenes of three objects and the class lists of bindings.
        vocabulary: has the values and objects.
        block_seed: draws the lists.

    Returns:
        A holdout for each dataset.

    Raises:
        UserError: an option is malformed, the vocabulary is too small, or the numbers of classes
            are impossible.
    """
    list_options = [option for option in holdout_options if option != THREE_OBJECTS] or ["classes"]
    tasks: tuple[str, ...] = TASKS
    recorded_options = list_options
    if THREE_OBJECTS in holdout_options:
        tasks, recorded_options = (*TASKS, "three-object"), [*list_options, THREE_OBJECTS]
    match = _OPTION.fullmatch(list_options[0]) if len(list_options) == 1 else None
    if not match:
        raise UserError(
            f"Expected --holdout of the design gzsl to be classes, a preset with class lists, "
            f"classes=17/4/11 (train/ood_val/ood_test), or texture:animal=classes, with "
            f"{THREE_OBJECTS} beside drawn lists, got '{' '.join(recorded_options)}'."
        )
    kind = check_kind(match[0], match["kind"], category=match["category"], vocabulary=vocabulary)
    values, objects = vocabulary.values(kind), list(vocabulary.objects)
    # A scene has one label of ood_val per object, and two more labels are its distractors.
    least = max(OBJECTS[task] for task in tasks) + _DISTRACTORS
    _check_room(vocabulary, kind, least)
    sizes = _list_sizes(match, len(values), n_objects=len(objects), least=least)
    stream = Stream("classes", block_seed, kind, *sizes)
    bindings_of_list = _deal_bindings(values, objects, sizes=sizes, stream=stream)
    binding_classes = [
        Class(name, binding) for name in LISTS for binding in sorted(bindings_of_list[name])
    ]
    relation_classes = _draw_relation_classes(
        objects, vocabulary, Stream("related classes", block_seed)
    )
    return _holdouts(
        binding_classes,
        relation_classes,
        vocabulary=vocabulary,
        kind=kind,
        tasks=tasks,
        asked=recorded_options,
        block_seed=block_seed,
    )


def _check_room(vocabulary: Vocabulary, kind: str, least: int) -> None:
    """Raise UserError if a vocabulary has fewer than `least` objects or values of a kind."""
    n_values, n_objects = len(vocabulary.values(kind)), len(vocabulary.objects)
    if min(n_values, n_objects) < least:
        raise UserError(
            f"The design gzsl needs at least {least} values of {kind} and {least} objects"
            f"{f' with {THREE_OBJECTS}' * (least > 4)}; '{vocabulary.name}' has {n_values} and "
            f"{n_objects}."
        )


def published_classes(name: str, vocabulary: Vocabulary) -> list[Holdout]:
    """The holdouts of the three datasets over the class lists of a preset.

    Args:
        name: of the preset.
        vocabulary: must have the names of its labels.

    Raises:
        UserError: the preset has no class lists, or they do not fit the vocabulary.
    """
    preset = read_preset(name)
    if preset.bindings is None or preset.relations is None:
        raise UserError(
            f"--holdout {name}: this preset has no class lists; take pearson2025 or "
            f"pearson2025-clean."
        )
    holdouts = _holdouts(
        _classes_of(preset.bindings),
        _classes_of(preset.relations),
        vocabulary=vocabulary,
        kind=vocabulary.tested,
        tasks=TASKS,
        asked=(name,),
        block_seed=0,
    )
    for holdout in holdouts:
        unknown = check_fits(holdout, vocabulary)
        if unknown:
            raise UserError(
                f"The preset {name} names {', '.join(unknown)}, which the family "
                f"'{vocabulary.name}' does not have; take --family {preset.family}."
            )
    return holdouts


def _classes_of(lists: Lists) -> list[Class]:
    """The labels of a preset's lists."""
    classes = []
    for name in LISTS:
        for label in getattr(lists, name):
            classes.append(Class(name, tuple(label.split())))
    return classes


def _holdouts(
    binding_classes: Sequence[Class],
    relation_classes: Sequence[Class],
    *,
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
    bindings: list[Binding] = sorted((value, name) for value, name in _untrained(binding_classes))
    triples = [(subject, name, other) for subject, name, other in _untrained(relation_classes)]
    common = Holdout(
        kind,
        vocabulary.category,
        design="gzsl",
        asked=tuple(asked),
        block_seed=block_seed,
    )
    of_bindings = replace(
        common,
        values=tuple(vocabulary.values(kind)),
        objects=tuple(vocabulary.objects),
        bindings=tuple(bindings),
        classes=tuple(binding_classes),
    )
    of_relations = replace(
        common,
        triples=closed(triples, vocabulary, opposites=False),
        opposites=False,
        classes=tuple(relation_classes),
    )
    return [
        replace(of_relations if task == "relational" else of_bindings, task=task) for task in tasks
    ]


def _untrained(classes: Sequence[Class]) -> Iterator[tuple[str, ...]]:
    """The labels that training does not show."""
    return (listed.label for listed in classes if listed.split != "train")


def _list_sizes(
    match: re.Match[str], n_values: int, *, n_objects: int, least: int
) -> tuple[int, int, int]:
    """The numbers of labels of train, ood_val and ood_test.

    Args:
        match: the option, which may state the numbers; else they have the published proportions.
        n_values: the number of values.
        n_objects: the number of objects.
        least: the least number of labels of ood_val and of ood_test.
    """
    total, shorter, longer = n_values * n_objects, *sorted((n_values, n_objects))
    if match["train"]:
        train, val, test = (int(match[name]) for name in ("train", "val", "test"))
    else:
        whole = sum(_BINDING_SHARES)
        val = min(max(least, total * _BINDING_SHARES[1] // whole), shorter)
        test = max(least, total * _BINDING_SHARES[2] // whole)
        train = total - val - test
    # Training shows every value and object; labels of ood_val differ in both.
    is_possible = train >= longer and least <= val <= shorter and test >= least
    if train + val + test != total or not is_possible:
        raise UserError(
            f"--holdout {match[0]}: divide the {total} labels into at least {longer} for training "
            f"(with every value and object), {least} to {shorter} for ood_val (all different in "
            f"value and object) and {least} or more for ood_test; together {total}."
        )
    return train, val, test


def _deal_bindings(
    values: Sequence[str], objects: Sequence[str], *, sizes: tuple[int, int, int], stream: Stream
) -> dict[str, list[Binding]]:
    """The bindings of each class list, of the given sizes.

    1. ood_val gets a diagonal of the shuffled values and objects: all differ in both.
    2. train gets the diagonal beside it, which has every value and object.
    3. The rest is dealt at random.
    """
    n_train, n_val, _ = sizes
    rows, columns = stream.shuffled(values), stream.shuffled(objects)
    ood_val: list[Binding] = [(rows[i], columns[i]) for i in range(n_val)]
    train: list[Binding] = []
    for i in range(max(len(rows), len(columns))):
        column = columns[(i + 1) % len(columns)]
        binding = (rows[i % len(rows)], column)
        if binding in ood_val:
            # The diagonals meet where one wraps around; the object trains with the next value.
            binding = (rows[(i + 1) % len(rows)], column)
        # The second diagonal differs from the first in every place but the wrap.
        train.append(binding)
    left = [
        (value, category)
        for value in values
        for category in objects
        if (value, category) not in ood_val and (value, category) not in train
    ]
    left = stream.shuffled(left)
    n_missing = n_train - len(train)
    return {"train": train + left[:n_missing], "ood_val": ood_val, "ood_test": left[n_missing:]}


def _draw_relation_classes(
    objects: Sequence[str], vocabulary: Vocabulary, stream: Stream
) -> list[Class]:
    """Arrangements "x left of y", each with its converse. Training has every object; no two
    arrangements of ood_val have the same two objects."""
    ordered_pairs = list(permutations(objects, 2))
    whole = sum(_RELATION_SHARES)
    n_val = max(2, len(ordered_pairs) * _RELATION_SHARES[1] // whole)
    n_test = max(2, len(ordered_pairs) * _RELATION_SHARES[2] // whole)
    # Redrawn until training has every object: with few objects, a list may take all pairs of one.
    while True:
        shuffled = stream.shuffled(ordered_pairs)
        first_order: dict[frozenset[str], tuple[str, str]] = {}
        for pair in shuffled:
            # One order of two objects: the other one is its hard negative, which is never a
            # distractor.
            first_order.setdefault(frozenset(pair), pair)
        val = list(first_order.values())[:n_val]
        left = [pair for pair in shuffled if pair not in val]
        test, train = left[:n_test], left[n_test:]
        trained_objects = {category for pair in train for category in pair}
        if trained_objects == set(objects):
            break
    pairs_of_list = {"train": train, "ood_val": val, "ood_test": test}
    converse = vocabulary.relations["left"].converse
    assert converse is not None  # it is "right"
    classes = []
    for name in LISTS:
        for subject, other in sorted(pairs_of_list[name]):
            classes.append(Class(name, (subject, "left", other)))
            classes.append(Class(name, (other, converse, subject)))
    return classes


def shared_labels(holdout: Holdout) -> list[str]:
    """Arrangements that are in two lists of a relational dataset, as one line each: LABEL (LIST) =
    LABEL (LIST).

    The published lists have three (Pearson et al. 2025): the converse of a label is in another
    list.
    """
    shared = []
    relational = [listed for listed in holdout.classes if len(listed.label) == 3]
    # Each pair of labels once, in the order of the lists.
    for first, second in combinations(relational, 2):
        subject, relation, other = first.label
        same = (first.label, (other, converse_of(relation), subject))
        if second.label in same and second.split != first.split:
            shared.append(
                f"{' '.join(first.label)} ({first.split}) = {' '.join(second.label)} "
                f"({second.split})"
            )
    return shared


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
        self.vocabulary = vocabulary
        self.holdout = holdout
        # A relational label may be in several of the published lists.
        self._lists_of: dict[tuple[str, ...], list[str]] = {}
        for listed in holdout.classes:
            self._lists_of.setdefault(listed.label, []).append(listed.split)

    def listed(self, name: str) -> list[tuple[str, ...]]:
        """The labels of a list: bindings, or triples of the relational dataset."""
        return [listed.label for listed in self.holdout.classes if listed.split == name]

    def scenes(self, name: str, n: int | None = None) -> list[tuple[Binding, ...]]:
        """The possible scenes of a list.

        Args:
            name: of the list.
            n: how many of its bindings a scene has; by default one for each object.

        Returns:
            All sequences of n of its bindings that differ in value and in object.
        """
        n = n or OBJECTS[str(self.holdout.task)]
        bindings = [(value, category) for value, category in self.listed(name)]
        scenes = []
        for chosen in permutations(bindings, n):
            values, categories = zip(*chosen, strict=True)
            if len(set(values)) == n and len(set(categories)) == n:
                scenes.append(chosen)
        return scenes

    def published_counts(self) -> dict[str, int]:
        """Published number of scenes of each split: images per label × labels. `three-object` has
        the numbers of `two-object`."""
        task = str(self.holdout.task)
        counts = {}
        for split, n_per_label in PER_LABEL[task].items():
            name = list_of(split)
            if task == "relational":
                n_labels = len(self.listed(name))
            else:
                n_labels = len(self.scenes(name, min(OBJECTS[task], 2)))
            counts[split] = n_per_label * n_labels
        return counts

    def place(
        self, arrangement: Arrangement, facts: Sequence[Fact] = (), scene_id: str = ""
    ) -> Placing:
        """Split and held-out labels of a scene."""
        held_out = held_out_bindings(arrangement, self.holdout)
        triples = named_triples(arrangement, held_out_facts(arrangement, facts, self.holdout))
        lists = self._lists(arrangement, facts)
        split = lists[0] if len(lists) == 1 else None
        if split == "train":
            # Training, id_val and id_test have the same labels and differ in images alone.
            split = self._split_of_training_label(scene_id)
        return Placing(split, held_out, triples)

    def _lists(self, arrangement: Arrangement, facts: Sequence[Fact]) -> list[str]:
        """The lists of a scene's labels, without duplicates; "" stands for a binding that is in no
        list."""
        n = OBJECTS[str(self.holdout.task)]
        values, categories = zip(*arrangement, strict=True)
        # Scenes of other sizes belong to another dataset.
        if len(categories) != n or len(set(categories)) < n:
            return []
        lists: list[str] = []
        if self.holdout.task == "relational":
            for i, relation, j in facts:
                lists += self._lists_of.get((categories[i], relation, categories[j]), [])
        elif len(set(values)) == n:
            for binding in arrangement:
                lists += self._lists_of.get(binding, [""])
        return list(dict.fromkeys(lists))

    def _split_of_training_label(self, scene_id: str) -> str:
        """train, id_val or id_test, drawn in the proportions of their images per label."""
        shares = PER_LABEL[str(self.holdout.task)]
        splits = ("train", "id_val", "id_test")
        total = sum(shares[split] for split in splits)
        draw = Stream("classes", self.holdout.block_seed, scene_id).below(total)
        for split in splits:
            if draw < shares[split]:
                return split
            draw -= shares[split]
        raise AssertionError("the shares add up to the total")
