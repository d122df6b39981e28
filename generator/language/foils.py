"""Captions made from a true one so as to mislead (hard negatives): forms only, whose truth is decided elsewhere.

What keeps a reader of the words alone at chance: whatever is changed, the changed text is true of exactly the scene in
which the same change is made, and that scene is as likely as this one. So an object of a caption is the only one of its
category in the scene, a substitute category is not in the scene, a relation becomes one that decides the same pair, and
the generator would, in the changed scene, choose this text as the foil of that one as readily.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeVar

from generator.holdout.holdout import Holdout
from generator.language.axes import Axes
from generator.language.form import Form, Mention
from generator.language.truth import Facts
from generator.scene.stacks import can_hold
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")


@dataclass(frozen=True)
class Atom:
    """One thing that a form asserts: `type` object, attribute or relation; the place of its mention or relation; its kind."""

    type: str
    place: int
    kind: str


@dataclass(frozen=True)
class Foil:
    """A changed form, what was changed ("place:kind:old>new" for each atom), and the kind of negative it is."""

    form: Form
    changed: tuple[str, ...]
    kind: str


class Foils:
    """Hard negatives in the words of one vocabulary: foils of an atom come from the values that exclude it.

    With a `holdout` a tested value and a category give way only to those that are held out with the same, so that every
    binding keeps its familiarity, said or not, and the changed scene belongs to the same split.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout | None = None):
        self._holdout = holdout
        self._vocabulary = vocabulary
        self._category = vocabulary.category
        self.axes = Axes(vocabulary)
        names = list(vocabulary.objects)
        self._impossible = {
            (subject, name, other)
            for name, relation in vocabulary.relations.items()
            for subject in names
            for other in names
            if not can_hold(relation, subject, other, vocabulary)
        }

    def atoms(self, form: Form, types: Sequence[str] = ("object", "attribute", "relation")) -> list[Atom]:
        """The atoms that a form asserts of single objects, in order of mention."""
        found = []
        for i, mention in enumerate(form.objects):
            if mention.count != 1:
                continue
            if mention.category is not None:
                found.append(Atom("object", i, self._category))
            found += [Atom("attribute", i, kind) for kind, _ in mention.attributes]
        found += [Atom("relation", k, "relation") for k, link in enumerate(form.relations) if link.holds]
        return [atom for atom in found if atom.type in types]

    def value(self, form: Form, atom: Atom) -> str:
        """What an atom says: a category, a value, a relation."""
        if atom.type == "relation":
            return form.relations[atom.place].relation
        mention = form.objects[atom.place]
        return str(mention.category) if atom.type == "object" else mention.values[atom.kind]

    def substitutes(self, form: Form, atom: Atom, facts: Facts, things: Sequence[int]) -> list[str]:
        """What the atom's value may become: mutually exclusive with it, and as likely to be the truth.

        For an object, categories that are not in the scene; for an attribute, every other value of its kind; for a
        relation, its opposite, and for a direction those of the other axis of directions, where neither object is in
        another relation of that axis.
        """
        own = self.value(form, atom)
        if atom.type == "object":
            there = set(facts.categories)
            return [name for name in self.categories_like(own) if name not in there]
        if atom.type == "attribute":
            return [value for value in self.values_like(atom.kind, own) if value != own]
        link = form.relations[atom.place]
        own_axis = self.axes.of(link.relation)
        return [
            name
            for axis in self.axes.alike(own_axis)
            if axis == own_axis or not self._busy(form, atom.place, self.axes.names[axis])
            for name in self.axes.names[axis]
            if name != link.relation
        ]

    def categories_like(self, category: str) -> list[str]:
        """The categories that are held out with the same values."""
        if self._holdout is None:
            return list(self._vocabulary.objects)
        like = self._holdout.object_like
        return [name for name in self._vocabulary.objects if like(name) == like(category)]

    def values_like(self, kind: str, value: str) -> list[str]:
        """The values of a kind that are held out with the same categories."""
        if self._holdout is None or kind != self._holdout.kind:
            return self._vocabulary.values(kind)
        like = self._holdout.value_like
        return [name for name in self._vocabulary.values(kind) if like(name) == like(value)]

    def _busy(self, form: Form, place: int, axis: Sequence[str]) -> bool:
        link = form.relations[place]
        ends = {link.subject, link.object}
        return any(
            other.relation in axis and ends & {other.subject, other.object}
            for k, other in enumerate(form.relations)
            if k != place
        )

    def with_atom(self, form: Form, atom: Atom, value: str, kind: str = "atom") -> Foil:
        """The form with an atom's value replaced."""
        old = self.value(form, atom)
        if atom.type == "relation":
            link = form.relations[atom.place]
            links = _put(form.relations, atom.place, replace(link, relation=value))
            return Foil(replace(form, relations=links), (f"{link.subject}-{link.object}:relation:{old}>{value}",), kind)
        mention = form.objects[atom.place]
        new = replace(mention, category=value) if atom.type == "object" else mention.given(atom.kind, value)
        objects = _put(form.objects, atom.place, new)
        return Foil(replace(form, objects=objects), (f"{atom.place}:{atom.kind}:{old}>{value}",), kind)

    def swaps(self, form: Form) -> list[Foil]:
        """HN-SWAP: everything that exchanging two atoms of one type, moving an attribute or permuting makes of a form.

        Two objects exchanged, related or not; values of one kind exchanged between two objects; an attribute moved to
        an object of which none of its kind is said; for N = 4 any permutation of the objects (CREPE, appendix A.4).
        """
        found: dict[Form, Foil] = {}
        single = [i for i, mention in enumerate(form.objects) if mention.count == 1 and mention.category is not None]
        for n, i in enumerate(single):
            for j in single[n + 1 :]:
                for foil in (*self._exchanges(form, i, j), *self._moves(form, i, j), *self._moves(form, j, i)):
                    found.setdefault(foil.form, foil)
        if form.n_objects + form.n_attributes + form.n_relations == 4:
            for foil in self._permutations(form, single):
                found.setdefault(foil.form, foil)
        found.pop(form, None)
        return list(found.values())

    def _exchanges(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        a, b = form.objects[i], form.objects[j]
        if a.category != b.category:
            yield self._foil(form, {i: replace(a, category=b.category), j: replace(b, category=a.category)}, "swap")
        for kind in a.values:
            if kind in b.values and a.values[kind] != b.values[kind]:
                yield self.exchanged(form, kind, i, j)

    def exchanged(self, form: Form, kind: str, i: int = 0, j: int = 1) -> Foil:
        """The values of one attribute kind exchanged between two mentions."""
        a, b = form.objects[i], form.objects[j]
        return self._foil(form, {i: a.given(kind, b.values[kind]), j: b.given(kind, a.values[kind])}, "swap")

    def _moves(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        a, b = form.objects[i], form.objects[j]
        for kind, value in a.attributes:
            if kind not in b.values and all(denied != kind for denied, _ in b.without):
                yield self._foil(form, {i: a.lacking(kind), j: b.given(kind, value)}, "swap")

    def _permutations(self, form: Form, single: list[int]) -> Iterator[Foil]:
        for order in permutations(single):
            new = {
                i: replace(form.objects[i], category=form.objects[j].category)
                for i, j in zip(single, order, strict=True)
                if i != j
            }
            if new:
                yield self._foil(form, new, "swap")

    def turned(self, form: Form, place: int) -> Foil:
        """A relation's subject and object exchanged: "a cube left of a sphere" to "a sphere left of a cube"."""
        link = form.relations[place]
        new = {link.subject: form.objects[link.object], link.object: form.objects[link.subject]}
        return replace(self._foil(form, new, "order"), changed=(f"{link.subject}-{link.object}:order",))

    def flipped(self, form: Form, place: int) -> Foil:
        """A relation become its opposite."""
        opposite = self._vocabulary.relations[form.relations[place].relation].opposite
        return self.with_atom(form, Atom("relation", place, "relation"), opposite, "flip")

    def possible(self, form: Form) -> bool:
        """Whether all that is said to rest on another, or not to, could: else the words alone would tell the truth."""
        return not any(
            (form.objects[link.subject].category, link.relation, form.objects[link.object].category) in self._impossible
            for link in form.relations
        )

    def split(self, form: Form, atom: Atom, value: str, category: str) -> Foil:
        """HN-COMP: a compound's atoms over two objects, each with a foil: "a pink car" to "a blue car and a pink toy"."""
        mention, place = form.objects[atom.place], atom.place
        true = mention.values[atom.kind]
        second = Mention(category, ((atom.kind, true),))
        objects = (*form.objects[:place], mention.given(atom.kind, value), second, *form.objects[place + 1 :])
        links = tuple(
            replace(link, subject=link.subject + (link.subject > place), object=link.object + (link.object > place))
            for link in form.relations
        )
        changed = (f"{place}:{atom.kind}:{true}>{value}", f"{place}:{self._category}:{mention.category}>{category}")
        return Foil(replace(form, objects=objects, relations=links), changed, "comp")

    def denied(self, form: Form, atom: Atom) -> Form:
        """HN-NEG: the form with one atom denied: "that is not red", "no cube", "is not to the left of"."""
        if atom.type == "relation":
            link = form.relations[atom.place]
            return replace(form, relations=_put(form.relations, atom.place, replace(link, holds=False)))
        mention = form.objects[atom.place]
        if atom.type == "object":
            new = replace(mention, count=0)
        else:
            new = replace(mention.lacking(atom.kind), without=((atom.kind, mention.values[atom.kind]),))
        return replace(form, objects=_put(form.objects, atom.place, new))

    def deniable(self, form: Form) -> list[Atom]:
        """Atoms that can be denied so that nothing else of the form is touched: one of an object at most goes together."""
        related = {end for link in form.relations for end in (link.subject, link.object)}
        return [atom for atom in self.atoms(form) if atom.type != "object" or atom.place not in related]

    def _foil(self, form: Form, new: dict[int, Mention], kind: str) -> Foil:
        objects = tuple(new.get(i, mention) for i, mention in enumerate(form.objects))
        changed = tuple(
            f"{i}:{name}:{before}>{after}"
            for i, mention in new.items()
            for name, before, after in self._differences(form.objects[i], mention)
        )
        return Foil(replace(form, objects=objects), changed, kind)

    def _differences(self, old: Mention, new: Mention) -> Iterator[tuple[str, str, str]]:
        if old.category != new.category:
            yield self._category, str(old.category), str(new.category)
        for kind in sorted({*old.values, *new.values}):
            before, after = old.values.get(kind, ""), new.values.get(kind, "")
            if before != after:
                yield kind, before, after


def _put(items: tuple[T, ...], place: int, new: T) -> tuple[T, ...]:
    return (*items[:place], new, *items[place + 1 :])
