"""Forms: the meaning of a caption as data, and counts of the held-out bindings and triples that a
form names."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from generator.holdout.holdout import Holdout

Pairs = tuple[tuple[str, str], ...]
_compact = json.JSONEncoder(
    separators=(",", ":")
).encode  # `json.dumps` would make an encoder for each form


class Mention(NamedTuple):
    """An object that a caption says exists.

    `category` is None for "an object". `attributes` are (kind, value) pairs sorted by kind.
    `without` holds at most one
    (kind, value) pair that the caption denies; to deny a category, the kind is the vocabulary's
    category word, e.g.
    `shape`. `count` is the exact number of such objects: 0 for "no red cube", 2 for "two red
    cubes".
    """

    category: str | None
    attributes: Pairs = ()
    without: Pairs = ()
    count: int = 1  # type: ignore[assignment]  # a tuple has a method of that name

    @property
    def values(self) -> dict[str, str]:
        """The attributes as a dict from kind to value."""
        return dict(self.attributes)

    def with_value(self, kind: str, value: str) -> "Mention":
        """The mention with the value of one kind added or replaced."""
        attributes = tuple(sorted({**self.values, kind: value}.items()))
        return self._replace(attributes=attributes)

    def without_kind(self, kind: str) -> "Mention":
        """The mention without its attribute of one kind."""
        return self._replace(attributes=tuple(pair for pair in self.attributes if pair[0] != kind))


class Link(NamedTuple):
    """A relation between mentions, given by their places in the form; `holds` is False for "is not
    left of".

    `also`: places of the further objects of a relation with more than two ends, as in "between
    `object` and `also`".
    """

    subject: int
    relation: str
    object: int
    holds: bool = True
    also: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[int, ...]:
        """The places of its mentions."""
        return self.subject, self.object, *self.also

    def moved(self, place: Callable[[int], int]) -> "Link":
        """The relation with `place` applied to each of its places."""
        subject, thing, *also = map(place, self.ends)
        return self._replace(subject=subject, object=thing, also=tuple(also))


class Form(NamedTuple):
    """The meaning of a caption: `objects` exist and are all different, and `relations` hold between
    them.

    `objects` are in the order of mention. `negated` denies the whole form ("It is not true that
    …"). `environment`
    names an environment of the vocabulary, or is None.
    """

    objects: tuple[Mention, ...]
    relations: tuple[Link, ...] = ()
    negated: bool = False
    environment: str | None = None

    @property
    def n_objects(self) -> int:
        """Number of objects asserted or denied: "two cubes" counts 2, "no cube" 1."""
        return sum(max(1, mention.count) for mention in self.objects)

    @property
    def n_attributes(self) -> int:
        """Number of attributes asserted or denied."""
        return sum(len(mention.attributes) + len(mention.without) for mention in self.objects)

    @property
    def n_relations(self) -> int:
        """Number of relations asserted or denied."""
        return len(self.relations)

    @property
    def level(self) -> str:
        """The level: L1 objects only, OA with attributes, OR with relations, OAR with both."""
        named = "O" + "A" * bool(self.n_attributes) + "R" * bool(self.relations)
        return "L1" if named == "O" else named

    def reordered(self, i: int, j: int) -> "Form":
        """The form with mentions i and j in exchanged places; its meaning stays the same."""
        place = {i: j, j: i}
        objects = tuple(self.objects[place.get(n, n)] for n in range(len(self.objects)))
        links = tuple(link.moved(lambda end: place.get(end, end)) for link in self.relations)
        return self._replace(objects=objects, relations=links)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data; fields at their default are omitted (docs/language.md, Forms)."""
        objects = []
        for mention in self.objects:
            entry: dict[str, Any] = {
                "category": mention.category,
                "attributes": dict(mention.attributes),
            }
            if mention.without:
                entry["without"] = dict(mention.without)
            if mention.count != 1:
                entry["count"] = mention.count
            objects.append(entry)
        data: dict[str, Any] = {"objects": objects}
        if self.relations:
            data["relations"] = [
                [link.subject, link.relation, link.object, link.holds, *link.also]
                for link in self.relations
            ]
        if self.negated:
            data["negated"] = True
        if self.environment is not None:
            data["environment"] = self.environment
        return data

    def to_json(self) -> str:
        """Compact JSON of `to_dict`."""
        return _compact(self.to_dict())


def merge_equal_mentions(form: Form) -> Form:
    """Merges equal mentions into one with a count: "two cubes" for "a cube and a cube". For forms
    without relations."""
    numbers: dict[Mention, int] = {}
    for mention in form.objects:
        numbers[mention] = numbers.get(mention, 0) + 1
    return form._replace(objects=tuple(mention._replace(count=n) for mention, n in numbers.items()))


def count_held_out(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding plus relations that name a held-out triple.

    Denials count: "a cube that is not red" names (red, cube).
    """
    return count_bindings(form, holdout) + count_triples(form, holdout)


def count_bindings(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding."""
    return sum(_names_binding(mention, holdout) for mention in form.objects)


def count_triples(form: Form, holdout: Holdout) -> int:
    """Number of relations that are held out between the categories of their two mentions."""
    return (
        sum(names_triple(form, link, holdout) for link in form.relations) if holdout.triples else 0
    )


def names_triple(form: Form, link: Link, holdout: Holdout) -> bool:
    """Whether a relation of a form is held out between the categories of its two mentions."""
    subject, other = form.objects[link.subject].category, form.objects[link.object].category
    return (
        subject is not None
        and other is not None
        and holdout.holds_out_triple(subject, link.relation, other)
    )


def equally_familiar(one: Form, other: Form, holdout: Holdout) -> bool:
    """Whether two forms name the same numbers of held-out bindings and of held-out triples, and
    either both or neither name a value or object that is absent from training."""
    counts = [
        (count_bindings(form, holdout), count_triples(form, holdout)) for form in (one, other)
    ]
    return counts[0] == counts[1] and names_absent(one, holdout) == names_absent(other, holdout)


def relations_fit_split(form: Form, split: str, holdout: Holdout) -> bool:
    """Whether a caption's relations fit the familiarity of its split, if the scene shows held-out
    relations.

    In `unseen` every relation must be held out. In `partial` a caption with relations must name a
    held-out binding or triple.
    """
    held_out = [names_triple(form, link, holdout) for link in form.relations]
    return (
        all(held_out)
        if split == "unseen"
        else not held_out or any(held_out) or count_held_out(form, holdout) > 0
    )


def names_absent(form: Form, holdout: Holdout) -> bool:
    """Whether a form names a value or object that is absent from training."""
    if not (holdout.absent_objects or holdout.absent_values):
        return False
    pairs = [pair for mention in form.objects for pair in (*mention.attributes, *mention.without)]
    categories = [mention.category for mention in form.objects if mention.category is not None]
    return any(name in holdout.absent_objects for name in categories) or any(
        (kind == holdout.kind and value in holdout.absent_values)
        or (kind == holdout.category and value in holdout.absent_objects)
        for kind, value in pairs
    )


def _names_binding(mention: Mention, holdout: Holdout) -> bool:
    category = mention.category
    if category is not None:
        for kind, value in mention.attributes:
            if kind == holdout.kind and holdout.holds_out(value, category):
                return True
    return bool(mention.without) and _denies_binding(mention, holdout)


def _denies_binding(mention: Mention, holdout: Holdout) -> bool:
    pairs = (*mention.attributes, *mention.without)
    values = [value for kind, value in pairs if kind == holdout.kind]
    categories = [value for kind, value in mention.without if kind == holdout.category]
    if mention.category is not None:
        categories.append(mention.category)
    return any(holdout.holds_out(value, category) for value in values for category in categories)
