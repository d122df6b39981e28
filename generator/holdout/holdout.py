"""Data of a holdout: the bindings, relation triples, values and objects that training never
shows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from generator.dataset.own_frames import is_own_direction, own_frames_of
from generator.vocabulary.schema import Vocabulary

Binding = tuple[str, str]
"""(Value of the tested kind, object), such as ("red", "cube")."""
Triple = tuple[str, str, str]
"""(Subject, relation, object), such as ("cube", "left", "sphere")."""


@dataclass(frozen=True)
class Holdout:
    """A holdout: everything that training never shows, and how it was drawn."""

    kind: str
    """The attribute kind under test, such as color."""
    category: str
    """The vocabulary's word for categories of objects, such as shape."""
    values: tuple[str, ...] = ()
    """The rows of the block; for the designs coverage and rotation, all values."""
    objects: tuple[str, ...] = ()
    """The columns of the block; for the designs coverage and rotation, all objects."""
    block_seed: int = 0
    """The seed that drew one of the blocks that fit `asked`."""
    bindings: tuple[Binding, ...] = ()
    """Held-out pairs (value, object), such as ("red", "cube")."""
    triples: tuple[Triple, ...] = ()
    """Held-out triples (subject, relation, object), closed under converse, and with `opposites`
    under opposite. A direction in the object's own frame is held out with every subject."""
    opposites: bool = True
    """Whether the opposites of held-out relations are held out too."""
    absent_values: tuple[str, ...] = ()
    """Values that occur nowhere in training (design systematicity)."""
    absent_objects: tuple[str, ...] = ()
    """Objects that occur nowhere in training (design systematicity)."""
    design: str = "bindsplit"
    """The design that drew the holdout."""
    asked: tuple[str, ...] = ()
    """The values of the user's `--holdout`; sizes of blocks have their kind."""
    classes: tuple["Class", ...] = ()
    """The labels of the class lists (design gzsl)."""
    task: str | None = None
    """The dataset that the class lists are for, such as single; None for other designs."""
    asymmetric: bool = False
    """Whether clusters in which truth and foil are not equally familiar have separate splits."""
    turn: int | None = None
    """The turn of a rotation, from 0; None for other designs."""
    value_groups: tuple[tuple[str, ...], ...] = ()
    """The values of each group of a rotation; there are as many groups as turns. In a rotation of
    own directions, the directions of each axis."""
    object_groups: tuple[tuple[str, ...], ...] = ()
    """The objects of each group of a rotation."""
    doses: tuple["Dose", ...] = ()
    """Held-out bindings that training shows a counted number of times (doses.py)."""

    @cached_property
    def _bindings(self) -> frozenset[Binding]:
        return frozenset(self.bindings)

    @cached_property
    def _triples(self) -> frozenset[Triple]:
        return frozenset(self.triples)

    @cached_property
    def own_frames(self) -> dict[str, tuple[str, ...]]:
        """For each object in whose own frame directions are held out, these directions, such as
        own-left and own-right."""
        return own_frames_of(self.triples)

    @cached_property
    def rotates_frames(self) -> bool:
        """Whether this is a turn of a rotation of own directions (frame_rotation.py)."""
        return self.turn is not None and bool(self.own_frames)

    @cached_property
    def planned_frames(self) -> dict[str, tuple[str, ...]]:
        """For each object the directions in its own frame that no scene may show by chance: those
        of `own_frames`; in a rotation, those that any turn holds out."""
        if not self.rotates_frames:
            return self.own_frames
        directions = tuple(name for axis in self.value_groups for name in axis)
        return dict.fromkeys(self.own_frames, directions)

    @cached_property
    def _absent(self) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(self.absent_values), frozenset(self.absent_objects)

    @cached_property
    def _objects_of(self) -> dict[str, frozenset[str]]:
        return _partners(self.bindings)

    @cached_property
    def _values_of(self) -> dict[str, frozenset[str]]:
        return _partners((category, value) for value, category in self.bindings)

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing is held out: all scenes are in one split, for models that were trained
        elsewhere."""
        # `asymmetric` and `doses` only go beside these.
        return not (
            self.bindings
            or self.triples
            or self.absent_values
            or self.absent_objects
            or self.classes
        )

    @cached_property
    def is_block(self) -> bool:
        """Whether every value of `values` is held out with every object of `objects`."""
        return self._bindings == frozenset(product(self.values, self.objects))

    @cached_property
    def treats_names_alike(self) -> bool:
        """Whether all values, and all objects, have the same place in the holdout: a rotation of
        equal groups."""
        # Groups of unequal size hold out some names more often than others.
        value_counts = {len(values) for values in self.value_groups}
        object_counts = {len(objects) for objects in self.object_groups}
        return len(value_counts) == len(object_counts) == 1

    def holds_out(self, value: str, category: str) -> bool:
        """Check whether training never shows a binding.

        Args:
            value: A value of the holdout's kind.
            category: The category of an object.

        Returns:
            Whether the binding is held out.
        """
        return (value, category) in self._bindings

    def objects_with(self, value: str) -> frozenset[str]:
        """The objects with which the value is held out."""
        return self._objects_of.get(value, frozenset())

    def values_with(self, category: str) -> frozenset[str]:
        """The values with which the object is held out."""
        return self._values_of.get(category, frozenset())

    def holds_out_triple(self, subject: str, relation: str, other: str) -> bool:
        """Check whether training never shows a relation between two categories.

        Args:
            subject: The category of the first object.
            relation: The relation.
            other: The category of the second object.

        Returns:
            Whether the triple is held out.
        """
        return (subject, relation, other) in self._triples

    def absent(self, value: str, category: str) -> bool:
        """Check whether a value or a category occurs nowhere in training.

        Args:
            value: A value of the holdout's kind.
            category: The category of an object.

        Returns:
            Whether either is absent.
        """
        return value in self._absent[0] or category in self._absent[1]

    def value_like(self, value: str) -> tuple[object, ...]:
        """A key that is equal for values held out with the same objects: these may replace each
        other unnoticed."""
        return (self.objects_with(value), value in self._absent[0])

    def object_like(self, category: str) -> tuple[object, ...]:
        """A key that is equal for objects held out with the same values."""
        return (self.values_with(category), category in self._absent[1])

    def to_dict(self) -> dict[str, Any]:
        """The holdout as JSON-ready data, with every held-out combination listed."""
        data: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Holdout":
        """The inverse of `to_dict`.

        Raises:
            ValueError: the data are anything else.
        """
        # Pydantic checks types and makes tuples of the lists in JSON.
        return _adapter().validate_python(data)


@dataclass(frozen=True)
class Dose:
    """Held-out bindings that training shows equally often, and the scenes that show them."""

    times: int
    """In how many training scenes each binding is; at least 1."""
    bindings: tuple[Binding, ...]
    """The bindings, which are also among the holdout's `bindings`."""
    scenes: tuple[str, ...]
    """The ids of these training scenes. Each shows one of the bindings, and nothing else that is
    held out."""

    @property
    def split(self) -> str:
        """The split of evaluation scenes that show only these bindings."""
        return f"dose{self.times}"


@dataclass(frozen=True)
class Class:
    """A label of the design gzsl."""

    split: str
    """The class list that has the label: train, ood_val or ood_test."""
    label: tuple[str, ...]
    """A binding; in the relational dataset a triple."""


@cache
def _adapter() -> TypeAdapter[Holdout]:
    return TypeAdapter(Holdout)


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """For each first name of the pairs, the second names that it occurs with."""
    partners_of = defaultdict(set)
    for name, partner in pairs:
        partners_of[name].add(partner)
    return {name: frozenset(partners) for name, partners in partners_of.items()}


def closed(triples: list[Triple], vocabulary: Vocabulary, opposites: bool) -> tuple[Triple, ...]:
    """Add to triples all that are held out with them.

    A direction in the second object's own frame has no converse, since nothing follows for the
    frame of the first. It is held out with every first object: what training never shows is a side
    of the second.

    Args:
        triples: (subject, relation, object) to hold out.
        vocabulary: Whose relations and objects they name.
        opposites: Whether the opposite relations are held out too.

    Returns:
        The triples with their converses, the opposite relations and the other subjects; sorted.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> closed([("cube", "left", "sphere")], read_vocabulary("clevr"), False)
    (('cube', 'left', 'sphere'), ('sphere', 'right', 'cube'))
    """
    relations = vocabulary.relations
    closure: set[Triple] = set()
    # A converse may have an opposite that is new, so what follows is followed in turn.
    waiting = list(triples)
    while waiting:
        triple = waiting.pop()
        if triple in closure:
            continue
        closure.add(triple)
        subject, relation, other = triple
        converse = relations[relation].converse
        if converse is not None:
            waiting.append((other, converse, subject))
        if opposites:
            waiting.append((subject, relations[relation].opposite, other))
        if is_own_direction(relation):
            waiting += [(any_subject, relation, other) for any_subject in vocabulary.objects]
    return tuple(sorted(closure))


def check_fits(holdout: Holdout, vocabulary: Vocabulary) -> list[str]:
    """Find the names in a holdout that a vocabulary does not have.

    Args:
        holdout: The holdout.
        vocabulary: The vocabulary.

    Returns:
        The names in quotation marks; [] if the holdout fits.
    """
    if holdout.kind not in vocabulary.attributes:
        # No value can be looked up without the kind.
        return [f"the attribute kind '{holdout.kind}'"]
    labels = [listed.label for listed in holdout.classes]
    bindings = [*holdout.bindings, *(label for label in labels if len(label) == 2)]
    triples = [*holdout.triples, *(label for label in labels if len(label) == 3)]
    values = [*holdout.values, *holdout.absent_values, *(value for value, _ in bindings)]
    objects = [*holdout.objects, *holdout.absent_objects, *(category for _, category in bindings)]
    for subject, _, other in triples:
        objects += [subject, other]
    relations = [relation for _, relation, _ in triples]

    # All unknown names at once, so that the message lists them together.
    names_and_known: list[tuple[Iterable[str], Collection[str]]] = [
        (values, vocabulary.values(holdout.kind)),
        (objects, vocabulary.objects),
        (relations, vocabulary.relations),
    ]
    unknown = []
    for names, known in names_and_known:
        unknown += [f"'{name}'" for name in names if name not in known]
    return list(dict.fromkeys(unknown))
