"""Systematicity: a caption of compounds against foils of its atoms and of its compounds (CREPE, section 3.3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, draw_related_pair
from generator.describe.items import Candidate, Item, Text, item_of_foils
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.holdout.membership import UNSEEN_ATOMS
from generator.language.complexity import Cell, ComplexityQuota
from generator.language.familiarity import names_absent
from generator.language.foils import Atom, Foil
from generator.language.form import Form

MOST_COMPOUNDS = 3
_ATOM, _COMP, _TRIES = 4, 6, 8


class Systematicity(Protocol):
    """Captions of one to three compounds of the tested kind, and where relations are held out also of one relation.

    Sets `atom` of 1 + 4 HN-ATOM, `comp` of 1 + 6 HN-COMP, and `both`. `raw` is the caption alone, for raw retrieval: a
    caption has it even if it lacks foils (CREPE, appendix A.5). Captions that name unseen atoms have nothing else.
    """

    name = "systematicity"
    kinds = ("raw", "atom", "comp", "both")
    unseen_atoms = True

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self._quota = ComplexityQuota([Cell("OA", n, n, 0) for n in range(1, MOST_COMPOUNDS + 1)])

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        yield from self._of_attributes(scene, stream)
        if self.captioner.holdout.triples and scene.split != UNSEEN_ATOMS:
            form = draw_related_pair(self.captioner, scene, stream)
            made = self._items("relation", form, scene, stream) if form else []
            yield from self._counted("relation", made, len(self.kinds))

    def report(self) -> Mapping[str, Any]:
        return self._quota.to_dict()

    def _of_attributes(self, scene: DescribedScene, stream: Stream) -> list[Item]:
        """The items of the cell that is filled least among those with foils, or a caption alone."""
        made: list[Item] = []
        if scene.split != UNSEEN_ATOMS:
            made = self.captioner.fill_cell(scene, self._quota, stream, self._with_foils)
        made = made or self.captioner.fill_cell(scene, self._quota, stream, self._alone)
        return self._counted("attribute", made, 1 if scene.split == UNSEEN_ATOMS else len(self.kinds))

    def _counted(self, skill: str, made: list[Item], due: int) -> list[Item]:
        """The items; where fewer are there than are due, that is counted as dropped."""
        if len(made) < due:
            self.captioner.dropped[f"{self.name} {skill}: {'foils' if made else 'caption'}"] += 1
        return made

    def _with_foils(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        made = self._of_cell(scene, cell, stream)
        return made if len(made) > 1 else []

    def _alone(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        return self._of_cell(scene, cell, stream)[:1]

    def _of_cell(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        holdout = self.captioner.holdout
        found = self.captioner.walker.walk(
            scene.facts, cell, scene.unique_objects, stream, lambda thing: [holdout.kind]
        )
        if found is None or not scene.objects_fit_split(found.objects):
            return []
        if scene.split == UNSEEN_ATOMS and not names_absent(found.form, holdout):
            return []
        return self._items("attribute", found.form, scene, stream)

    def _items(self, skill: str, form: Form, scene: DescribedScene, stream: Stream) -> list[Item]:
        """The caption alone and, if it has all foils, its sets; none if no template can say it."""
        captioner, sets = self.captioner, self._sets(scene, form, stream)
        template = captioner.draw_template([form, *(foil.form for foil in sets.get("both", ()))], stream)
        if template is None:
            return []
        caption = Text(form, template)
        alone = Item(self.name, "raw", skill, (Candidate(caption, "c", True),))
        return [alone, *(item_of_foils(self.name, kind, skill, caption, foils) for kind, foils in sets.items())]

    def _sets(self, scene: DescribedScene, form: Form, stream: Stream) -> dict[str, list[Foil]]:
        """The foils of each set; empty if any is missing."""
        if scene.split == UNSEEN_ATOMS:
            return {}
        atoms = self.captioner.atom_foils(scene, form, _ATOM, stream)
        comps = self._comp_foils(scene, form, stream) if atoms else None
        return {"atom": atoms, "comp": comps, "both": atoms + comps} if atoms and comps else {}

    def _comp_foils(self, scene: DescribedScene, form: Form, stream: Stream) -> list[Foil] | None:
        split = self._split_relation if form.relations else self._split_compound
        absent = sorted({*self.captioner.vocabulary.objects} - {*scene.facts.categories})
        foils: dict[Form, Foil] = {}
        for _ in range(_COMP * _TRIES if absent else 0):
            foil = split(form, absent, stream)
            if foil is not None and foil.form not in foils and self.captioner.accepts(foil.form, form, scene):
                foils[foil.form] = foil
                if len(foils) == _COMP:
                    return list(foils.values())
        return None

    def _split_compound(self, form: Form, absent: Sequence[str], stream: Stream) -> Foil | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        atom = Atom("attribute", stream.below(len(form.objects)), kind)
        values = [v for v in captioner.vocabulary.values(kind) if v != form.objects[atom.place].values[kind]]
        if not values:
            return None
        value, category = values[stream.below(len(values))], absent[stream.below(len(absent))]
        return captioner.foils.split_compound(form, atom, value, category)

    def _split_relation(self, form: Form, absent: Sequence[str], stream: Stream) -> Foil | None:
        substitutes = self.captioner.substitutes
        changes = []
        for atom in stream.sample(substitutes.atoms(form), 2):
            own = substitutes.value(form, atom)
            others = [name for name in self.captioner.vocabulary.relations if name != own]
            values = absent if atom.type == "object" else others
            changes.append((atom, values[stream.below(len(values))]))
        return self.captioner.foils.split_relation(form, changes[0], changes[1])


_K = 5
_FEWEST_ATOMS = 4


@dataclass(frozen=True)
class _Denials:
    """A caption some of whose atoms are denied, and the foils that deny or assert others."""

    caption: Form
    foils: list[Foil]


class Productivity(Protocol):
    """Sets 1 + 5 of each kind, and 1 + 15 where a caption has all three.

    Captions of the sets `neg` and `all` contain true denials. Up to five atoms are each denied with probability 1/2 (a
    false value is denied, so that the denial is true), and a foil inverts one of them; two or three where there are
    few. So "not" is as frequent in true texts as in false ones.
    """

    name = "productivity"
    kinds = ("atom", "swap", "neg", "all")
    needs = "captions of 4 to 12 atoms with five foils of a kind need scenes of three or more objects that differ in category"
    graded = True

    def __init__(self, captioner: Captioner, cells: Sequence[Cell]):
        super().__init__(captioner)
        self._quota = ComplexityQuota([cell for cell in cells if cell.complexity >= _FEWEST_ATOMS])

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        if not self._quota.cells:
            return
        made = self.captioner.fill_cell(scene, self._quota, stream, self._make)
        found = {item.kind for item in made}
        for kind in self.kinds:
            if kind not in found:
                self.captioner.dropped[f"{self.name} {kind}"] += 1
        yield from made

    def report(self) -> Mapping[str, Any]:
        return self._quota.to_dict()

    def _make(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        found = self.captioner.walker.walk(scene.facts, cell, scene.unique_objects, stream)
        if found is None or not scene.objects_fit_split(found.objects):
            return []
        form = found.form
        sets = {
            "atom": self.captioner.atom_foils(scene, form, _K, stream),
            "swap": self._swaps(scene, form, stream),
        }
        items = [self._item(kind, form, foils, stream) for kind, foils in sets.items() if foils]
        denials = self._denials(scene, form, stream)
        if denials is not None:
            items.append(self._item("neg", denials.caption, denials.foils, stream))
            items.append(self._all(scene, denials, stream))
        return [item for item in items if item is not None]

    def _item(self, kind: str, form: Form, foils: Sequence[Foil], stream: Stream) -> Item | None:
        template = self.captioner.draw_template([form, *(foil.form for foil in foils)], stream)
        return item_of_foils(self.name, kind, None, Text(form, template), foils) if template else None

    def _all(self, scene: DescribedScene, denials: _Denials, stream: Stream) -> Item | None:
        atoms = self.captioner.atom_foils(scene, denials.caption, _K, stream)
        swaps = self._swaps(scene, denials.caption, stream)
        if atoms is None or swaps is None:
            return None
        foils = atoms + swaps + denials.foils
        if len({foil.form for foil in foils}) < len(foils):
            return None
        return self._item("all", denials.caption, foils, stream)

    def _swaps(self, scene: DescribedScene, form: Form, stream: Stream) -> list[Foil] | None:
        foils = []
        for foil in stream.shuffled(self.captioner.foils.all_swaps(form)):
            if self.captioner.accepts(foil.form, form, scene):
                foils.append(foil)
                if len(foils) == _K:
                    return foils
        return None

    def _denials(self, scene: DescribedScene, form: Form, stream: Stream) -> _Denials | None:
        captioner, foils = self.captioner, self.captioner.foils
        atoms = _one_per_object(foils.deniable(form), stream)[:_K]
        sets = [set(chosen) for size in (1, 2, 3) for chosen in combinations(range(len(atoms)), size)]
        if len(sets) < _K:
            return None
        values: list[str] = []
        denied: set[int] = set()
        base = form
        for n, atom in enumerate(atoms):
            value = captioner.substitutes.value(form, atom)
            if stream.below(2):
                denied.add(n)
                value = self._false_value(base, atom, scene, stream)
            values.append(value)
            base = foils.replace_atom(base, atom, value).form
        caption = self._deny(base, atoms, denied)
        if scene.decide(caption) is not True or not foils.possible(caption):
            return None
        made: list[Foil] = []
        for size in (1, 2, 3):
            for inverted in stream.shuffled([each for each in sets if len(each) == size]):
                other = self._deny(base, atoms, denied ^ inverted)
                changed = tuple(_change(atoms[n], values[n], n in denied) for n in sorted(inverted))
                if captioner.accepts(other, caption, scene):
                    made.append(Foil(other, changed, "neg"))
                    if len(made) == _K:
                        return _Denials(caption, made)
        return None

    def _deny(self, base: Form, atoms: Sequence[Atom], which: set[int]) -> Form:
        for n in sorted(which):
            base = self.captioner.foils.deny(base, atoms[n])
        return base

    def _false_value(self, form: Form, atom: Atom, scene: DescribedScene, stream: Stream) -> str:
        """A value whose denial is true: the opposite relation, another value, a category that is not in the scene."""
        captioner = self.captioner
        if atom.type == "relation":
            return captioner.vocabulary.relations[form.relations[atom.place].relation].opposite
        values = captioner.substitutes.of(form, atom, scene.facts)
        return values[stream.below(len(values))] if values else captioner.substitutes.value(form, atom)


def _one_per_object(atoms: Sequence[Atom], stream: Stream) -> list[Atom]:
    """All relations and at most one atom of each object, in random order."""
    chosen: dict[tuple[str, int], Atom] = {}
    for atom in stream.shuffled(atoms):
        chosen.setdefault(("relation" if atom.type == "relation" else "object", atom.place), atom)
    return list(chosen.values())


def _change(atom: Atom, value: str, denied: bool) -> str:
    before, after = (f"not {value}", value) if denied else (value, f"not {value}")
    return f"{atom.place}:{atom.kind}:{before}>{after}"
