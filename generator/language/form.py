"""Forms: the meaning of a caption as data, and counts of the held-out bindings and triples that a
form names."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from generator.dataset.own_frames import is_own_direction
from generator.holdout.holdout import Holdout

KindValues = tuple[tuple[str, str], ...]
"""Attribute values as pairs (kind, value), such as ("color", "red")."""
SAME_SCENE, FIRST_IMAGE = "same scene", "first image"
"""The views that two images show one world, and that an image is the first of the two. An image is
the first of one question and an option of another, so they have words of their own."""
VIEWS: dict[str, str] = {
    FIRST_IMAGE: "the first image",
    SAME_SCENE: "the same scene",
    "turn 90": "by one quarter turn to the right",
    "turn 180": "by two quarter turns",
    "turn 270": "by one quarter turn to the left",
    "from front": "from in front of the {}",
    "from behind": "from behind the {}",
    "from left": "from the {}'s left",
    "from right": "from the {}'s right",
}
"""By view, its words; {} stands for the object. A turn is that of the camera from the first image
to the second, counter-clockwise as seen from above: the camera moves to its right. A side is where
the camera of the second image stands as the object looks."""
# One encoder for all forms: with separators, `json.dumps` would make a new one at each call.
_compact = json.JSONEncoder(separators=(",", ":")).encode


class Mention(NamedTuple):
    """An object that a caption says exists."""

    category: str | None
    """The category; None for "an object"."""
    attributes: KindValues = ()
    """Its values that the caption asserts, sorted by kind."""
    without: KindValues = ()
    """At most one value that the caption denies. To deny a category, the kind is the vocabulary's
    category word, e.g. `shape`."""
    count: int = 1  # type: ignore[assignment]  # a tuple has a method of that name
    """The exact number of such objects: 0 for "no red cube", 2 for "two red cubes"."""

    @property
    def values(self) -> dict[str, str]:
        """The attributes as a dict from kind to value."""
        return dict(self.attributes)

    def with_value(self, kind: str, value: str) -> "Mention":
        """The mention with the value of one kind added or replaced."""
        values = {**self.values, kind: value}
        return self._replace(attributes=tuple(sorted(values.items())))

    def without_kind(self, kind: str) -> "Mention":
        """The mention without its attribute of one kind."""
        others = [pair for pair in self.attributes if pair[0] != kind]
        return self._replace(attributes=tuple(others))


class Link(NamedTuple):
    """A relation between mentions, given by their places in the form."""

    subject: int
    """The place of the mention that stands in the relation."""
    relation: str
    """The name of the relation."""
    object: int
    """The place of the mention to which it stands so."""
    holds: bool = True
    """False if the caption denies the relation: "is not left of"."""
    also: tuple[int, ...] = ()
    """Places of the other objects of a relation with more than two ends, as in "between `object`
    and `also`"."""

    @property
    def ends(self) -> tuple[int, ...]:
        """The places of its mentions."""
        return self.subject, self.object, *self.also

    def moved(self, place: Callable[[int], int]) -> "Link":
        """The relation with `place` applied to each of its places.

        >>> Link(0, "left", 1).moved(lambda end: end + 2)
        Link(subject=2, relation='left', object=3, holds=True, also=())
        """
        return self._replace(
            subject=place(self.subject),
            object=place(self.object),
            also=tuple(place(end) for end in self.also),
        )


class Form(NamedTuple):
    """The meaning of a caption: objects exist and are all different, and relations hold between
    them."""

    objects: tuple[Mention, ...]
    """The objects, in the order of mention. A place in the form is an index of this tuple."""
    relations: tuple[Link, ...] = ()
    """The relations, in the order of mention."""
    negated: bool = False
    """Whether the caption denies the whole form: "It is not true that …"."""
    environment: str | None = None
    """The environment of the vocabulary that the caption names; None if it names none."""
    view: str | None = None
    """What the text says of two images of a world, of VIEWS; it then says nothing else, and may
    name an object. None for a caption of one image."""

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
        return level_of(self.n_attributes, self.n_relations)

    def reordered(self, i: int, j: int) -> "Form":
        """The form with mentions i and j in exchanged places; its meaning stays the same."""
        objects = list(self.objects)
        objects[i], objects[j] = objects[j], objects[i]
        exchanged = {i: j, j: i}

        def new_place(end: int) -> int:
            return exchanged.get(end, end)

        links = tuple(link.moved(new_place) for link in self.relations)
        return self._replace(objects=tuple(objects), relations=links)

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
        if self.view is not None:
            data["view"] = self.view
        return data

    def to_json(self) -> str:
        """Compact JSON of `to_dict`."""
        return _compact(self.to_dict())


def level_of(n_attributes: int, n_relations: int) -> str:
    """The level of a caption: L1 objects only, OA with attributes, OR with relations, OAR with both
    (COMPASS, section 3.1).

    >>> level_of(0, 0), level_of(2, 0), level_of(0, 1), level_of(2, 1)
    ('L1', 'OA', 'OR', 'OAR')
    """
    if n_attributes and n_relations:
        return "OAR"
    if n_attributes:
        return "OA"
    return "OR" if n_relations else "L1"


def merge_equal_mentions(form: Form) -> Form:
    """Merge equal mentions into one with a count, in a form without relations.

    >>> merge_equal_mentions(Form((Mention("cube"), Mention("cube")))).objects[0].count
    2
    """
    # A Counter keeps the order in which mentions first occur.
    numbers = Counter(form.objects)
    merged = [mention._replace(count=n) for mention, n in numbers.items()]
    return form._replace(objects=tuple(merged))


def count_held_out(form: Form, holdout: Holdout) -> int:
    """Count what of a form is held out.

    Denials count: "a cube that is not red" names (red, cube).

    Args:
        form: The form.
        holdout: The holdout.

    Returns:
        The number of mentions that name a held-out binding, plus that of relations that name a
        held-out triple.
    """
    return count_bindings(form, holdout) + count_triples(form, holdout)


def count_bindings(form: Form, holdout: Holdout) -> int:
    """Number of mentions that name a held-out binding."""
    return sum(_names_binding(mention, holdout) for mention in form.objects)


def count_triples(form: Form, holdout: Holdout) -> int:
    """Number of relations that are held out between the categories of their two mentions."""
    if not holdout.triples:
        return 0
    return sum(names_triple(form, link, holdout) for link in form.relations)


def names_triple(form: Form, link: Link, holdout: Holdout) -> bool:
    """Check whether a relation of a form is held out between the categories of its two mentions.

    Args:
        form: The form.
        link: One of its relations.
        holdout: The holdout.

    Returns:
        Whether it is; False where a mention names no category.
    """
    subject = form.objects[link.subject].category
    other = form.objects[link.object].category
    if subject is None or other is None:
        return False
    return holdout.holds_out_triple(subject, link.relation, other)


def equally_familiar(one: Form, other: Form, holdout: Holdout) -> bool:
    """Check that two forms are as familiar as each other.

    Args:
        one: A form.
        other: Another one.
        holdout: The holdout.

    Returns:
        Whether they name the same numbers of held-out bindings and of held-out triples, and either
        both or neither name a value or object that is absent from training.
    """
    return (
        count_bindings(one, holdout) == count_bindings(other, holdout)
        and count_triples(one, holdout) == count_triples(other, holdout)
        and names_absent(one, holdout) == names_absent(other, holdout)
    )


def relations_fit_split(form: Form, split: str, holdout: Holdout) -> bool:
    """Whether a caption's relations fit the familiarity of its split, if the scene has relations to
    test (`membership.tested_facts`).

    Args:
        form: the meaning of the caption.
        split: of its scene.
        holdout: what training never shows.

    Returns:
        In `unseen`, whether every relation is held out. In `seen`, which has relations to test only
        in a rotation of own directions, whether another turn holds out every relation. In other
        splits, such as `partial`, whether a caption with relations names a held-out binding or
        triple.
    """
    if split == "unseen":
        return all(names_triple(form, link, holdout) for link in form.relations)
    if split == "seen":
        return all(_is_held_out_in_another_turn(form, link, holdout) for link in form.relations)
    return not form.relations or count_held_out(form, holdout) > 0


def _is_held_out_in_another_turn(form: Form, link: Link, holdout: Holdout) -> bool:
    """Whether a relation is an own direction of a named object that this turn does not hold out."""
    subject = form.objects[link.subject].category
    other = form.objects[link.object].category
    if subject is None or other is None or not is_own_direction(link.relation):
        return False
    return not holdout.holds_out_triple(subject, link.relation, other)


def names_absent(form: Form, holdout: Holdout) -> bool:
    """Whether a form names a value or object that is absent from training."""
    if not (holdout.absent_objects or holdout.absent_values):
        return False
    for mention in form.objects:
        if mention.category in holdout.absent_objects:
            return True
        for kind, value in (*mention.attributes, *mention.without):
            if kind == holdout.kind and value in holdout.absent_values:
                return True
            # A denied category is a value of the category word: "an object that is not a cube".
            if kind == holdout.category and value in holdout.absent_objects:
                return True
    return False


def _names_binding(mention: Mention, holdout: Holdout) -> bool:
    """Whether a mention names a held-out binding, asserted or denied."""
    # Most mentions deny nothing: then only the asserted category and values can make a binding.
    category = mention.category
    if category is not None:
        for kind, value in mention.attributes:
            if kind == holdout.kind and holdout.holds_out(value, category):
                return True
    return bool(mention.without) and _denies_binding(mention, holdout)


def _denies_binding(mention: Mention, holdout: Holdout) -> bool:
    """Whether the asserted and denied names of a mention together make a held-out binding: "a cube
    that is not red" names red and cube."""
    pairs = (*mention.attributes, *mention.without)
    values = [value for kind, value in pairs if kind == holdout.kind]
    categories = [value for kind, value in mention.without if kind == holdout.category]
    if mention.category is not None:
        categories.append(mention.category)
    return any(holdout.holds_out(*binding) for binding in product(values, categories))
