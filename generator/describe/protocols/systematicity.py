"""Systematicity: a caption of compounds against foils of its atoms and of its compounds (CREPE, section 3.3)."""

from collections.abc import Iterator

from generator.dataset.streams import Stream
from generator.describe.items import Grid, Item, Language, Subject, Text, one_of
from generator.language.complexity import Cell
from generator.language.foils import Atom, Foil
from generator.language.form import Form

_ATOM, _COMP, _TRIES = 4, 6, 8
MOST = 3


class Systematicity:
    """Captions of one to three compounds of the tested kind; sets 1 + 4 HN-ATOM, 1 + 6 HN-COMP, and both."""

    name = "systematicity"

    def __init__(self, language: Language):
        self._language = language
        self.grid = Grid([Cell("OA", n, n, 0) for n in range(1, MOST + 1)])

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        made = self._language.draw(subject, self.grid, stream, self._make)
        if not made:
            self._language.dropped[self.name] += 1
        yield from made

    def _make(self, subject: Subject, cell: Cell, stream: Stream) -> list[Item]:
        language = self._language
        found = language.walker.walk(subject.facts, cell, subject.lone, stream, lambda thing: [language.holdout.kind])
        if found is None or not subject.suits(found.things):
            return []
        atoms = atom_foils(language, subject, found.form, found.things, _ATOM, stream)
        comps = self._comp_foils(subject, found.form, stream)
        if atoms is None or comps is None:
            return []
        style = language.style([found.form, *(foil.form for foil in atoms + comps)], stream)
        if style is None:
            return []
        caption = Text(found.form, style)
        sets = {"atom": atoms, "comp": comps, "both": atoms + comps}
        return [one_of(self.name, kind, None, caption, foils) for kind, foils in sets.items()]

    def _comp_foils(self, subject: Subject, form: Form, stream: Stream) -> list[Foil] | None:
        language, kind = self._language, self._language.holdout.kind
        there = set(subject.facts.categories)
        foils: dict[Form, Foil] = {}
        for _ in range(_COMP * _TRIES):
            atom = Atom("attribute", stream.below(len(form.objects)), kind)
            mention = form.objects[atom.place]
            values = [v for v in language.vocabulary.values(kind) if v != mention.values[kind]]
            absent = [name for name in language.vocabulary.objects if name not in there]
            if not values or not absent:
                return None
            value, category = values[stream.below(len(values))], absent[stream.below(len(absent))]
            foil = language.foils.split(form, atom, value, category)
            if foil.form not in foils and language.admits(form, foil.form, subject):
                foils[foil.form] = foil
                if len(foils) == _COMP:
                    return list(foils.values())
        return None


def atom_foils(
    language: Language, subject: Subject, form: Form, things: tuple[int, ...], n: int, stream: Stream
) -> list[Foil] | None:
    """`n` different HN-ATOM foils of a form's plain atoms, atoms by chance; None where there are not so many."""
    options = [
        (atom, value)
        for atom in language.foils.atoms(form)
        for value in language.foils.substitutes(form, atom, subject.facts, things)
    ]
    foils = []
    for atom, value in stream.shuffled(options):
        foil = language.foils.with_atom(form, atom, value)
        if language.admits(form, foil.form, subject):
            foils.append(foil)
            if len(foils) == n:
                return foils
    return None
