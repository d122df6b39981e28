"""Foils: false captions made from a true one (hard negatives). One method for each kind of change.

To add a kind of negative, write a method of `Foils` that changes a form and names the kind, and
call it from the protocols that use it. A foil enters a benchmark only if its form is false of the
scene.

The text alone must not tell a foil from the truth. If the foil's change is applied to the scene,
the foil becomes true; both scenes must be equally likely. Captions therefore name only objects that
are the only ones of their category, a substitute category is not in the scene, and a substitute
relation is decided for the same pairs of objects.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import NamedTuple, TypeVar

from generator.holdout.holdout import Holdout
from generator.language.form import Form, Mention
from generator.language.truth import Axes, Facts
from generator.scene.layouts import can_hold
from generator.vocabulary.schema import Vocabulary

T = TypeVar("T")
WHOLE = "caption:denied"
"""The change of a foil that adds or removes the denial of a whole caption."""


TYPES = ("object", "attribute", "relation")


class Atom(NamedTuple):
    """One object, attribute or relation that a form asserts.

    `type` is one of TYPES. `place` is the place of its mention, or of its relation, in the form.
    `kind` is the
    attribute kind, the vocabulary's category word, or "relation".
    """

    type: str
    place: int
    kind: str


class Substitutes:
    """Finds the values that may replace an atom's value: they exclude it and are equally likely to
    be true.

    With a `holdout`, tested values and categories are replaced only by names that are held out with
    the same partners. Then every binding keeps its familiarity, and the changed scene belongs to
    the same split.
    """

    def __init__(self, vocabulary: Vocabulary, holdout: Holdout | None = None):
        self._vocabulary = vocabulary
        self.axes = Axes(vocabulary)
        self._alike = _alike(list(vocabulary.objects), holdout.object_like if holdout else None)
        self._alike_of = {
            kind: _alike(
                vocabulary.values(kind),
                holdout.value_like if holdout and kind == holdout.kind else None,
            )
            for kind in vocabulary.attributes
        }

    def atoms(self, form: Form, types: Sequence[str] = TYPES) -> list[Atom]:
        """The asserted atoms of some `types`: of single objects in order of mention, then
        two-object relations."""
        found = []
        for i, mention in enumerate(form.objects):
            if mention.count != 1:
                continue
            if mention.category is not None:
                found.append(Atom("object", i, self._vocabulary.category))
            found += [Atom("attribute", i, kind) for kind, _ in mention.attributes]
        found += [
            Atom("relation", k, "relation")
            for k, link in enumerate(form.relations)
            if link.holds and not link.also
        ]
        return [atom for atom in found if atom.type in types]

    def value(self, form: Form, atom: Atom) -> str:
        """The value that an atom asserts: a category, an attribute value or a relation."""
        if atom.type == "relation":
            return form.relations[atom.place].relation
        mention = form.objects[atom.place]
        return str(mention.category) if atom.type == "object" else mention.values[atom.kind]

    def of(self, form: Form, atom: Atom, facts: Facts) -> list[str]:
        """The values that may replace an atom's value in a form about a scene.

        For an object: categories that are neither in the scene nor in the form. For an attribute:
        the other values of its kind. For a relation: its opposite; for a direction also the other
        directions, unless one of its two objects already has a relation of that axis.
        """
        own = self.value(form, atom)
        if atom.type == "object":
            there = {*facts.categories, *(mention.category for mention in form.objects)}
            return [name for name in self.categories(own) if name not in there]
        if atom.type == "attribute":
            return [value for value in self.values(atom.kind, own) if value != own]
        return self.relations(form, atom, self.axes.interchangeable(self.axes.axis_of(own)))

    def relations(self, form: Form, atom: Atom, axes: Iterable[int]) -> list[str]:
        """The relations of `axes` that may replace a relation. Skips other slots that one of its
        two objects already fills."""
        own = self.value(form, atom)
        slot = self.axes.slots[self.axes.axis_of(own)]
        return [
            name
            for axis in axes
            if self.axes.slots[axis] == slot
            or not self._fills(form, atom.place, self.axes.slots[axis])
            for name in self.axes.relations[axis]
            if name != own
        ]

    def categories(self, category: str) -> list[str]:
        """The categories that are held out with the same values as `category`, including itself."""
        return self._alike[category]

    def values(self, kind: str, value: str) -> list[str]:
        """The values of a kind that are held out with the same categories as `value`, including
        itself."""
        return self._alike_of[kind][value]

    def _fills(self, form: Form, place: int, slot: int) -> bool:
        """Whether an object of the relation at `place` is in another relation of the slot."""
        ends = {*form.relations[place].ends}
        return any(
            self.axes.slots[self.axes.axis_of(other.relation)] == slot and ends & {*other.ends}
            for k, other in enumerate(form.relations)
            if k != place
        )


def _alike(names: list[str], like: Callable[[str], object] | None) -> dict[str, list[str]]:
    """For each name, the names with the same result of `like`; all names if `like` is None."""
    told = {name: like(name) if like else None for name in names}
    return {name: [other for other in names if told[other] == told[name]] for name in names}


class Foil(NamedTuple):
    """A changed form, its changes ("place:kind:old>new", one per atom), and its kind of
    negative."""

    form: Form
    changed: tuple[str, ...]
    kind: str


class Foils:
    """Makes foils of forms in one vocabulary; `substitutes` lists the atoms of a form."""

    def __init__(self, vocabulary: Vocabulary, substitutes: Substitutes):
        self._vocabulary = vocabulary
        self._substitutes = substitutes
        self._category = vocabulary.category
        names = list(vocabulary.objects)
        self._impossible = {
            (subject, name, other)
            for name, relation in vocabulary.pair_relations.items()
            for subject in names
            for other in names
            if not can_hold(relation, subject, other, vocabulary)
        }

    def replace_atom(self, form: Form, atom: Atom, value: str, kind: str = "atom") -> Foil:
        """HN-ATOM: the value of one atom replaced."""
        if atom.type == "relation":
            link = form.relations[atom.place]
            links = _put(form.relations, atom.place, link._replace(relation=value))
            changed = f"{link.subject}-{link.object}:relation:{link.relation}>{value}"
            return Foil(form._replace(relations=links), (changed,), kind)
        mention = form.objects[atom.place]
        new = (
            mention._replace(category=value)
            if atom.type == "object"
            else mention.with_value(atom.kind, value)
        )
        return self.change_mentions(form, {atom.place: new}, kind)

    def exchange_values(self, form: Form, kind: str, i: int = 0, j: int = 1) -> Foil:
        """HN-SWAP: the values of one attribute kind exchanged between two mentions."""
        a, b = form.objects[i], form.objects[j]
        new = {i: a.with_value(kind, b.values[kind]), j: b.with_value(kind, a.values[kind])}
        return self.change_mentions(form, new, "swap")

    def exchange_ends(self, form: Form, relation: int) -> Foil:
        """`order`: subject and object of a relation exchanged: "a cube left of a sphere" → "a
        sphere left of a cube"."""
        link = form.relations[relation]
        new = {link.subject: form.objects[link.object], link.object: form.objects[link.subject]}
        return self.change_mentions(form, new, "order")._replace(
            changed=(f"{link.subject}-{link.object}:order",)
        )

    def flip_relation(self, form: Form, relation: int) -> Foil:
        """`flip`: a relation replaced by its opposite."""
        opposite = self._vocabulary.relations[form.relations[relation].relation].opposite
        return self.replace_atom(form, Atom("relation", relation, "relation"), opposite, "flip")

    def split_compound(self, form: Form, atom: Atom, value: str, category: str) -> Foil:
        """HN-COMP: a compound split over two objects, each completed by a false atom.

        With the attribute `atom` "pink" of a car, the false value "blue" and the false category
        "toy": "a pink car" → "a blue car and a pink toy".
        """
        mention, place = form.objects[atom.place], atom.place
        true = mention.values[atom.kind]
        second = Mention(category, ((atom.kind, true),))
        objects = (
            *form.objects[:place],
            mention.with_value(atom.kind, value),
            second,
            *form.objects[place + 1 :],
        )
        links = tuple(link.moved(lambda end: end + (end > place)) for link in form.relations)
        changed = (
            f"{place}:{atom.kind}:{true}>{value}",
            f"{place}:{self._category}:{mention.category}>{category}",
        )
        return Foil(form._replace(objects=objects, relations=links), changed, "comp")

    def split_relation(self, form: Form, first: tuple[Atom, str], second: tuple[Atom, str]) -> Foil:
        """HN-COMP: a relation of two objects split over two relations, each completed by a false
        atom.

        `first` and `second` are different atoms with their false values: "a boat on the water" → "a
        ship is on the
        water and a boat on rubber".
        """
        parts = [self.replace_atom(form, atom, value) for atom, value in (first, second)]
        n = len(form.objects)
        links = tuple(each.moved(lambda end: end + n) for each in parts[1].form.relations)
        joined = Form(
            parts[0].form.objects + parts[1].form.objects, parts[0].form.relations + links
        )
        return Foil(joined, parts[0].changed + parts[1].changed, "comp")

    def deny(self, form: Form, atom: Atom) -> Form:
        """HN-NEG: the form with one atom denied: "that is not red", "no cube", "is not to the left
        of"."""
        if atom.type == "relation":
            link = form.relations[atom.place]
            return form._replace(
                relations=_put(form.relations, atom.place, link._replace(holds=False))
            )
        mention = form.objects[atom.place]
        if atom.type == "object":
            new = mention._replace(count=0)
        else:
            new = mention.without_kind(atom.kind)._replace(
                without=((atom.kind, mention.values[atom.kind]),)
            )
        return form._replace(objects=_put(form.objects, atom.place, new))

    def deniable(self, form: Form) -> list[Atom]:
        """The atoms that `deny` can take: all but related objects. At most one atom of an object
        may be denied."""
        related = {end for link in form.relations for end in link.ends}
        return [
            atom
            for atom in self._substitutes.atoms(form)
            if atom.type != "object" or atom.place not in related
        ]

    def all_swaps(self, form: Form) -> list[Foil]:
        """HN-SWAP: every different form that one swap makes of a form (CREPE, appendix A.4).

        Exchanges two objects, related or not; exchanges two objects' values of one kind; moves an
        attribute to an object that has none of its kind; for forms of 4 atoms, permutes the objects
        in any way.
        """
        found: dict[Form, Foil] = {}
        single = self.exchangeable(form)
        for i, j in combinations(single, 2):
            for foil in self.pair_swaps(form, i, j):
                found.setdefault(foil.form, foil)
        if form.n_objects + form.n_attributes + form.n_relations == 4:
            for foil in self._permutations(form, single):
                found.setdefault(foil.form, foil)
        found.pop(form, None)
        return list(found.values())

    @staticmethod
    def exchangeable(form: Form) -> list[int]:
        """The places of the mentions that a swap may change: single objects of a named category."""
        return [
            i
            for i, mention in enumerate(form.objects)
            if mention.count == 1 and mention.category is not None
        ]

    def pair_swaps(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        """HN-SWAP between two mentions: their categories or values of one kind exchanged, or an
        attribute moved."""
        yield from self._exchanges(form, i, j)
        yield from self._moves(form, i, j)
        yield from self._moves(form, j, i)

    def possible(self, form: Form) -> bool:
        """Whether every relation that a form names, asserted or denied, is possible between the
        named categories.

        The text alone would reveal that an impossible relation, such as a cube on a sphere, is
        false.
        """
        return not any(
            (form.objects[link.subject].category, link.relation, form.objects[link.object].category)
            in self._impossible
            for link in form.relations
        )

    def _exchanges(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        a, b = form.objects[i], form.objects[j]
        if a.category != b.category:
            new = {i: a._replace(category=b.category), j: b._replace(category=a.category)}
            yield self.change_mentions(form, new, "swap")
        for kind in a.values:
            if kind in b.values and a.values[kind] != b.values[kind]:
                yield self.exchange_values(form, kind, i, j)

    def _moves(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        a, b = form.objects[i], form.objects[j]
        for kind, value in a.attributes:
            if kind not in b.values and all(denied != kind for denied, _ in b.without):
                yield self.change_mentions(
                    form, {i: a.without_kind(kind), j: b.with_value(kind, value)}, "swap"
                )

    def _permutations(self, form: Form, single: list[int]) -> Iterator[Foil]:
        for order in permutations(single):
            new = {
                i: form.objects[i]._replace(category=form.objects[j].category)
                for i, j in zip(single, order, strict=True)
                if i != j
            }
            if new:
                yield self.change_mentions(form, new, "swap")

    def change_mentions(self, form: Form, new: dict[int, Mention], kind: str) -> Foil:
        """The foil in which the mentions at some places are replaced; `new` maps place to
        mention."""
        objects = tuple(new.get(i, mention) for i, mention in enumerate(form.objects))
        changed = tuple(
            f"{i}:{name}:{before}>{after}"
            for i, mention in new.items()
            for name, before, after in self._differences(form.objects[i], mention)
        )
        return Foil(form._replace(objects=objects), changed, kind)

    def _differences(self, old: Mention, new: Mention) -> Iterator[tuple[str, str, str]]:
        if old.category != new.category:
            yield self._category, str(old.category), str(new.category)
        for kind in sorted({*old.values, *new.values}):
            before, after = old.values.get(kind, ""), new.values.get(kind, "")
            if before != after:
                yield kind, before, after


def _put(items: tuple[T, ...], place: int, new: T) -> tuple[T, ...]:
    return (*items[:place], new, *items[place + 1 :])


def denial_of(atom: Atom, value: str, taken_back: bool) -> str:
    """The change of a foil that denies an atom; with `taken_back`, of a foil that asserts an atom
    that its caption denies."""
    before, after = (f"not {value}", value) if taken_back else (value, f"not {value}")
    return f"{atom.place}:{atom.kind}:{before}>{after}"
