"""Reads a benchmark's holdout (holdout.json), and finds the held-out content that scenes show and
texts name."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from generator.judge.geometry import RULES, SceneGeometry
from generator.judge.lexicon import FRAMES
from generator.judge.meaning import Meaning, ObjectMention, Pair

Binding = tuple[str, str]
"""(value of the tested kind, category)."""
Triple = tuple[str, str, str]
"""(category of the subject, relation, category of the object)."""
Fact = tuple[int, str, int]
"""A relation that holds in a scene: index of the subject, relation, index of the object."""

ROTATION = "rotation"
"""The design whose benchmarks are turns."""
CLASSES = "gzsl"
"""The design that holds out class lists."""
ASYMMETRIC = ("asymmetric_seen", "asymmetric_unseen")
"""Splits that share groups: in the first the true texts name nothing held out, in the second the
false texts."""
DESIGNS = ("bindsplit", "coverage", "systematicity", ROTATION, CLASSES)
"""The designs that the judge knows. Benchmarks of user-defined designs are judged by their held-out
content."""


class HeldOutCounts(NamedTuple):
    """How much held-out content a text names."""

    bindings: int = 0
    """Number of held-out bindings."""
    triples: int = 0
    """Number of held-out triples."""
    absent: bool = False
    """Whether it names a value or category that training lacks."""


class Dose(NamedTuple):
    """Held-out bindings that training shows a counted number of times."""

    times: int
    """How many training scenes show each of the bindings."""
    bindings: frozenset[Binding]
    scenes: frozenset[str]
    """The training scenes that show one of them."""


@dataclass(frozen=True)
class HeldOut:
    """What a benchmark holds out of training."""

    kind: str
    """The tested kind of attribute, such as color."""
    category: str
    """The vocabulary's word for categories, such as shape."""
    design: str
    """Name of the design; empty if the holdout has none."""
    task: str | None
    """The dataset of class lists; None for other designs."""
    bindings: frozenset[Binding]
    """The held-out bindings."""
    listed_triples: frozenset[Triple]
    """The held-out triples as listed."""
    triples: frozenset[Triple]
    """The listed triples with all that have the same meaning, by converses and opposites; and with
    every subject, where the relation is a direction of its second object."""
    absent_values: frozenset[str]
    """Values that training lacks entirely."""
    absent_objects: frozenset[str]
    """Categories that training lacks entirely."""
    class_lists: Mapping[str, Sequence[tuple[str, ...]]]
    """For the design gzsl, the labels of each list."""
    converses: Mapping[str, str]
    """The converse of each relation of the vocabulary that has one."""
    asymmetric: bool
    """Whether there are splits in which either only the true text or only its foil names something
    held out."""
    doses: tuple[Dose, ...] = ()
    """Held-out bindings that training shows a counted number of times."""

    @classmethod
    def from_record(cls, data: Mapping[str, Any], vocabulary_toml: str) -> "HeldOut":
        """Read a holdout.json.

        Raises:
            KeyError, TypeError, ValueError: It is malformed.
        """
        vocabulary = tomllib.loads(vocabulary_toml)
        relations = vocabulary.get("relations", {})
        converses = _declared_names({name: RULES[name].converse for name in relations})
        opposites = _declared_names({name: RULES[name].opposite for name in relations})
        if not data.get("opposites", True):
            opposites = {}
        listed = frozenset(
            (subject, name, object_) for subject, name, object_ in data.get("triples", ())
        )
        # The list is not trusted to be closed: what follows from a triple is held out as well.
        closed = _closure(
            frozenset(triple for triple in listed if triple[1] in relations),
            converses,
            opposites=opposites,
            categories=vocabulary.get("objects", {}),
        )
        class_lists: dict[str, list[tuple[str, ...]]] = {}
        for entry in data.get("classes", ()):
            class_lists.setdefault(entry["split"], []).append(tuple(entry["label"]))
        doses = [
            Dose(dose["times"], _bindings(dose["bindings"]), frozenset(dose["scenes"]))
            for dose in data.get("doses", ())
        ]
        return cls(
            kind=data["kind"],
            category=data["category"],
            design=data.get("design", ""),
            task=data.get("task"),
            bindings=_bindings(data["bindings"]),
            listed_triples=listed,
            triples=closed,
            absent_values=frozenset(data.get("absent_values", ())),
            absent_objects=frozenset(data.get("absent_objects", ())),
            class_lists=class_lists,
            converses=converses,
            asymmetric=bool(data.get("asymmetric", False)),
            doses=tuple(doses),
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held out."""
        names = self.absent_values or self.absent_objects
        return not (self.bindings or self.triples or names or self.class_lists)

    # What scenes show

    def bindings_of(self, scene: SceneGeometry) -> list[Binding]:
        """The bindings of a scene, at most one per object."""
        bindings = []
        for category, values in scene.objects:
            if self.kind in values:
                bindings.append((values[self.kind], category))
        return bindings

    def held_out_bindings_of(self, scene: SceneGeometry) -> list[Binding]:
        """The held-out bindings of a scene, at most one per object."""
        return [binding for binding in self.bindings_of(scene) if binding in self.bindings]

    def held_out_facts_of(self, scene: SceneGeometry) -> list[Fact]:
        """The relations that hold in a scene and whose triples are held out."""
        if not self.triples:  # computing all relations of a scene takes time
            return []
        return [fact for fact in facts(scene) if _triple_of(scene, fact) in self.triples]

    def held_out_triples_of(self, scene: SceneGeometry) -> list[Triple]:
        """The held-out triples of a scene, distinct and sorted."""
        return sorted({_triple_of(scene, fact) for fact in self.held_out_facts_of(scene)})

    def absent_names_of(self, scene: SceneGeometry) -> list[str]:
        """Values and categories of a scene that training lacks, sorted."""
        names = set()
        for category, values in scene.objects:
            names |= {values.get(self.kind, ""), category}
        return sorted(names & (self.absent_values | self.absent_objects))

    def group_of(self, scene: SceneGeometry) -> str:
        """The group of a scene: its categories and tested values in any order or pairing, and its
        held-out triples. Scenes of one group must be in one split."""
        values = sorted(values.get(self.kind, "") for _, values in scene.objects)
        categories = sorted(category for category, _ in scene.objects)
        parts = ["+".join(values), "+".join(categories)]
        triples = [" ".join(triple) for triple in self.held_out_triples_of(scene)]
        if triples:
            parts.append("+".join(triples))
        return "|".join(parts)

    def is_uneven(self, scene: SceneGeometry) -> bool:
        """Whether exchanging the values of some two objects decides whether the two show a held-out
        binding: they do either before or after, not both."""
        for first, second in combinations(self.bindings_of(scene), 2):
            (value, category), (other_value, other_category) = first, second
            exchanged = {(other_value, category), (value, other_category)}
            shows_before = not self.bindings.isdisjoint((first, second))
            shows_after = not self.bindings.isdisjoint(exchanged)
            if shows_before != shows_after:
                return True
        return False

    def dosed_in(self, scene_id: str) -> frozenset[Binding]:
        """The held-out bindings of which training may show one in this scene."""
        dosed = [dose.bindings for dose in self.doses if scene_id in dose.scenes]
        return frozenset().union(*dosed)

    def dose_split(self, held_out_bindings: Sequence[Binding]) -> str:
        """The split of a scene that shows only these held-out bindings: unseen, or that of their
        dose."""
        for dose in self.doses:
            if held_out_bindings and dose.bindings.issuperset(held_out_bindings):
                return f"dose{dose.times}"
        return "unseen"

    # What texts name

    def counts_named(self, meaning: Meaning) -> HeldOutCounts:
        """How much held-out content a text names, whether it asserts or denies it."""
        n_bindings = sum(self._names_binding(mention) for mention in meaning.objects)
        n_triples = 0
        if self.triples:
            n_triples = sum(triple in self.triples for triple in self.triples_named(meaning))
        absent = False
        if self.absent_values or self.absent_objects:
            absent = any(map(self._names_absent, meaning.objects))
        return HeldOutCounts(n_bindings, n_triples, absent)

    def bindings_named(self, meaning: Meaning) -> list[Binding]:
        """The bindings of the tested kind that a text asserts, one for each mention that has
        one."""
        bindings = []
        for mention in meaning.objects:
            # "A red object" names no category, so no binding.
            if mention.category is None:
                continue
            for kind, value in mention.attributes:
                if kind == self.kind:
                    bindings.append((value, mention.category))
        return bindings

    def triples_named(self, meaning: Meaning) -> list[Triple]:
        """The relations of two objects that a text names, by the categories of the objects."""
        categories = [mention.category or "" for mention in meaning.objects]
        triples = []
        for subject, name, object_, *_ in meaning.relations:
            triples.append((categories[subject], name, categories[object_]))
        return triples

    def names_in(self, meaning: Meaning) -> set[Pair]:
        """The values and categories that a text names, each with its kind."""
        pairs: set[Pair] = set()
        for mention in meaning.objects:
            pairs.update(self._pairs_of(mention))
        # The word for all categories is no name.
        return {(kind, name) for kind, name in pairs if name}

    def _pairs_of(self, mention: ObjectMention) -> Iterator[Pair]:
        """The values and the category of a mention, asserted or denied, each with its kind."""
        yield from mention.attributes
        if mention.without:
            yield mention.without
        yield self.category, mention.category or ""

    def _names_binding(self, mention: ObjectMention) -> bool:
        """Whether a mention names a held-out binding, with a value or category that it denies
        too: "a cube that is not red" names red cubes."""
        category, attributes, without, _ = mention
        values = [value for kind, value in attributes if kind == self.kind]
        categories: list[str | None] = [category]
        if without:
            kind, name = without
            if kind == self.kind:
                values.append(name)
            if kind == self.category:
                categories.append(name)
        for value in values:
            for named in categories:
                if (value, named) in self.bindings:
                    return True
        return False

    def _names_absent(self, mention: ObjectMention) -> bool:
        for kind, name in self._pairs_of(mention):
            if kind == self.kind and name in self.absent_values:
                return True
            if kind == self.category and name in self.absent_objects:
                return True
        return False


def facts(scene: SceneGeometry) -> list[Fact]:
    """All relations of two objects that hold in a scene."""
    holding = []
    for name, relation in scene.terms.relations.items():
        if RULES[name].arity != 2:
            continue
        for i, row in enumerate(scene.margins(name)):
            for j, margin in enumerate(row):
                if i != j and margin >= relation.margin:
                    holding.append((i, name, j))
    return holding


def _triple_of(scene: SceneGeometry, fact: Fact) -> Triple:
    i, name, j = fact
    return scene.objects[i][0], name, scene.objects[j][0]


def _bindings(listed: Sequence[Sequence[str]]) -> frozenset[Binding]:
    return frozenset((value, category) for value, category in listed)


def _declared_names(relation_of: Mapping[str, str]) -> dict[str, str]:
    """A mapping between relations, without those that map to an undeclared relation."""
    return {name: other for name, other in relation_of.items() if other in relation_of}


def own_frames_in_words(triples: Iterable[Sequence[str]]) -> str:
    """The held-out directions in objects' own frames, each with its objects; empty if there are
    none.

    >>> own_frames_in_words([("fox", "own-left", "lion"), ("fox", "own-right", "lion")])
    'own-left/own-right of lion'
    """
    directions_of: dict[str, set[str]] = {}
    for _, name, object_ in triples:
        if name in FRAMES["object"]:
            directions_of.setdefault(object_, set()).add(name)
    objects_of: dict[str, list[str]] = {}
    for object_, directions in sorted(directions_of.items()):
        objects_of.setdefault("/".join(sorted(directions)), []).append(object_)
    return " and ".join(f"{names} of {', '.join(objects)}" for names, objects in objects_of.items())


def _closure(
    listed: frozenset[Triple],
    converses: Mapping[str, str],
    *,
    opposites: Mapping[str, str],
    categories: Iterable[str],
) -> frozenset[Triple]:
    """The closure of the triples under converse and opposite relations. Nothing follows from a
    direction of an object for the directions of another, but nothing else may stand there
    either."""
    categories = tuple(categories)
    closed: set[Triple] = set()
    waiting = sorted(listed)
    while waiting:
        subject, name, object_ = waiting.pop()
        if (subject, name, object_) in closed:
            continue
        closed.add((subject, name, object_))
        if name in converses:
            waiting.append((object_, converses[name], subject))
        if name in opposites:
            waiting.append((subject, opposites[name], object_))
        if name in FRAMES["object"]:
            waiting += [(category, name, object_) for category in categories]
    return frozenset(closed)
