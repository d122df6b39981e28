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
from itertools import combinations, permutations, product
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
"""The types of atoms."""


class Atom(NamedTuple):
    """One object, attribute or relation that a form asserts."""

    type: str
    """One of TYPES."""
    place: int
    """The place of its mention in the form; for a relation, the place of the relation."""
    kind: str
    """The attribute kind, the vocabulary's category word, or "relation"."""


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
        """The axes of the vocabulary's relations."""
        categories_alike_by = holdout.object_like if holdout else None
        self._alike_categories = _group_alike(list(vocabulary.objects), categories_alike_by)
        self._alike_values: dict[str, dict[str, list[str]]] = {}
        for kind in vocabulary.attributes:
            # Only values of the tested kind are held out with categories.
            values_alike_by = None
            if holdout is not None and kind == holdout.kind:
                values_alike_by = holdout.value_like
            self._alike_values[kind] = _group_alike(vocabulary.values(kind), values_alike_by)

    def atoms(self, form: Form, types: Sequence[str] = TYPES) -> list[Atom]:
        """List the atoms that a form asserts: of single objects in order of mention, then relations
        of two objects.

        Args:
            form: the form.
            types: keep only atoms of these types.
        """
        atoms = []
        for place, mention in enumerate(form.objects):
            # "two cubes" and "no cube" assert no single object.
            if mention.count != 1:
                continue
            if mention.category is not None:
                atoms.append(Atom("object", place, self._vocabulary.category))
            for kind, _ in mention.attributes:
                atoms.append(Atom("attribute", place, kind))
        for place, link in enumerate(form.relations):
            if link.holds and not link.also:
                atoms.append(Atom("relation", place, "relation"))
        return [atom for atom in atoms if atom.type in types]

    def value(self, form: Form, atom: Atom) -> str:
        """Look up the value that an atom asserts.

        Args:
            form: A form that asserts the atom.
            atom: The atom.

        Returns:
            A category, an attribute value or a relation.
        """
        if atom.type == "relation":
            return form.relations[atom.place].relation
        mention = form.objects[atom.place]
        if atom.type == "object":
            return str(mention.category)
        return mention.values[atom.kind]

    def alternatives(self, form: Form, atom: Atom, facts: Facts) -> list[str]:
        """List the values that may replace an atom's value in a form about a scene.

        Args:
            form: a form that asserts the atom.
            atom: the atom.
            facts: of the scene.

        Returns:
            For an object: categories that are neither in the scene nor in the form. For an
            attribute: the other values of its kind. For a relation: its opposite; for a direction
            also the other directions, unless one of its two objects already has a relation of that
            axis.
        """
        own = self.value(form, atom)
        if atom.type == "object":
            in_form = {mention.category for mention in form.objects}
            present = in_form.union(facts.categories)
            return [name for name in self.categories(own) if name not in present]
        if atom.type == "attribute":
            return [value for value in self.values(atom.kind, own) if value != own]
        axes = self.axes.interchangeable(self.axes.axis_of(own))
        return self.relations(form, atom, axes)

    def relations(self, form: Form, atom: Atom, axes: Iterable[int]) -> list[str]:
        """List the relations that may replace a relation. Skips other slots that one of its two
        objects already fills.

        Args:
            form: The form.
            atom: The relation in it.
            axes: The axes to take relations from.

        Returns:
            Their names, without the relation's own.
        """
        own = self.value(form, atom)
        own_slot = self.axes.slots[self.axes.axis_of(own)]
        names: list[str] = []
        for axis in axes:
            slot = self.axes.slots[axis]
            if slot != own_slot and self._fills(form, atom.place, slot):
                continue
            names += [name for name in self.axes.relations[axis] if name != own]
        return names

    def categories(self, category: str) -> list[str]:
        """The categories that are held out with the same values as `category`, including itself."""
        return self._alike_categories[category]

    def values(self, kind: str, value: str) -> list[str]:
        """List the values that are held out with the same categories as a value.

        Args:
            kind: The kind of attribute.
            value: A value of it.

        Returns:
            The values, including itself.
        """
        return self._alike_values[kind][value]

    def _fills(self, form: Form, place: int, slot: int) -> bool:
        """Whether an object of the relation at `place` is in another relation of the slot."""
        ends = {*form.relations[place].ends}
        for other_place, other in enumerate(form.relations):
            if other_place == place:
                continue
            other_slot = self.axes.slots[self.axes.axis_of(other.relation)]
            if other_slot == slot and not ends.isdisjoint(other.ends):
                return True
        return False


def _group_alike(
    names: list[str], alike_by: Callable[[str], object] | None
) -> dict[str, list[str]]:
    """For each name, the names with the same result of `alike_by`; all names if it is None."""
    if alike_by is None:
        return dict.fromkeys(names, names)
    members: dict[object, list[str]] = {}
    for name in names:
        members.setdefault(alike_by(name), []).append(name)
    return {name: members[alike_by(name)] for name in names}


class Foil(NamedTuple):
    """A changed form."""

    form: Form
    """The form after the change; false of the scene if the foil is used."""
    changed: tuple[str, ...]
    """The changes, one per atom: "place:kind:old>new"."""
    kind: str
    """Its kind of negative, such as "atom" or "swap"."""


class Foils:
    """Makes foils of forms in one vocabulary; `substitutes` lists the atoms of a form."""

    def __init__(self, vocabulary: Vocabulary, substitutes: Substitutes):
        self._vocabulary = vocabulary
        self._substitutes = substitutes
        self._category_kind = vocabulary.category
        # Triples (category, relation, category) that no scene can show.
        self._impossible: set[tuple[str, str, str]] = set()
        for name, relation in vocabulary.pair_relations.items():
            for subject, other in product(vocabulary.objects, repeat=2):
                if not can_hold(relation, subject, other, vocabulary):
                    self._impossible.add((subject, name, other))

    def replace_atom(self, form: Form, atom: Atom, value: str, kind: str = "atom") -> Foil:
        """HN-ATOM: replace the value of one atom.

        Args:
            form: The form.
            atom: The atom to replace.
            value: Its new value.
            kind: The foil's kind of negative.

        Returns:
            The foil.
        """
        if atom.type == "relation":
            link = form.relations[atom.place]
            changed_link = link._replace(relation=value)
            links = _put(form.relations, atom.place, changed_link)
            change = f"{link.subject}-{link.object}:relation:{link.relation}>{value}"
            return Foil(form._replace(relations=links), (change,), kind)
        mention = form.objects[atom.place]
        if atom.type == "object":
            changed_mention = mention._replace(category=value)
        else:
            changed_mention = mention.with_value(atom.kind, value)
        return self.change_mentions(form, {atom.place: changed_mention}, kind)

    def exchange_values(self, form: Form, kind: str, i: int = 0, j: int = 1) -> Foil:
        """HN-SWAP: exchange the values of one attribute kind between two mentions.

        Args:
            form: The form.
            kind: The kind of attribute.
            i: Place of the first mention.
            j: Place of the second mention.

        Returns:
            The foil.
        """
        first, second = form.objects[i], form.objects[j]
        changed_mentions = {
            i: first.with_value(kind, second.values[kind]),
            j: second.with_value(kind, first.values[kind]),
        }
        return self.change_mentions(form, changed_mentions, "swap")

    def exchange_ends(self, form: Form, relation: int) -> Foil:
        """`order`: exchange subject and object of a relation: "a cube left of a sphere" → "a sphere
        left of a cube".

        Args:
            form: The form.
            relation: Place of the relation.

        Returns:
            The foil.
        """
        link = form.relations[relation]
        exchanged = {
            link.subject: form.objects[link.object],
            link.object: form.objects[link.subject],
        }
        foil = self.change_mentions(form, exchanged, "order")
        # One change, not one for each word.
        return foil._replace(changed=(f"{link.subject}-{link.object}:order",))

    def flip_relation(self, form: Form, relation: int) -> Foil:
        """`flip`: replace a relation by its opposite.

        Args:
            form: The form.
            relation: Place of the relation.

        Returns:
            The foil.
        """
        name = form.relations[relation].relation
        opposite = self._vocabulary.relations[name].opposite
        atom = Atom("relation", relation, "relation")
        return self.replace_atom(form, atom, opposite, kind="flip")

    def split_compound(self, form: Form, atom: Atom, *, value: str, category: str) -> Foil:
        """HN-COMP: split a compound over two objects, each completed by a false atom.

        With the attribute `atom` "pink" of a car, the false value "blue" and the false category
        "toy": "a pink car" → "a blue car and a pink toy". The second object comes right after the
        first, and the relations of later objects keep their objects.

        Args:
            form: The form.
            atom: An attribute of one of its mentions.
            value: A false value of the same kind.
            category: A false category.

        Returns:
            The foil.
        """
        place = atom.place
        mention = form.objects[place]
        true_value = mention.values[atom.kind]
        with_false_value = mention.with_value(atom.kind, value)
        with_false_category = Mention(category, ((atom.kind, true_value),))
        before, after = form.objects[:place], form.objects[place + 1 :]
        objects = (*before, with_false_value, with_false_category, *after)

        def new_place(end: int) -> int:
            return end + 1 if end > place else end

        links = tuple(link.moved(new_place) for link in form.relations)
        changes = (
            f"{place}:{atom.kind}:{true_value}>{value}",
            f"{place}:{self._category_kind}:{mention.category}>{category}",
        )
        return Foil(form._replace(objects=objects, relations=links), changes, "comp")

    def split_relation(self, form: Form, first: tuple[Atom, str], second: tuple[Atom, str]) -> Foil:
        """HN-COMP: split a relation of two objects over two relations, each completed by a false
        atom: "a boat on the water" → "a ship is on the water and a boat on rubber".

        Args:
            form: A form with one relation.
            first: An atom with its false value.
            second: Another atom with its false value.

        Returns:
            The foil.
        """
        first_foil = self.replace_atom(form, *first)
        second_foil = self.replace_atom(form, *second)
        one, other = first_foil.form, second_foil.form

        # The objects of the second part come after those of the first.
        def new_place(end: int) -> int:
            return end + len(one.objects)

        other_links = tuple(link.moved(new_place) for link in other.relations)
        joined = Form(one.objects + other.objects, one.relations + other_links)
        return Foil(joined, first_foil.changed + second_foil.changed, "comp")

    def deny(self, form: Form, atom: Atom) -> Form:
        """HN-NEG: deny one atom of a form: "that is not red", "no cube", "is not to the left of".

        Args:
            form: The form.
            atom: The atom.

        Returns:
            The form that denies it.
        """
        if atom.type == "relation":
            denied_link = form.relations[atom.place]._replace(holds=False)
            return form._replace(relations=_put(form.relations, atom.place, denied_link))
        mention = form.objects[atom.place]
        if atom.type == "object":
            denied = mention._replace(count=0)
        else:
            denied_value = (atom.kind, mention.values[atom.kind])
            others_asserted = mention.without_kind(atom.kind)
            denied = others_asserted._replace(without=(denied_value,))
        return form._replace(objects=_put(form.objects, atom.place, denied))

    def deniable(self, form: Form) -> list[Atom]:
        """List the atoms that `deny` can take: all but related objects. At most one atom of an
        object may be denied."""
        related = {end for link in form.relations for end in link.ends}
        return [
            atom
            for atom in self._substitutes.atoms(form)
            if atom.type != "object" or atom.place not in related
        ]

    def all_swaps(self, form: Form) -> list[Foil]:
        """HN-SWAP: make every different form that one swap makes of a form (CREPE, appendix A.4).

        Exchanges two objects, related or not; exchanges two objects' values of one kind; moves an
        attribute to an object that has none of its kind; for forms of 4 atoms, permutes the objects
        in any way.
        """
        foil_of: dict[Form, Foil] = {}
        places = self.exchangeable(form)
        for i, j in combinations(places, 2):
            for foil in self.pair_swaps(form, i, j):
                foil_of.setdefault(foil.form, foil)
        if form.n_objects + form.n_attributes + form.n_relations == 4:
            for foil in self._permutations(form, places):
                foil_of.setdefault(foil.form, foil)
        # Two objects of one category: their permutation is the form itself.
        foil_of.pop(form, None)
        return list(foil_of.values())

    @staticmethod
    def exchangeable(form: Form) -> list[int]:
        """The places of the mentions that a swap may change: single objects of a named category."""
        return [
            place
            for place, mention in enumerate(form.objects)
            if mention.count == 1 and mention.category is not None
        ]

    def pair_swaps(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        """HN-SWAP between two mentions: exchange their categories or values of one kind, or move an
        attribute.

        Args:
            form: The form.
            i: Place of the first mention.
            j: Place of the second mention.

        Yields:
            The foils.
        """
        yield from self._exchanges(form, i, j)
        yield from self._moves(form, i, j)
        yield from self._moves(form, j, i)

    def is_possible(self, form: Form) -> bool:
        """Whether every relation that a form names, asserted or denied, is possible between the
        named categories.

        The text alone would reveal that an impossible relation, such as a cube on a sphere, is
        false.
        """
        for link in form.relations:
            subject = form.objects[link.subject].category
            other = form.objects[link.object].category
            if (subject, link.relation, other) in self._impossible:
                return False
        return True

    def _exchanges(self, form: Form, i: int, j: int) -> Iterator[Foil]:
        """Exchange categories, or the values of a kind that both mentions have."""
        first, second = form.objects[i], form.objects[j]
        if first.category != second.category:
            changed_mentions = {
                i: first._replace(category=second.category),
                j: second._replace(category=first.category),
            }
            yield self.change_mentions(form, changed_mentions, "swap")
        for kind, value in first.attributes:
            # An exchange of equal values would change nothing.
            if second.values.get(kind, value) != value:
                yield self.exchange_values(form, kind, i, j)

    def _moves(self, form: Form, source: int, target: int) -> Iterator[Foil]:
        """Move an attribute of mention `source` to mention `target`, if that neither has nor denies
        one of its kind."""
        giver, taker = form.objects[source], form.objects[target]
        denied_kinds = [kind for kind, _ in taker.without]
        for kind, value in giver.attributes:
            # "a cube that is not red" with the value blue would say the color twice.
            if kind not in taker.values and kind not in denied_kinds:
                changed_mentions = {
                    source: giver.without_kind(kind),
                    target: taker.with_value(kind, value),
                }
                yield self.change_mentions(form, changed_mentions, "swap")

    def _permutations(self, form: Form, places: list[int]) -> Iterator[Foil]:
        """Permute the categories of the mentions at some places in any way."""
        for order in permutations(places):
            changed_mentions = {}
            for place, origin in zip(places, order, strict=True):
                if place != origin:
                    category = form.objects[origin].category
                    changed_mentions[place] = form.objects[place]._replace(category=category)
            # The first permutation changes nothing.
            if changed_mentions:
                yield self.change_mentions(form, changed_mentions, "swap")

    def change_mentions(self, form: Form, new: dict[int, Mention], kind: str) -> Foil:
        """Replace the mentions at some places.

        Args:
            form: the form to change.
            new: the new mention by place.
            kind: the foil's kind of negative.

        Returns:
            The foil, with a change for each category and each value that differs.
        """
        objects = list(form.objects)
        changes = []
        for place, mention in new.items():
            objects[place] = mention
            for name, before, after in self._differences(form.objects[place], mention):
                changes.append(f"{place}:{name}:{before}>{after}")
        return Foil(form._replace(objects=tuple(objects)), tuple(changes), kind)

    def _differences(self, old: Mention, new: Mention) -> Iterator[tuple[str, str, str]]:
        """Yield the kind, the old and the new value of each difference; an empty value where a
        mention has none."""
        if old.category != new.category:
            yield self._category_kind, str(old.category), str(new.category)
        for kind in sorted({*old.values, *new.values}):
            before = old.values.get(kind, "")
            after = new.values.get(kind, "")
            if before != after:
                yield kind, before, after


def _put(items: tuple[T, ...], place: int, new: T) -> tuple[T, ...]:
    """The tuple with the item at `place` replaced."""
    return (*items[:place], new, *items[place + 1 :])


def denial_of(atom: Atom, value: str, taken_back: bool) -> str:
    """Name the change between a caption and a foil that denies one of its atoms.

    Args:
        atom: The atom.
        value: The value that it asserts or denies.
        taken_back: Whether it is the other way round: the caption denies the atom, and the foil
            asserts it.

    >>> denial_of(Atom("attribute", 0, "color"), "red", False)
    '0:color:red>not red'
    """
    before, after = value, f"not {value}"
    if taken_back:
        before, after = after, before
    return f"{atom.place}:{atom.kind}:{before}>{after}"
