"""Reads a benchmark's holdout (holdout.json), and finds the held-out content that scenes show and
texts name."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from generator.judge.geometry import RULES, SceneGeometry
from generator.judge.meaning import Meaning, Thing

Binding = tuple[str, str]
Triple = tuple[str, str, str]
Fact = tuple[int, str, int]
"""A relation that holds in a scene: index of the subject, relation, index of the object."""

CLASSES = "gzsl"
"""The design that holds out class lists."""
ASYMMETRIC = ("asymmetric_seen", "asymmetric_unseen")
"""Splits that share groups: in the first the true texts name nothing held out, in the second the
false texts."""
DESIGNS = ("bindsplit", "coverage", "systematicity", "rotation", CLASSES)
"""The designs that the judge knows. Benchmarks of user-defined designs are judged by their held-out
content."""


class Named(NamedTuple):
    """How much held-out content a text names: numbers of held-out bindings and triples; `absent`:
    whether it names an atom that training lacks."""

    bindings: int = 0
    triples: int = 0
    absent: bool = False


@dataclass(frozen=True)
class HeldOut:
    """A holdout.

    `kind`, `category`: the tested attribute kind and the vocabulary's word for categories.
    `bindings`: held-out (value,
    object) pairs. `listed`: held-out (subject, relation, object) triples as listed; `triples`:
    their closure under
    converses and opposites. `values`, `objects`: atoms that training lacks entirely. `labels`:
    class lists of the
    design gzsl, by name of the list. `converses`: the converse of each relation. `asymmetric`:
    whether there are splits
    in which either only the true text or only its foil names something held out.
    """

    kind: str
    category: str
    design: str
    task: str | None
    bindings: frozenset[Binding]
    listed: frozenset[Triple]
    triples: frozenset[Triple]
    values: frozenset[str]
    objects: frozenset[str]
    labels: Mapping[str, Sequence[tuple[str, ...]]]
    converses: Mapping[str, str]
    asymmetric: bool
    doses: tuple[tuple[int, frozenset[Binding], frozenset[str]], ...] = ()
    """Held-out bindings that training shows: how many times, which, and in which scenes."""

    @classmethod
    def of(cls, data: Mapping[str, Any], vocabulary_toml: str) -> "HeldOut":
        """Read a holdout.json. Raises KeyError, TypeError or ValueError if it is malformed."""
        listed = frozenset((s, name, o) for s, name, o in data.get("triples", ()))
        relations = tomllib.loads(vocabulary_toml).get("relations", {})
        converses = {
            name: RULES[name].converse for name in relations if RULES[name].converse in relations
        }
        opposites = {
            name: RULES[name].opposite for name in relations if RULES[name].opposite in relations
        }
        labels: dict[str, list[tuple[str, ...]]] = {}
        for each in data.get("classes", ()):
            labels.setdefault(each["split"], []).append(tuple(each["label"]))
        return cls(
            data["kind"],
            data["category"],
            data.get("design", ""),
            data.get("task"),
            frozenset((value, thing) for value, thing in data["bindings"]),
            listed,
            _closed(listed, converses, opposites if data.get("opposites", True) else {}),
            frozenset(data.get("absent_values", ())),
            frozenset(data.get("absent_objects", ())),
            labels,
            converses,
            bool(data.get("asymmetric", False)),
            tuple(
                (
                    dose["times"],
                    frozenset((value, thing) for value, thing in dose["bindings"]),
                    frozenset(dose["scenes"]),
                )
                for dose in data.get("doses", ())
            ),
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held out."""
        return not (self.bindings or self.triples or self.values or self.objects or self.labels)

    def dosed_in(self, scene_id: str) -> frozenset[Binding]:
        """The held-out bindings of which training may show one in this scene."""
        return frozenset().union(
            *(bindings for _, bindings, scenes in self.doses if scene_id in scenes)
        )

    def dose_split(self, shown: list[Binding]) -> str:
        """The split of a scene that shows only these held-out bindings: unseen, or that of their
        dose."""
        for times, bindings, _ in self.doses:
            if shown and bindings.issuperset(shown):
                return f"dose{times}"
        return "unseen"

    def bindings_shown(self, shown: SceneGeometry) -> list[Binding]:
        """The held-out bindings of a scene, at most one per object."""
        return [pair for pair in self.bindings_of(shown) if pair in self.bindings]

    def bindings_of(self, shown: SceneGeometry) -> list[Binding]:
        """The bindings of a scene, at most one per object."""
        return [
            (values[self.kind], category)
            for category, values in shown.objects
            if self.kind in values
        ]

    def uneven(self, shown: SceneGeometry) -> bool:
        """Whether exchanging the values of some two objects decides whether the two show a held-out
        binding: they do either before or after, not both."""
        for (value, thing), (other_value, other) in combinations(self.bindings_of(shown), 2):
            own = not {(value, thing), (other_value, other)}.isdisjoint(self.bindings)
            if own == {(other_value, thing), (value, other)}.isdisjoint(self.bindings):
                return True
        return False

    def facts_shown(self, shown: SceneGeometry) -> list[Fact]:
        """The relations that hold in a scene and whose triples are held out."""
        if not self.triples:
            return []
        return [
            (i, name, j)
            for i, name, j in facts(shown)
            if self._between(shown, i, name, j) in self.triples
        ]

    def triples_shown(self, shown: SceneGeometry) -> list[Triple]:
        """The held-out triples of a scene, distinct and sorted."""
        return sorted({self._between(shown, *fact) for fact in self.facts_shown(shown)})

    def absent_shown(self, shown: SceneGeometry) -> list[str]:
        """Values and objects of a scene that training lacks, sorted."""
        names = [
            name
            for category, values in shown.objects
            for name in (values.get(self.kind, ""), category)
        ]
        return sorted({*names} & (self.values | self.objects))

    def cluster(self, shown: SceneGeometry) -> str:
        """The group of a scene: its objects and tested values in any order or pairing, and its
        held-out triples."""
        values = sorted(values.get(self.kind, "") for _, values in shown.objects)
        told = ["+".join(values), "+".join(sorted(category for category, _ in shown.objects))]
        triples = [" ".join(triple) for triple in self.triples_shown(shown)]
        return "|".join([*told, *(["+".join(triples)] if triples else [])])

    def named(self, meaning: Meaning) -> Named:
        """How much held-out content a text names, whether it asserts or denies it."""
        bindings = sum(self._names_binding(thing) for thing in meaning.things)
        ends = [thing.category for thing in meaning.things]
        triples = (
            sum((ends[s], name, ends[o]) in self.triples for s, name, o, *_ in meaning.links)
            if self.triples
            else 0
        )
        return Named(
            bindings,
            triples,
            bool(self.values or self.objects) and any(map(self._names_absent, meaning.things)),
        )

    def bindings_named(self, meaning: Meaning) -> list[Binding]:
        """The bindings of the tested kind that a text asserts, one for each mention that has
        one."""
        return [
            (value, thing.category)
            for thing in meaning.things
            for kind, value in thing.attributes
            if kind == self.kind and thing.category is not None
        ]

    def triples_named(self, meaning: Meaning) -> list[Triple]:
        """The relations of two objects that a text names, by the categories of the objects."""
        ends = [thing.category or "" for thing in meaning.things]
        return [(ends[subject], name, ends[thing]) for subject, name, thing, *_ in meaning.links]

    @staticmethod
    def _between(shown: SceneGeometry, i: int, name: str, j: int) -> Triple:
        return shown.objects[i][0], name, shown.objects[j][0]

    def _names_binding(self, thing: Thing) -> bool:
        category, attributes, without, _ = thing
        pairs = (*attributes, without) if without else attributes
        categories = (
            (category, without[1]) if without and without[0] == self.category else (category,)
        )
        return any(
            (value, other) in self.bindings
            for of, value in pairs
            if of == self.kind
            for other in categories
        )

    def names(self, meaning: Meaning) -> set[tuple[str, str]]:
        """The values and categories that a text names, each with its kind."""
        pairs = (
            (
                *thing.attributes,
                *((thing.without,) if thing.without else ()),
                (self.category, thing.category or ""),
            )
            for thing in meaning.things
        )
        return {pair for each in pairs for pair in each if pair[1]}

    def _names_absent(self, thing: Thing) -> bool:
        pairs = [
            *thing.attributes,
            *([thing.without] if thing.without else []),
            (self.category, thing.category),
        ]
        return any(
            (kind == self.kind and name in self.values)
            or (kind == self.category and name in self.objects)
            for kind, name in pairs
        )


def facts(shown: SceneGeometry) -> list[Fact]:
    """All relations of two objects that hold in a scene."""
    return [
        (i, name, j)
        for name, relation in shown.terms.relations.items()
        if RULES[name].arity == 2
        for i, row in enumerate(shown.margins(name))
        for j, margin in enumerate(row)
        if i != j and margin >= relation.margin
    ]


def _closed(
    listed: frozenset[Triple], converses: Mapping[str, str], opposites: Mapping[str, str]
) -> frozenset[Triple]:
    """The closure of the triples under converse and opposite relations."""
    found: set[Triple] = set()
    waiting = sorted(listed)
    while waiting:
        subject, name, thing = waiting.pop()
        if (subject, name, thing) in found or name not in converses:
            continue
        found.add((subject, name, thing))
        waiting.append((thing, converses[name], subject))
        if name in opposites:
            waiting.append((subject, opposites[name], thing))
    return frozenset(found)
