"""Data of a holdout: the bindings, relation triples, values and objects that training never
shows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from generator.vocabulary.relations import Relation
from generator.vocabulary.schema import Vocabulary

Binding = tuple[str, str]
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Holdout:
    """A holdout: everything that training never shows, and how it was drawn.

    `kind` is the attribute kind under test. `bindings` are pairs (value, object), e.g. ("red",
    "cube"); `triples` are
    (subject, relation, object), closed under converse, and with `opposites` under opposite.
    `values` and `objects` are
    the rows and columns of the block; for the design coverage, all values and objects.
    `absent_values` and
    `absent_objects` occur nowhere in training (design systematicity). `asymmetric`: whether
    clusters in which truth and
    foil are not equally familiar have separate splits. `classes` are the labels of the splits of
    the design gzsl.
    `asked` is the user's `--holdout`; `block_seed` selected one of the blocks that fit it. `turn`,
    `value_groups` and
    `object_groups` are of the design rotation (rotation.py).
    """

    kind: str
    category: str
    values: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    block_seed: int = 0
    bindings: tuple[Binding, ...] = ()
    triples: tuple[Triple, ...] = ()
    opposites: bool = True
    absent_values: tuple[str, ...] = ()
    absent_objects: tuple[str, ...] = ()
    design: str = "bindsplit"
    asked: tuple[str, ...] = ()
    classes: tuple["Class", ...] = ()
    task: str | None = None
    asymmetric: bool = False
    turn: int | None = None
    """The turn of a rotation, from 0; None for other designs."""
    value_groups: tuple[tuple[str, ...], ...] = ()
    """The values of each group of a rotation; there are as many groups as turns."""
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
    def _absent(self) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(self.absent_values), frozenset(self.absent_objects)

    @cached_property
    def _objects_of(self) -> dict[str, frozenset[str]]:
        return _partners(self.bindings)

    @cached_property
    def _values_of(self) -> dict[str, frozenset[str]]:
        return _partners((thing, value) for value, thing in self.bindings)

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing is held out: all scenes are in one split, for models that were trained
        elsewhere."""
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
        value_counts = {len(values) for values in self.value_groups}
        object_counts = {len(objects) for objects in self.object_groups}
        return len(value_counts) == len(object_counts) == 1

    def holds_out(self, value: str, thing: str) -> bool:
        """Whether the binding is held out."""
        return (value, thing) in self._bindings

    def objects_with(self, value: str) -> frozenset[str]:
        """The objects with which the value is held out."""
        return self._objects_of.get(value, frozenset())

    def values_with(self, thing: str) -> frozenset[str]:
        """The values with which the object is held out."""
        return self._values_of.get(thing, frozenset())

    def holds_out_triple(self, subject: str, relation: str, thing: str) -> bool:
        """Whether the relation triple is held out."""
        return (subject, relation, thing) in self._triples

    def absent(self, value: str, thing: str) -> bool:
        """Whether the value or the object occurs nowhere in training."""
        return value in self._absent[0] or thing in self._absent[1]

    def value_like(self, value: str) -> tuple[object, ...]:
        """A key that is equal for values held out with the same objects: these may replace each
        other unnoticed."""
        return (self.objects_with(value), value in self._absent[0])

    def object_like(self, thing: str) -> tuple[object, ...]:
        """A key that is equal for objects held out with the same values."""
        return (self.values_with(thing), thing in self._absent[1])

    def to_dict(self) -> dict[str, Any]:
        """The holdout as JSON-ready data, with every held-out combination listed."""
        made: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return made

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Holdout":
        """The inverse of `to_dict`. Raises ValueError for anything else."""
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
    """A label of the design gzsl (a binding; in the relational dataset a triple) and its class
    list."""

    split: str
    label: tuple[str, ...]


@cache
def _adapter() -> TypeAdapter[Holdout]:
    return TypeAdapter(Holdout)


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found = defaultdict(set)
    for name, partner in pairs:
        found[name].add(partner)
    return {name: frozenset(partners) for name, partners in found.items()}


def closed(
    triples: list[Triple], relations: Mapping[str, Relation], opposites: bool
) -> tuple[Triple, ...]:
    """The triples with their converses, and with `opposites` the triples of the opposite relation,
    sorted.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> closed([("cube", "left", "sphere")], read_vocabulary("clevr").relations, False)
    (('cube', 'left', 'sphere'), ('sphere', 'right', 'cube'))
    """
    found: set[Triple] = set()
    waiting = list(triples)
    while waiting:
        triple = waiting.pop()
        if triple in found:
            continue
        found.add(triple)
        subject, relation, thing = triple
        waiting.append((thing, relations[relation].converse, subject))
        if opposites:
            waiting.append((subject, relations[relation].opposite, thing))
    return tuple(sorted(found))


def check_fits(holdout: Holdout, vocabulary: Vocabulary) -> list[str]:
    """The names in a holdout that the vocabulary does not have, in quotation marks."""
    if holdout.kind not in vocabulary.attributes:
        return [f"the attribute kind '{holdout.kind}'"]
    bindings = [
        *holdout.bindings,
        *(each.label for each in holdout.classes if len(each.label) == 2),
    ]
    triples = [*holdout.triples, *(each.label for each in holdout.classes if len(each.label) == 3)]
    named: list[tuple[Iterable[str], Collection[str]]] = [
        (
            [*holdout.values, *holdout.absent_values, *(value for value, _ in bindings)],
            vocabulary.values(holdout.kind),
        ),
        (
            [*holdout.objects, *holdout.absent_objects, *(thing for _, thing in bindings)],
            vocabulary.objects,
        ),
        ((end for subject, _, thing in triples for end in (subject, thing)), vocabulary.objects),
        ((relation for _, relation, _ in triples), vocabulary.relations),
    ]
    return list(
        dict.fromkeys(f"'{name}'" for names, known in named for name in names if name not in known)
    )
