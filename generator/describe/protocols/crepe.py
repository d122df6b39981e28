"""The protocols of CREPE (Ma et al. 2023): systematicity (section 3.3) and productivity (section
3.4, appendix A.4)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

from generator.base.streams import Stream
from generator.dataset.records import RAW
from generator.describe.captioner import Captioner, Draft, Item, Text
from generator.describe.matched_sizes import match_sizes
from generator.describe.protocol import Protocol, Recipe
from generator.describe.raw_retrieval import PoolGroup, RawCaption, RawRetrieval
from generator.describe.scenes import DescribedScene
from generator.holdout.membership import UNSEEN_ATOMS
from generator.language.complexity import Cell, Quota
from generator.language.foils import WHOLE, Atom, Foil, denial_of
from generator.language.form import Form, names_absent

MOST_COMPOUNDS = 3
"""The most compounds of a caption of systematicity (CREPE, section 3.3)."""
_N_ATOM_FOILS = 4
"""HN-ATOM foils of a caption of systematicity."""
_N_COMP_FOILS = 6
"""HN-COMP foils of a caption of systematicity."""
_DRAWS_PER_FOIL = 8
"""Random HN-COMP foils that are tried for each that is needed."""


class PossibleQuestion(NamedTuple):
    """A question of systematicity that may be asked about a scene."""

    subject: str
    """What it asks about, in two words: the skill, and "raw" or "sets"."""
    n_compounds: int
    """Number of compounds in its caption."""
    make_items: Callable[[], list[Item]]
    """Makes its items; an empty list if the scene has none."""


class Systematicity(Protocol):
    """Captions of one to three compounds or of one relation: held out in `unseen`, shown by
    training in `seen`.

    Compounds of the tested kind are used if bindings are held out, relations if relations are. All
    compounds of a caption are held out, or training shows all of them. `atom` has 1 + 4 HN-ATOM
    texts, `comp` 1 + 6 HN-COMP texts, `both` all of them. `raw` is a caption in a pool of raw
    retrieval (CREPE, appendix A.5); captions that name unseen atoms have only `raw`. For each
    number of compounds all splits have equally many captions, and so has each pool, so that splits
    do not differ in length.
    """

    name = "systematicity"
    kinds = (RAW, "atom", "comp", "both")
    splits = ("seen", "unseen", UNSEEN_ATOMS)
    surveys = True

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        # Items that the survey makes are made again, so only the second time is counted.
        self._uncounted = replace(captioner, dropped=Counter(), refused=Counter())
        self._possible: dict[str, dict[str, dict[str, set[int]]]] = {}
        """By subject, split and scene_id: the numbers of compounds with which a scene can be
        asked about."""
        self._chosen: dict[str, dict[str, int]] = {}
        """By subject and scene_id: the number of compounds with which a scene is asked about."""
        self._raw = RawRetrieval(captioner, self.name)

    def survey(self, scene: DescribedScene, stream: Stream) -> None:
        """Record the numbers of compounds for which a scene gives items."""
        for subject, n_compounds, make_items in self._questions(scene, stream, self._uncounted):
            of_subject = self._possible.setdefault(subject, {})
            # Also a split in which no scene can be asked counts: then none has the question.
            of_split = of_subject.setdefault(scene.split, {})
            if make_items():
                of_split.setdefault(scene.scene_id, set()).add(n_compounds)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """Write the items of a scene that were chosen from the items of all surveyed scenes."""
        if not self._chosen:
            for subject, options in self._possible.items():
                self._chosen[subject] = match_sizes(options, Stream(self.name, subject))
        for subject, n_compounds, make_items in self._questions(scene, stream, self.captioner):
            chosen = self._chosen[subject].get(scene.scene_id)
            if n_compounds == chosen:
                for item in make_items():
                    if item.kind == RAW:
                        self._add_raw_caption(scene, item)
                    else:
                        yield item
            elif n_compounds == 1 and chosen is None:
                # Counted once per subject, not for each number of compounds.
                self.captioner.dropped[f"{self.name} {subject}"] += 1

    def _add_raw_caption(self, scene: DescribedScene, item: Item) -> None:
        text = item.candidates[0].text
        # Captions of attributes and of relations have pools of their own: no caption of unseen
        # atoms names a relation.
        group = PoolGroup(str(item.skill), f"{item.skill}-{scene.split}", item.skill)
        composition = text.form.n_objects, text.form.n_attributes, text.form.n_relations
        self._raw.add(group, RawCaption(scene, text, composition))

    def pooled_items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """The items of raw retrieval."""
        return self._raw.items()

    def pools(self) -> Mapping[str, Sequence[Text]]:
        """The captions of each pool of raw retrieval."""
        return self._raw.pools()

    def _questions(
        self, scene: DescribedScene, stream: Stream, captioner: Captioner
    ) -> Iterator[PossibleQuestion]:
        """Yield the questions that a scene may be asked, with their own random numbers, so that the
        survey and the writing make the same items."""
        holdout = captioner.holdout
        of_unseen_atoms = scene.split == UNSEEN_ATOMS
        draws: list[tuple[str, int, Callable[[Draft], Form | None]]] = []
        if holdout.bindings or of_unseen_atoms:
            for n in range(1, MOST_COMPOUNDS + 1):
                draws.append(("attribute", n, partial(_draw_compounds, n=n)))
        if holdout.triples and not of_unseen_atoms:
            draws.append(("relation", 1, Draft.draw_related_pair))
        for kinds, write in ((RAW, _write_raw), ("sets", _write_sets)):
            for skill, n, draw in draws:
                # Drawn also for a question that is not asked, which keeps the numbers of others.
                seed = stream.below(2**31)
                own_stream = Stream(kinds, skill, n, seed)
                if kinds != RAW and of_unseen_atoms:
                    continue
                make_items = partial(_make_items, captioner, scene, own_stream, draw, write, skill)
                yield PossibleQuestion(f"{skill} {kinds}", n, make_items)

    def report(self) -> Mapping[str, Any]:
        """Number of captions by subject, split and number of compounds."""
        report: dict[str, dict[str, dict[int, int]]] = {}
        for subject, chosen in self._chosen.items():
            report[subject] = {}
            for split, scene_ids in self._possible[subject].items():
                sizes = [chosen[scene_id] for scene_id in scene_ids if scene_id in chosen]
                report[subject][split] = dict(sorted(Counter(sizes).items()))
        return report


def _make_items(
    captioner: Captioner,
    scene: DescribedScene,
    stream: Stream,
    draw: Callable[[Draft], Form | None],
    write: Callable[[Draft, Form, str], Iterator[Item]],
    skill: str,
) -> list[Item]:
    """Make the items of a question about a scene."""
    draft = Draft(captioner, scene, stream, Systematicity.name)
    form = draw(draft)
    return list(write(draft, form, skill)) if form else []


def _draw_compounds(draft: Draft, n: int) -> Form | None:
    """Draw `n` objects with their tested values; for unseen atoms, with at least one of them."""
    # n objects with one attribute each, no relations.
    cell = Cell("OA", n, n, 0)
    form = draft.walk(cell, lambda obj: [draft.tested])
    if form is None:
        return None
    if draft.scene.split == UNSEEN_ATOMS and not names_absent(form, draft.holdout):
        return None
    return form


def _write_raw(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """Write the caption of a form, without foils."""
    template = draft.captioner.draw_template([form], draft.stream)
    if template:
        yield draft.make_item_in_template(RAW, skill, form=form, foils=[], template=template)


def _write_sets(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """Write the sets of a caption, if it has all foils."""
    atom_foils = draft.select_foils(draft.atom_foils(form), form, _N_ATOM_FOILS)
    if not atom_foils:
        return
    comp_foils = draft.select_foils(_draw_split_foils(draft, form), form, _N_COMP_FOILS)
    if not comp_foils:
        return
    all_foils = atom_foils + comp_foils
    # One template for all three sets, so that they differ in their foils only.
    forms = [form, *(foil.form for foil in all_foils)]
    template = draft.captioner.draw_template(forms, draft.stream)
    if not template:
        return
    for kind, foils in (("atom", atom_foils), ("comp", comp_foils), ("both", all_foils)):
        yield draft.make_item_in_template(kind, skill, form=form, foils=foils, template=template)


def _draw_split_foils(draft: Draft, form: Form) -> Iterator[Foil]:
    """Draw random HN-COMP foils of a form; none if the scene has every category."""
    absent = [name for name in draft.vocabulary.objects if name not in draft.facts.categories]
    if not absent:
        return
    draw_foil = _draw_split_relation if form.relations else _draw_split_compound
    for _ in range(_N_COMP_FOILS * _DRAWS_PER_FOIL):
        yield draw_foil(draft, form, absent)


def _draw_split_compound(draft: Draft, form: Form, absent: Sequence[str]) -> Foil:
    """Split a random compound; `absent` are categories that the scene lacks."""
    place = draft.stream.below(len(form.objects))
    atom = Atom("attribute", place, draft.tested)
    own = draft.substitutes.value(form, atom)
    others = [value for value in draft.vocabulary.values(draft.tested) if value != own]
    value = draft.pick(others) or own
    category = draft.pick(absent) or ""
    return draft.foils.split_compound(form, atom, value=value, category=category)


def _draw_split_relation(draft: Draft, form: Form, absent: Sequence[str]) -> Foil:
    """Split a relation by two random atoms; `absent` are categories that the scene lacks."""
    changes = []
    atoms = draft.substitutes.atoms(form)
    for atom in draft.stream.sample(atoms, 2):
        own = draft.substitutes.value(form, atom)
        if atom.type == "object":
            false_value = draft.pick(absent)
        else:
            relations = [name for name in draft.vocabulary.pair_relations if name != own]
            false_value = draft.pick(relations)
        changes.append((atom, false_value or own))
    return draft.foils.split_relation(form, *changes)


_N_FOILS = 5
"""Foils of each kind of a caption of productivity (CREPE, section 3.4)."""
_FEWEST_ATOMS = 4
"""The least complexity of a caption of productivity (CREPE, section 3.4)."""
_NOT_IN_CREPE = ("val", "partial")
"""Splits that CREPE does not have, and that therefore have no raw retrieval."""


class Productivity(Protocol):
    """A caption with 5 foils of each kind (`atom`, `swap`, `neg`), and with all 15 (`all`) if it
    has every kind.

    `denials` sets which texts of `neg` and `all` deny something.

    "foils": only the foils; each denies one atom or the whole caption, or two or three atoms if
    that gives fewer than five foils (CREPE, table 1).

    "both": captions have true denials too. Up to five atoms are each denied with probability 1/2; a
    denied atom first gets a false value, so that the denial is true. A foil inverts one of these
    atoms, or two or three if that gives too few foils. So "not" is equally frequent in true and in
    false texts.

    `raw` is a caption of these in a pool of raw retrieval. A pool has captions of one number of
    atoms, about images of one split (CREPE, appendix B.2).
    """

    name = "productivity"
    kinds = ("atom", "swap", "neg", "all", RAW)
    needs = (
        "captions of 4 to 12 atoms with five foils of a kind need scenes of three or more objects "
        "that differ in category"
    )
    graded = True

    def __init__(
        self,
        captioner: Captioner,
        cells: Sequence[Cell],
        denials: Literal["both", "foils"] = "both",
    ):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            cells: the complexities of captions; those of fewer than four atoms are left out.
            denials: which texts deny something.
        """
        super().__init__(captioner)
        quota = Quota([cell for cell in cells if cell.complexity >= _FEWEST_ATOMS])
        draw_denials = _draw_denials if denials == "both" else _draw_foils_with_denials
        kinds = tuple(kind for kind in self.kinds if kind != RAW)
        self.recipes = {}
        if quota.cells:
            write = partial(_write_each_kind, draw_denials)
            self.recipes = {"captions": Recipe(Draft.walk, write, quota, kinds)}
        self._raw = RawRetrieval(captioner, self.name)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """Write the items of a scene with foils; their caption is kept for raw retrieval."""
        items = list(super().items(scene, stream))
        # A caption that denies something is the caption of `neg` and `all` only; raw retrieval asks
        # about plain ones.
        plain = [item.candidates[0].text for item in items if item.kind in ("atom", "swap")]
        if plain and scene.split not in _NOT_IN_CREPE:
            # Both kinds have the same caption.
            caption = plain[0]
            form = caption.form
            n_atoms = form.n_objects + form.n_attributes + form.n_relations
            group = PoolGroup(scene.split, f"{scene.split}-{n_atoms}", None)
            self._raw.add(group, RawCaption(scene, caption))
        yield from items

    def pooled_items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """The items of raw retrieval."""
        return self._raw.items()

    def pools(self) -> Mapping[str, Sequence[Text]]:
        """The captions of each pool of raw retrieval."""
        return self._raw.pools()


DrawDenials = Callable[[Draft, Form], tuple[Form, list[Foil]] | None]
"""Draws a caption and its foils of kind `neg`; None if there are too few foils."""


def _write_each_kind(draw_denials: DrawDenials, draft: Draft, form: Form) -> Iterator[Item | None]:
    """Write the items of a caption: one for each kind of foils, and one with all of them."""
    atoms = draft.select_foils(draft.atom_foils(form), form, _N_FOILS)
    yield draft.make_item("atom", None, form=form, foils=atoms)
    swaps = draft.select_foils(_shuffled_swaps(draft, form), form, _N_FOILS)
    yield draft.make_item("swap", None, form=form, foils=swaps)

    drawn_denials = draw_denials(draft, form)
    if drawn_denials is None:
        return
    caption, denials = drawn_denials
    yield draft.make_item("neg", None, form=caption, foils=denials)
    atoms = draft.select_foils(draft.atom_foils(caption), caption, _N_FOILS)
    swaps = []
    if atoms:
        swaps = draft.select_foils(_shuffled_swaps(draft, caption), caption, _N_FOILS)
    # A foil of two kinds counts once, so that all fifteen differ.
    foils = {foil.form: foil for foil in (*atoms, *swaps, *denials)}
    if len(foils) == 3 * _N_FOILS:
        yield draft.make_item("all", None, form=caption, foils=list(foils.values()))


def _shuffled_swaps(draft: Draft, form: Form) -> list[Foil]:
    return draft.stream.shuffled(draft.foils.all_swaps(form))


def _draw_denials(draft: Draft, form: Form) -> tuple[Form, list[Foil]] | None:
    """Deny random atoms of a form, and make foils that invert one to three of these choices.

    1. Choose up to five atoms, at most one of an object.
    2. With probability 1/2 each, an atom is denied in the caption; it first gets a false value.
    3. A foil denies the atoms that the caption asserts, and asserts those that it denies, for one
       atom, then two, then three, until there are five foils.

    Returns:
        The caption and its foils; None if there are fewer than five, or if the caption is not
        proved true.
    """
    foils = draft.foils

    # 1. The atoms, and the choices that a foil may invert: by number, one to three at a time.
    atoms = _one_per_object(draft, foils.deniable(form))[:_N_FOILS]
    numbers = range(len(atoms))
    inversions = [[set(inverted) for inverted in combinations(numbers, n)] for n in (1, 2, 3)]

    # 2. What the caption asserts, and what it denies.
    values: list[str] = []
    denied: set[int] = set()
    base = form
    """The form in which denied atoms have false values."""
    for number, atom in enumerate(atoms):
        value = draft.substitutes.value(form, atom)
        if draft.stream.below(2):
            denied.add(number)
            value = draft.draw_false_value(base, atom) or value
        values.append(value)
        base = foils.replace_atom(base, atom, value).form

    def deny_atoms(chosen: set[int]) -> Form:
        return _deny_all(draft, base, [atoms[number] for number in sorted(chosen)])

    caption = deny_atoms(denied)
    if sum(map(len, inversions)) < _N_FOILS:
        return None
    if draft.scene.decide(caption) is not True or not foils.is_possible(caption):
        return None

    # 3. The foils.
    def draw_foils() -> Iterator[Foil]:
        for of_size in inversions:
            for inverted in draft.stream.shuffled(of_size):
                changes = []
                for number in sorted(inverted):
                    taken_back = number in denied
                    changes.append(denial_of(atoms[number], values[number], taken_back))
                yield Foil(deny_atoms(denied ^ inverted), tuple(changes), "neg")

    selected = draft.select_foils(draw_foils(), caption, _N_FOILS)
    if not selected:
        return None
    return caption, selected


def _draw_foils_with_denials(draft: Draft, form: Form) -> tuple[Form, list[Foil]] | None:
    """Keep the form as the caption, and make foils that deny the whole or one atom, or two or three
    atoms if these are too few."""
    atoms = _one_per_object(draft, draft.foils.deniable(form))

    def draw_foils() -> Iterator[Foil]:
        single = [_deny_in_foil(draft, form, (atom,)) for atom in atoms]
        whole = Foil(form._replace(negated=True), (WHOLE,), "neg")
        yield from draft.stream.shuffled([whole, *single])
        several = [*combinations(atoms, 2), *combinations(atoms, 3)]
        for denied_atoms in draft.stream.shuffled(several):
            yield _deny_in_foil(draft, form, denied_atoms)

    selected = draft.select_foils(draw_foils(), form, _N_FOILS)
    if not selected:
        return None
    return form, selected


def _deny_in_foil(draft: Draft, form: Form, atoms: Sequence[Atom]) -> Foil:
    """The foil that denies some atoms of a form."""
    changes = []
    for atom in atoms:
        value = draft.substitutes.value(form, atom)
        changes.append(denial_of(atom, value, taken_back=False))
    return Foil(_deny_all(draft, form, atoms), tuple(changes), "neg")


def _deny_all(draft: Draft, form: Form, atoms: Sequence[Atom]) -> Form:
    """The form with each of some atoms denied."""
    for atom in atoms:
        form = draft.foils.deny(form, atom)
    return form


def _one_per_object(draft: Draft, atoms: Sequence[Atom]) -> list[Atom]:
    """All relations and at most one atom of each object, in random order."""
    atom_at: dict[tuple[bool, int], Atom] = {}
    for atom in draft.stream.shuffled(atoms):
        # Relations have places of their own, which start at 0 too.
        is_relation = atom.type == "relation"
        atom_at.setdefault((is_relation, atom.place), atom)
    return list(atom_at.values())
