"""The protocols of CREPE (Ma et al. 2023): systematicity (section 3.3) and productivity (section 3.4, appendix A.4)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from generator.describe.captioner import Captioner, Draft, Item
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene
from generator.holdout.membership import UNSEEN_ATOMS
from generator.language.complexity import Cell, Quota
from generator.language.familiarity import names_absent
from generator.language.foils import Atom, Foil, denial_of
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
        quota = Quota([Cell("OA", n, n, 0) for n in range(1, MOST_COMPOUNDS + 1)])
        write = partial(_sets, skill="attribute")
        self.recipes = {"attribute": Recipe(_compounds, write, quota, self.kinds, enough=len(self.kinds))}
        if captioner.holdout.triples:
            write = partial(_sets, skill="relation")
            self.recipes["relation"] = Recipe(Draft.related_pair, write, kinds=self.kinds)
        self._unseen_atoms = {"unseen atoms": Recipe(_unseen_compounds, _alone, quota)}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        return self._unseen_atoms if scene.split == UNSEEN_ATOMS else self.recipes


def _compounds(draft: Draft, cell: Cell) -> Form | None:
    return draft.walk(cell, lambda thing: [draft.tested])


def _unseen_compounds(draft: Draft, cell: Cell) -> Form | None:
    form = _compounds(draft, cell)
    return form if form and names_absent(form, draft.holdout) else None


def _alone(draft: Draft, form: Form, skill: str = "attribute") -> Iterator[Item]:
    if template := draft.captioner.draw_template([form], draft.stream):
        yield draft.said("raw", skill, form, [], template)


def _sets(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """The caption alone and, if it has all foils, its sets."""
    atoms = draft.accepted(draft.atom_foils(form), form, _ATOM)
    comps = draft.accepted(_split_foils(draft, form), form, _COMP) if atoms else []
    if not comps:
        yield from _alone(draft, form, skill)
    elif template := draft.captioner.draw_template([form, *(foil.form for foil in atoms + comps)], draft.stream):
        for kind, foils in (("raw", []), ("atom", atoms), ("comp", comps), ("both", atoms + comps)):
            yield draft.said(kind, skill, form, foils, template)


def _split_foils(draft: Draft, form: Form) -> Iterator[Foil]:
    """Random HN-COMP foils of a form."""
    absent = [name for name in draft.vocabulary.objects if name not in draft.facts.categories]
    split = _split_relation if form.relations else _split_compound
    for _ in range(_COMP * _TRIES if absent else 0):
        yield split(draft, form, absent)


def _split_compound(draft: Draft, form: Form, absent: Sequence[str]) -> Foil:
    atom = Atom("attribute", draft.stream.below(len(form.objects)), draft.tested)
    own = draft.substitutes.value(form, atom)
    value = draft.pick([each for each in draft.vocabulary.values(draft.tested) if each != own])
    return draft.foils.split_compound(form, atom, value or own, draft.pick(absent) or "")


def _split_relation(draft: Draft, form: Form, absent: Sequence[str]) -> Foil:
    changes = []
    for atom in draft.stream.sample(draft.substitutes.atoms(form), 2):
        own = draft.substitutes.value(form, atom)
        others = [name for name in draft.vocabulary.pair_relations if name != own]
        changes.append((atom, draft.pick(absent if atom.type == "object" else others) or own))
    return draft.foils.split_relation(form, *changes)


_K = 5
_FEWEST_ATOMS = 4


class Productivity(Protocol):
    """Sets 1 + 5 of each kind, and 1 + 15 where a caption has all three.

    Captions of the sets `neg` and `all` contain true denials. Up to five atoms are each denied with probability 1/2 (a
    false value is denied, so that the denial is true), and a foil inverts one of them; two or three where there are
    few. So "not" is as frequent in true texts as in false ones.
    """

    name = "productivity"
    kinds = ("atom", "swap", "neg", "all")
    needs = (
        "captions of 4 to 12 atoms with five foils of a kind need scenes of three or more objects that differ in "
        "category"
    )
    graded = True

    def __init__(self, captioner: Captioner, cells: Sequence[Cell]):
        super().__init__(captioner)
        quota = Quota([cell for cell in cells if cell.complexity >= _FEWEST_ATOMS])
        self.recipes = {"captions": Recipe(Draft.walk, _of_each_kind, quota, self.kinds)} if quota.cells else {}


def _of_each_kind(draft: Draft, form: Form) -> Iterator[Item | None]:
    yield draft.item("atom", None, form, draft.accepted(draft.atom_foils(form), form, _K))
    yield draft.item("swap", None, form, draft.accepted(_swaps(draft, form), form, _K))
    denied = _denials(draft, form)
    if denied is not None:
        caption, negs = denied
        yield draft.item("neg", None, caption, negs)
        atoms = draft.accepted(draft.atom_foils(caption), caption, _K)
        swaps = draft.accepted(_swaps(draft, caption), caption, _K) if atoms else []
        foils = {foil.form: foil for foil in (*atoms, *swaps, *negs)}
        if len(foils) == 3 * _K:
            yield draft.item("all", None, caption, [*foils.values()])


def _swaps(draft: Draft, form: Form) -> list[Foil]:
    return draft.stream.shuffled(draft.foils.all_swaps(form))


def _denials(draft: Draft, form: Form) -> tuple[Form, list[Foil]] | None:
    """The form with some of its atoms denied, and foils that deny or assert others; None if there are too few."""
    foils = draft.foils
    atoms = _one_per_object(draft, foils.deniable(form))[:_K]
    sets = [{*chosen} for size in (1, 2, 3) for chosen in combinations(range(len(atoms)), size)]
    values, denied, base = [], set[int](), form
    for n, atom in enumerate(atoms):
        value = draft.substitutes.value(form, atom)
        if draft.stream.below(2):
            denied.add(n)
            value = draft.false_value(base, atom) or value
        values.append(value)
        base = foils.replace_atom(base, atom, value).form

    def deny(which: set[int]) -> Form:
        told = base
        for n in sorted(which):
            told = foils.deny(told, atoms[n])
        return told

    caption = deny(denied)
    if len(sets) < _K or draft.scene.decide(caption) is not True or not foils.possible(caption):
        return None
    made = (
        Foil(
            deny(denied ^ inverted),
            tuple(denial_of(atoms[n], values[n], n in denied) for n in sorted(inverted)),
            "neg",
        )
        for size in (1, 2, 3)
        for inverted in draft.stream.shuffled([each for each in sets if len(each) == size])
    )
    accepted = draft.accepted(made, caption, _K)
    return (caption, accepted) if accepted else None


def _one_per_object(draft: Draft, atoms: Sequence[Atom]) -> list[Atom]:
    """All relations and at most one atom of each object, in random order."""
    chosen: dict[tuple[bool, int], Atom] = {}
    for atom in draft.stream.shuffled(atoms):
        chosen.setdefault((atom.type == "relation", atom.place), atom)
    return [*chosen.values()]
