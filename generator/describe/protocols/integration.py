"""Composed captions and their primitives, each with the same change (COMPASS, section 5 and appendix A)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Grid, Item, Language, Subject, Text
from generator.language.complexity import Cell
from generator.language.foils import Atom, Foil
from generator.language.form import Form, Link, Mention

_ATTEMPTS = 3
LEVELS = ("L1", "OA", "OR", "OAR")


class Integration:
    """A caption of N atoms with N foils, one an atom, and N decomposed captions d1 … dN, each with the same change.

    The substitute of an object or attribute occurs nowhere in the scene and what it replaces occurs once; a relation's
    is its opposite. So both negatives are false, and nothing else of either text changes.
    """

    name = "integration"

    def __init__(self, language: Language, cells: Sequence[Cell]):
        self._language = language
        vocabulary = language.vocabulary
        kinds = sum(len(values) > 2 for values in vocabulary.attributes.values())
        usable = [cell for cell in cells if cell.n_attributes <= kinds * cell.n_objects]
        self.grids = {
            level: Grid(found) for level in LEVELS if (found := [cell for cell in usable if cell.level == level])
        }

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        for level, grid in self.grids.items():
            made = self._language.draw(subject, grid, stream, self._make)
            if not made:
                self._language.dropped[f"{self.name} {level}"] += 1
            yield from made

    def _make(self, subject: Subject, cell: Cell, stream: Stream) -> list[Item]:
        language, facts = self._language, subject.facts
        shown = {kind: Counter(values[kind] for values in facts.values) for kind in language.vocabulary.attributes}
        absent = {
            kind: [value for value in values if value not in shown[kind]]
            for kind, values in language.vocabulary.attributes.items()
        }
        found = language.walker.walk(
            facts, cell, subject.lone, stream,
            lambda thing: [kind for kind in shown if absent[kind] and shown[kind][facts.values[thing][kind]] == 1],
        )  # fmt: skip
        if found is None or not subject.suits(found.things):
            return []
        form = found.form
        foils = []
        for atom in language.foils.atoms(form):
            values = self._others(form, atom, subject, found.things)
            if atom.type == "attribute":
                values = [value for value in values if value in absent[atom.kind]]
            foil = self._changed(form, atom, values, subject, stream)
            if foil is None:
                return []
            foils.append((atom, foil))
        style = language.style([form, *(foil.form for _, foil in foils)], stream)
        return [self._item(form, style, foils)] if style else []

    def _others(self, form: Form, atom: Atom, subject: Subject, things: Sequence[int]) -> list[str]:
        if atom.type == "relation":
            return [self._language.vocabulary.relations[form.relations[atom.place].relation].opposite]
        return self._language.foils.substitutes(form, atom, subject.facts, things)

    def _changed(self, form: Form, atom: Atom, values: Sequence[str], subject: Subject, stream: Stream) -> Foil | None:
        """The form with one atom changed so that it is false whole and taken apart."""
        language = self._language
        for value in stream.shuffled(values)[:_ATTEMPTS]:
            foil = language.foils.with_atom(form, atom, value, atom.type)
            part, other = _primitive(form, atom), _primitive(foil.form, atom)
            if language.admits(form, foil.form, subject) and language.admits(part, other, subject):
                return foil
        return None

    def _item(self, form: Form, style: str, foils: list[tuple[Atom, Foil]]) -> Item:
        caption = Text(form, style)
        candidates = [Candidate(caption, "c", True)]
        candidates += [
            Candidate(Text(foil.form, style), "n", False, foil.kind, foil.changed, caption) for _, foil in foils
        ]
        for n, (atom, foil) in enumerate(foils, 1):
            template = {"object": "in-image", "attribute": "there-is", "relation": "clauses"}[atom.type]
            part, other = Text(_primitive(form, atom), template), Text(_primitive(foil.form, atom), template)
            candidates.append(Candidate(part, f"d{n}", True))
            candidates.append(Candidate(other, f"d{n}", False, foil.kind, foil.changed, part))
        return Item(self.name, "composed", None, tuple(candidates))


def _primitive(form: Form, atom: Atom) -> Form:
    """The part of a form that asserts one atom: the object, the object with the attribute, or the two related objects."""
    if atom.type == "relation":
        link = form.relations[atom.place]
        ends = (Mention(form.objects[link.subject].category), Mention(form.objects[link.object].category))
        return Form(ends, (Link(0, link.relation, 1),))
    mention = form.objects[atom.place]
    said = () if atom.type == "object" else ((atom.kind, mention.values[atom.kind]),)
    return Form((Mention(mention.category, said),))
