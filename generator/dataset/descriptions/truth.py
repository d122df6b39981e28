"""The truth record of an image: everything that a description of it is judged by.

A record is plain data. It goes to JSON and back without a dataset, so a trainer that has only the
record can judge answers.
"""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ..relations import AXES, AXIS_OF
from .vocabulary import Vocabulary

Truth = bool | None
"""True, False, or None for undecided: the relation is within its margin."""
Binding = tuple[str, str]
"""A value of the attribute kind under test, and a category."""
RelationTriple = tuple[str, str, str]
"""The category of the first object, a relation, and the category of the second object."""
Box = tuple[int, int, int, int]
"""Left, top, right, bottom in whole pixels; right and bottom exclusive."""
RecordType = TypeVar("RecordType", bound="TruthRecord")
Holds = tuple[tuple[Truth, ...], ...]
"""(n, n): whether a relation holds of object i and object j; None for i = j."""


class TruthRecord:
    """A truth record of any kind: an object, its JSON data, or its JSON text."""

    _NAMES: ClassVar[tuple[str, ...]]
    """The names that its JSON data must have."""

    @classmethod
    def read(cls: type[RecordType], record: "RecordType | Mapping[str, Any] | str") -> RecordType:
        """Make the record from any of its forms.

        Args:
            record: the record, its JSON data, or its JSON text.

        Returns:
            The record.

        Raises:
            ValueError: the data have another shape.
        """
        # A trainer that has only a column of a table passes text, tests and Jackalope pass objects.
        if isinstance(record, cls):
            return record
        data: Any = json.loads(record) if isinstance(record, str) else record
        if not isinstance(data, Mapping) or not all(name in data for name in cls._NAMES):
            names = ", ".join(cls._NAMES)
            raise ValueError(f"Expected a truth record with {names}, got {data!r:.80}")
        return cls.from_dict(data)

    @classmethod
    @abstractmethod
    def from_dict(cls: type[RecordType], data: Mapping[str, Any]) -> RecordType:
        """Make the record from JSON data.

        Args:
            data: JSON data with all names of the record.

        Returns:
            The record.

        Raises:
            ValueError: an entry has another shape.
        """


@dataclass(frozen=True)
class TrueObject:
    """An object of an image."""

    category: str
    """Its category."""
    attributes: dict[str, str]
    """Its values by attribute kind."""
    box: Box | None = None
    """Its box as if nothing hid it; None if unknown."""


@dataclass(frozen=True, kw_only=True)
class ImageTruth(TruthRecord):
    """What is true of an image, and the words that its world has."""

    _NAMES = ("scene_id", "objects", "relations", "vocabulary")

    scene_id: str
    """The scene, which names the image."""
    cluster_id: str
    """The group of scenes with the same values and objects, over which intervals are made."""
    split: str | None
    """The benchmark's split of the scene; None without a benchmark."""
    objects: tuple[TrueObject, ...]
    """The objects, from left to right."""
    relations: dict[str, Holds]
    """By relation, of which objects it holds: the first relation of each axis that the world has
    (right, behind, near, on). `holds` answers for all relations."""
    environment: str | None = None
    """The name of the scene's place; None if unknown."""
    tested_kind: str | None = None
    """The attribute kind under test; None without a holdout of bindings."""
    held_out: frozenset[Binding] = frozenset()
    """The held-out bindings of the benchmark."""
    held_out_relations: frozenset[RelationTriple] = frozenset()
    """The held-out relations between two categories, with their converses."""
    vocabulary: Vocabulary
    """The words of the world."""

    def holds(self, relation: str, subject: int, target: int) -> Truth:
        """Return whether a relation holds between two objects.

        Args:
            relation: a relation of the vocabulary.
            subject: index of the first object.
            target: index of the second.

        Returns:
            True, False, or None for undecided and for an unknown relation.
        """
        # Records hold the first rule of each axis only; the others follow by converse and opposite.
        axis = AXIS_OF.get(relation)
        if axis is None or axis.rules[0] not in self.relations:
            return None
        first, second, negated = axis.in_terms_of_first_rule(relation, subject, target)
        truth = self.relations[axis.rules[0]][first][second]
        # Undecided stays undecided: the margin is the same on both sides.
        return not truth if negated and truth is not None else truth

    @cached_property
    def true_relations(self) -> tuple[tuple[int, str, int], ...]:
        """Every true relation once, as (subject, relation, target): of a relation and its converse,
        the one that `canonical_relation` gives."""
        facts = []
        indices = range(len(self.objects))
        for axis in AXES:
            if axis.rules[0] not in self.relations:
                continue
            for name in axis.rules:
                for subject in indices:
                    for target in indices:
                        fact = (subject, name, target)
                        # Each fact once, or "left of" and its converse would count twice.
                        if subject == target or canonical_relation(*fact) != fact:
                            continue
                        if self.holds(name, subject, target):
                            facts.append(fact)
        return tuple(facts)

    def binding_of(self, index: int) -> Binding | None:
        """Return the binding under test of an object.

        Args:
            index: of the object.

        Returns:
            Its value of the tested kind and its category; None without a tested kind or value.
        """
        described = self.objects[index]
        value = described.attributes.get(self.tested_kind or "")
        return None if value is None else (value, described.category)

    def is_held_out_relation(self, subject: int, relation: str, target: int) -> bool:
        """Return whether a relation between two objects is held out.

        Args:
            subject: index of the first object.
            relation: a relation of the vocabulary.
            target: index of the second.

        Returns:
            True if the benchmark holds it out between objects of these categories.
        """
        first, second = self.objects[subject].category, self.objects[target].category
        return (first, relation, second) in self.held_out_relations

    @property
    def bindings(self) -> list[Binding]:
        """The binding under test of each object that has one, in the order of the objects."""
        bindings = map(self.binding_of, range(len(self.objects)))
        return [binding for binding in bindings if binding is not None]

    @property
    def interference(self) -> int:
        """How many features two or more objects share: categories and values of judged kinds that
        occur more than once in the image."""
        features: Counter[tuple[str, str]] = Counter()
        for actual in self.objects:
            features[self.vocabulary.category, actual.category] += 1
            for kind in self.vocabulary.judged_kinds:
                if kind in actual.attributes:
                    features[kind, actual.attributes[kind]] += 1
        # By feature, not by object: three red objects are one shared color.
        return sum(count > 1 for count in features.values())

    @property
    def load(self) -> int:
        """The number of atoms that a full description names: n_O objects and n_A values of judged
        kinds (COMPASS's counts)."""
        kinds = self.vocabulary.judged_kinds
        n_values = sum(kind in actual.attributes for actual in self.objects for kind in kinds)
        return len(self.objects) + n_values

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data.

        Returns:
            Data that `from_dict` reads back: about 3 KB of JSON, most of it the vocabulary.
        """
        objects = []
        for actual in self.objects:
            box = None if actual.box is None else list(actual.box)
            objects.append(
                {"category": actual.category, "attributes": dict(actual.attributes), "box": box}
            )
        return {
            "scene_id": self.scene_id,
            "cluster_id": self.cluster_id,
            "split": self.split,
            "objects": objects,
            "relations": {
                name: [list(row) for row in rows] for name, rows in self.relations.items()
            },
            "environment": self.environment,
            "tested_kind": self.tested_kind,
            "held_out": sorted(map(list, self.held_out)),
            "held_out_relations": sorted(map(list, self.held_out_relations)),
            "vocabulary": self.vocabulary.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ImageTruth":
        """Make a record from JSON data.

        Args:
            data: as `to_dict` returns it.

        Returns:
            The record.

        Raises:
            ValueError: the data have another shape.
        """
        try:
            return cls(
                scene_id=str(data["scene_id"]),
                cluster_id=str(data["cluster_id"]),
                split=data["split"],
                objects=tuple(map(_object_of, data["objects"])),
                relations=_relations_of(data["relations"], len(data["objects"])),
                environment=data["environment"],
                tested_kind=data["tested_kind"],
                held_out=frozenset((value, category) for value, category in data["held_out"]),
                held_out_relations=_triples_of(data["held_out_relations"]),
                vocabulary=Vocabulary.from_dict(data["vocabulary"]),
            )
        # Trainers hand records on as JSON, which may be anything; the error says what was expected.
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"Expected the truth record of an image ({error!r}).") from None

    def to_json(self) -> str:
        """Return the record as JSON.

        Returns:
            One line, which `of` reads back.
        """
        return json.dumps(self.to_dict(), separators=(",", ":"))


def canonical_relation(subject: int, relation: str, target: int) -> tuple[int, str, int]:
    """Return the relation or its converse, so that both spellings of one fact compare equal.

    Args:
        subject: index of the first object.
        relation: the name of a rule of space; another name has no converse.
        target: index of the second object.

    Returns:
        The fact by the first rule of its axis; for rules that are their own converse, with the
        smaller index first.

    Example:
        >>> canonical_relation(0, "left", 1), canonical_relation(2, "far", 1)
        ((1, 'right', 0), (1, 'far', 2))
    """
    axis = AXIS_OF.get(relation)
    if axis is None or not axis.has_converse:
        return subject, relation, target
    if axis.symmetric:
        return min(subject, target), relation, max(subject, target)
    if relation == axis.rules[0]:
        return subject, relation, target
    return target, axis.rules[0], subject


def _object_of(data: Mapping[str, Any]) -> TrueObject:
    box = data.get("box")
    if box is not None:
        left, top, right, bottom = map(int, box)
        box = (left, top, right, bottom)
    return TrueObject(str(data["category"]), dict(data["attributes"]), box)


def _triples_of(data: Sequence[Sequence[str]]) -> frozenset[RelationTriple]:
    return frozenset((subject, relation, target) for subject, relation, target in data)


def _relations_of(data: Mapping[str, Sequence[Sequence[Truth]]], n: int) -> dict[str, Holds]:
    relations = {}
    for name, rows in data.items():
        # A short row would raise only when a pair is looked up, in the midst of a training.
        if len(rows) != n or any(len(row) != n for row in rows):
            raise ValueError(f"the relation '{name}' is not decided for {n} x {n} objects")
        relations[name] = tuple(tuple(row) for row in rows)
    return relations
