"""Atoms of a form, and the values that may replace them in a foil."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from generator.holdout.holdout import Holdout
from generator.language.axes import Axes
from generator.language.form import Form
from generator.language.truth import Facts
from generator.vocabulary.schema import Vocabulary

TYPES = ("object", "attribute", "relation")


@dataclass(frozen=True)
class Atom:
    """One object, attribute or relation that a form asserts.

    `type` is one of TYPES. `place` is the place of its mention, or of its relation, in the form. `kind` is the
    attribute kind, the vocabulary's category word, or "relation".
    """

    type: str
    place: int
    kind: str


class Substitutes:
    """Finds what may replace an atom's value: values that exclude it and are equally likely to be true.

    With a `holdout`, values under test and categories are replaced only by those that are held out with the same
    partners. Then every binding keeps its familiarity, and the scene with the change belongs to the same split.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout | None = None):
        self._holdout = holdout
        self._vocabulary = vocabulary
        self.axes = Axes(vocabulary)

    def atoms(self, form: Form, types: Sequence[str] = TYPES) -> list[Atom]:
        """The atoms that a form asserts of single objects, in order of mention."""
        found = []
        for i, mention in enumerate(form.objects):
            if mention.count != 1:
                continue
            if mention.category is not None:
                found.append(Atom("object", i, self._vocabulary.category))
            found += [Atom("attribute", i, kind) for kind, _ in mention.attributes]
        found += [Atom("relation", k, "relation") for k, link in enumerate(form.relations) if link.holds]
        return [atom for atom in found if atom.type in types]

    def value(self, form: Form, atom: Atom) -> str:
        """What an atom asserts: a category, an attribute value or a relation."""
        if atom.type == "relation":
            return form.relations[atom.place].relation
        mention = form.objects[atom.place]
        return str(mention.category) if atom.type == "object" else mention.values[atom.kind]

    def of(self, form: Form, atom: Atom, facts: Facts) -> list[str]:
        """The values that may replace an atom's value in a form about a scene.

        For an object, categories that are neither in the scene nor in the form. For an attribute, the other values of its kind. For a
        relation, its opposite; for a direction also the other directions, unless one of its two objects already has a
        relation of that axis.
        """
        own = self.value(form, atom)
        if atom.type == "object":
            there = {*facts.categories, *(mention.category for mention in form.objects)}
            return [name for name in self.categories(own) if name not in there]
        if atom.type == "attribute":
            return [value for value in self.values(atom.kind, own) if value != own]
        return self.relations(form, atom, self.axes.interchangeable(self.axes.axis_of(own)))

    def relations(self, form: Form, atom: Atom, axes: Iterable[int]) -> list[str]:
        """The relations of some axes that may replace a relation: none of a slot that one of its two objects fills already."""
        own = self.value(form, atom)
        slot = self.axes.slots[self.axes.axis_of(own)]
        return [
            name
            for axis in axes
            if self.axes.slots[axis] == slot or not self._fills(form, atom.place, self.axes.slots[axis])
            for name in self.axes.relations[axis]
            if name != own
        ]

    def categories(self, category: str) -> list[str]:
        """The categories that are held out with the same values as this one, itself included."""
        if self._holdout is None:
            return list(self._vocabulary.objects)
        like = self._holdout.object_like
        return [name for name in self._vocabulary.objects if like(name) == like(category)]

    def values(self, kind: str, value: str) -> list[str]:
        """The values of a kind that are held out with the same categories as this one, itself included."""
        if self._holdout is None or kind != self._holdout.kind:
            return self._vocabulary.values(kind)
        like = self._holdout.value_like
        return [name for name in self._vocabulary.values(kind) if like(name) == like(value)]

    def _fills(self, form: Form, place: int, slot: int) -> bool:
        """Whether an object of the relation at `place` is in another relation of the slot."""
        link = form.relations[place]
        ends = {link.subject, link.object}
        return any(
            self.axes.slots[self.axes.axis_of(other.relation)] == slot and ends & {other.subject, other.object}
            for k, other in enumerate(form.relations)
            if k != place
        )
