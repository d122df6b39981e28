"""What a benchmark holds out, as its holdout.json lists it: what of it a scene shows and a text names."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from generator.judge.files import Finding, finding
from generator.judge.geometry import Shown
from generator.judge.meaning import Said, Thing

Binding = tuple[str, str]
Triple = tuple[str, str, str]
Fact = tuple[int, str, int]
"""A relation that holds between two objects of a scene: subject, relation, object."""

CLASSES = "gzsl"
"""The design whose splits are lists of labels."""


class Named(NamedTuple):
    """How much of what is held out a text names: mentions, relations, and whether a value or object that training lacks."""

    bindings: int = 0
    triples: int = 0
    absent: bool = False


@dataclass(frozen=True)
class HeldOut:
    """What is held out: pairs (value, object) of the attribute `kind`; `listed` triples (subject, relation, object) and
    `triples`, the same with all that means the same by the vocabulary; values and objects that training lacks altogether.

    `labels` are those of the design gzsl by list: (value, object) or (subject, relation, object). `converses` and
    `opposites` are those of each relation.
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
    opposites: Mapping[str, str]

    @classmethod
    def of(cls, data: Mapping[str, Any], vocabulary_toml: str) -> "HeldOut":
        """Read a holdout.json. Raises KeyError, TypeError or ValueError where it is none."""
        listed = frozenset((s, name, o) for s, name, o in data.get("triples", ()))
        relations = tomllib.loads(vocabulary_toml).get("relations", {})
        converses, opposites = (
            {name: each[word] for name, each in relations.items() if word in each} for word in ("converse", "opposite")
        )
        labels: dict[str, list[tuple[str, ...]]] = {}
        for each in data.get("classes", ()):
            label = each["triple"] if "triple" in each else [part for pair in each["bindings"] for part in pair]
            labels.setdefault(each["split"], []).append(tuple(label))
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
            opposites,
        )

    def findings(self) -> Iterator[Finding]:
        """Triples that mean the same as a held-out one and are not listed."""
        for triple in sorted(self.triples - self.listed):
            yield finding(
                "open holdout", f"holdout.json lacks {' '.join(triple)}, which is held out with what it lists"
            )

    def bindings_shown(self, shown: Shown) -> list[Binding]:
        """The held-out bindings of a scene, one an object at most."""
        pairs = [(values[self.kind], category) for category, values in shown.objects if self.kind in values]
        return [pair for pair in pairs if pair in self.bindings]

    def facts_shown(self, shown: Shown) -> list[Fact]:
        """The relations between objects of a scene whose triples are held out."""
        if not self.triples:
            return []
        return [(i, name, j) for i, name, j in facts(shown) if self._between(shown, i, name, j) in self.triples]

    def triples_shown(self, shown: Shown) -> list[Triple]:
        """The held-out triples of a scene, sorted, each once."""
        return sorted({self._between(shown, *fact) for fact in self.facts_shown(shown)})

    def absent_shown(self, shown: Shown) -> list[str]:
        """Values and objects of a scene that training lacks."""
        names = [name for category, values in shown.objects for name in (values.get(self.kind, ""), category)]
        return sorted({*names} & (self.values | self.objects))

    def cluster(self, shown: Shown) -> str:
        """The group of scenes with the same objects and tested values in any order or pairing, and the same held-out triples."""
        values = sorted(values.get(self.kind, "") for _, values in shown.objects)
        told = ["+".join(values), "+".join(sorted(category for category, _ in shown.objects))]
        triples = [" ".join(triple) for triple in self.triples_shown(shown)]
        return "|".join([*told, *(["+".join(triples)] if triples else [])])

    def named(self, said: Said) -> Named:
        """What of it a text names, asserting or denying it."""
        bindings = sum(self._names_binding(thing) for thing in said.things)
        ends = [thing.category for thing in said.things]
        triples = sum((ends[s], name, ends[o]) in self.triples for s, name, o, _ in said.links) if self.triples else 0
        return Named(bindings, triples, bool(self.values or self.objects) and any(map(self._names_absent, said.things)))

    @staticmethod
    def _between(shown: Shown, i: int, name: str, j: int) -> Triple:
        return shown.objects[i][0], name, shown.objects[j][0]

    def _names_binding(self, thing: Thing) -> bool:
        category, attributes, without, _ = thing
        pairs = (*attributes, without) if without else attributes
        categories = (category, without[1]) if without and without[0] == self.category else (category,)
        return any((value, other) in self.bindings for of, value in pairs if of == self.kind for other in categories)

    def _names_absent(self, thing: Thing) -> bool:
        pairs = [*thing.attributes, *([thing.without] if thing.without else []), (self.category, thing.category)]
        return any(
            (kind == self.kind and name in self.values) or (kind == self.category and name in self.objects)
            for kind, name in pairs
        )


def facts(shown: Shown) -> list[Fact]:
    """The relations that hold between objects of a scene."""
    return [
        (i, name, j)
        for name, rule in shown.terms.relations.items()
        for i, row in enumerate(shown.margins(name))
        for j, margin in enumerate(row)
        if i != j and margin >= rule.margin
    ]


def _closed(listed: frozenset[Triple], converses: Mapping[str, str], opposites: Mapping[str, str]) -> frozenset[Triple]:
    """The triples with all that are the same fact by converse, and all about the opposite relation where there is one."""
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
