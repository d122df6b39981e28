"""Productivity: captions of 4 to 12 atoms against HN-ATOM, HN-SWAP and HN-NEG (CREPE, section 3.4 and appendix A.4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Grid, Item, Language, Subject, Text
from generator.describe.protocols.systematicity import atom_foils
from generator.language.complexity import Cell, Subgraph
from generator.language.foils import Atom, Foil
from generator.language.form import Form

_K = 5


@dataclass(frozen=True)
class _Denials:
    """A caption some of whose atoms are denied, and the foils that deny or assert others."""

    caption: Form
    foils: list[Foil]


class Productivity:
    """Sets 1 + 5 of each kind, and 1 + 15 where a caption has all three.

    Captions of the sets `neg` and `all` hold true denials: of up to five atoms that can be denied, each is denied by
    chance (of a foil, so that it is true), and a foil turns one of them round (two or three where there are few). So
    "not" stands in a true text as often as in a false one.
    """

    name = "productivity"

    def __init__(self, language: Language, cells: Sequence[Cell]):
        self._language = language
        self.grid = Grid([cell for cell in cells if cell.complexity >= 4])

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        if not self.grid.cells:
            return
        made = self._language.draw(subject, self.grid, stream, self._make)
        found = {item.kind for item in made}
        for kind in ("atom", "swap", "neg", "all"):
            if kind not in found:
                self._language.dropped[f"{self.name} {kind}"] += 1
        yield from made

    def _make(self, subject: Subject, cell: Cell, stream: Stream) -> list[Item]:
        found = self._language.walker.walk(subject.facts, cell, subject.lone, stream)
        if found is None or not subject.suits(found.things):
            return []
        sets = {
            "atom": atom_foils(self._language, subject, found.form, found.things, _K, stream),
            "swap": self._swaps(subject, found.form, stream),
        }
        items = [self._item(kind, found.form, foils, stream) for kind, foils in sets.items() if foils]
        denials = self._denials(subject, found, stream)
        if denials is not None:
            items.append(self._item("neg", denials.caption, denials.foils, stream))
            items.append(self._all(subject, found, denials, stream))
        return [item for item in items if item is not None]

    def _item(self, kind: str, form: Form, foils: Sequence[Foil], stream: Stream) -> Item | None:
        style = self._language.style([form, *(foil.form for foil in foils)], stream)
        if style is None:
            return None
        caption = Text(form, style)
        candidates = [Candidate(caption, "c", True)]
        candidates += [
            Candidate(Text(foil.form, style), "n", False, foil.kind, foil.changed, caption) for foil in foils
        ]
        return Item(self.name, kind, None, tuple(candidates))

    def _all(self, subject: Subject, found: Subgraph, denials: _Denials, stream: Stream) -> Item | None:
        atoms = atom_foils(self._language, subject, denials.caption, found.things, _K, stream)
        swaps = self._swaps(subject, denials.caption, stream)
        if atoms is None or swaps is None:
            return None
        foils = atoms + swaps + denials.foils
        if len({foil.form for foil in foils}) < len(foils):
            return None
        return self._item("all", denials.caption, foils, stream)

    def _swaps(self, subject: Subject, form: Form, stream: Stream) -> list[Foil] | None:
        foils = []
        for foil in stream.shuffled(self._language.foils.swaps(form)):
            if self._language.admits(form, foil.form, subject):
                foils.append(foil)
                if len(foils) == _K:
                    return foils
        return None

    def _denials(self, subject: Subject, found: Subgraph, stream: Stream) -> _Denials | None:
        language, form = self._language, found.form
        atoms = self._one_an_object(language.foils.deniable(form), stream)[:_K]
        sets = [set(chosen) for size in (1, 2, 3) for chosen in combinations(range(len(atoms)), size)]
        if len(sets) < _K:
            return None
        foils = language.foils
        asserted: list[str] = []
        denied_now: set[int] = set()
        base = form
        for n, atom in enumerate(atoms):
            own = foils.value(form, atom)
            if stream.below(2):
                denied_now.add(n)
                own = self._untrue(form, atom, subject, found.things, stream)
            asserted.append(own)
            base = foils.with_atom(base, atom, own).form
        caption = self._with_denials(base, atoms, denied_now)
        if subject.decide(caption) is not True or not foils.possible(caption):
            return None
        made: list[Foil] = []
        for size in (1, 2, 3):
            for chosen in stream.shuffled([each for each in sets if len(each) == size]):
                other = self._with_denials(base, atoms, denied_now ^ chosen)
                changed = tuple(self._change(atoms[n], asserted[n], n in denied_now) for n in sorted(chosen))
                if language.admits(caption, other, subject):
                    made.append(Foil(other, changed, "neg"))
                    if len(made) == _K:
                        return _Denials(caption, made)
        return None

    def _with_denials(self, base: Form, atoms: Sequence[Atom], which: set[int]) -> Form:
        for n in sorted(which):
            base = self._language.foils.denied(base, atoms[n])
        return base

    def _one_an_object(self, atoms: Sequence[Atom], stream: Stream) -> list[Atom]:
        """Relations, and at most one atom of each object, by chance."""
        kept: dict[tuple[str, int], Atom] = {}
        for atom in stream.shuffled(atoms):
            place = ("relation" if atom.type == "relation" else "object", atom.place)
            kept.setdefault(place, atom)
        return list(kept.values())

    def _untrue(self, form: Form, atom: Atom, subject: Subject, things: Sequence[int], stream: Stream) -> str:
        """A value whose denial is true: the opposite relation, another value, a category that is not there."""
        if atom.type == "relation":
            return self._language.vocabulary.relations[form.relations[atom.place].relation].opposite
        values = self._language.foils.substitutes(form, atom, subject.facts, things)
        return values[stream.below(len(values))] if values else self._language.foils.value(form, atom)

    def _change(self, atom: Atom, value: str, denied: bool) -> str:
        before, after = (f"not {value}", value) if denied else (value, f"not {value}")
        return f"{atom.place}:{atom.kind}:{before}>{after}"
