"""The protocols of CREPE (Ma et al. 2023): systematicity (section 3.3) and productivity (section
3.4, appendix A.4)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import networkx as nx

from generator.base.streams import Stream
from generator.dataset.records import RAW
from generator.describe.captioner import Captioner, Draft, Item, Text
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
            of_split = self._possible.setdefault(subject, {}).setdefault(scene.split, {})
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
                sizes = Counter(chosen[scene_id] for scene_id in scene_ids if scene_id in chosen)
                report[subject][split] = dict(sorted(sizes.items()))
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
    form = draft.walk(Cell("OA", n, n, 0), lambda obj: [draft.tested])
    if form is None:
        return None
    if draft.scene.split == UNSEEN_ATOMS and not names_absent(form, draft.holdout):
        return None
    return form


def _write_raw(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """Write the caption of a form, without foils."""
    template = draft.captioner.draw_template([form], draft.stream)
    if template:
        yield draft.make_item_in_template(RAW, skill, form, [], template)


def _write_sets(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """Write the sets of a caption, if it has all foils."""
    atom_foils = draft.select_foils(draft.atom_foils(form), form, _N_ATOM_FOILS)
    if not atom_foils:
        return
    comp_foils = draft.select_foils(_draw_split_foils(draft, form), form, _N_COMP_FOILS)
    if not comp_foils:
        return
    all_foils = atom_foils + comp_foils
    forms = [form, *(foil.form for foil in all_foils)]
    template = draft.captioner.draw_template(forms, draft.stream)
    if template:
        for kind, foils in (("atom", atom_foils), ("comp", comp_foils), ("both", all_foils)):
            yield draft.make_item_in_template(kind, skill, form, foils, template)


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
    atom = Atom("attribute", draft.stream.below(len(form.objects)), draft.tested)
    own = draft.substitutes.value(form, atom)
    others = [value for value in draft.vocabulary.values(draft.tested) if value != own]
    value = draft.pick(others) or own
    category = draft.pick(absent) or ""
    return draft.foils.split_compound(form, atom, value, category)


def _draw_split_relation(draft: Draft, form: Form, absent: Sequence[str]) -> Foil:
    """Split a relation by two random atoms; `absent` are categories that the scene lacks."""
    changes = []
    for atom in draft.stream.sample(draft.substitutes.atoms(form), 2):
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
            form = plain[0].form
            n_atoms = form.n_objects + form.n_attributes + form.n_relations
            group = PoolGroup(scene.split, f"{scene.split}-{n_atoms}", None)
            self._raw.add(group, RawCaption(scene, plain[0]))
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
    yield draft.make_item("atom", None, form, atoms)
    swaps = draft.select_foils(_shuffled_swaps(draft, form), form, _N_FOILS)
    yield draft.make_item("swap", None, form, swaps)

    drawn_denials = draw_denials(draft, form)
    if drawn_denials is None:
        return
    caption, denials = drawn_denials
    yield draft.make_item("neg", None, caption, denials)
    atoms = draft.select_foils(draft.atom_foils(caption), caption, _N_FOILS)
    swaps = []
    if atoms:
        swaps = draft.select_foils(_shuffled_swaps(draft, caption), caption, _N_FOILS)
    # A foil of two kinds counts once, so that all fifteen differ.
    foils = {foil.form: foil for foil in (*atoms, *swaps, *denials)}
    if len(foils) == 3 * _N_FOILS:
        yield draft.make_item("all", None, caption, list(foils.values()))


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

    # 1. The atoms, and the choices that a foil may invert.
    atoms = _one_per_object(draft, foils.deniable(form))[:_N_FOILS]
    places = range(len(atoms))
    inversions = []
    for size in (1, 2, 3):
        inversions += [set(inverted) for inverted in combinations(places, size)]

    # 2. What the caption asserts, and what it denies.
    values: list[str] = []
    denied: set[int] = set()
    base = form
    """The form in which denied atoms have false values."""
    for place, atom in enumerate(atoms):
        value = draft.substitutes.value(form, atom)
        if draft.stream.below(2):
            denied.add(place)
            value = draft.draw_false_value(base, atom) or value
        values.append(value)
        base = foils.replace_atom(base, atom, value).form

    def deny_atoms(denied_places: set[int]) -> Form:
        return _deny_all(draft, base, [atoms[place] for place in sorted(denied_places)])

    caption = deny_atoms(denied)
    if len(inversions) < _N_FOILS:
        return None
    if draft.scene.decide(caption) is not True or not foils.is_possible(caption):
        return None

    # 3. The foils.
    def draw_foils() -> Iterator[Foil]:
        for size in (1, 2, 3):
            of_size = [inverted for inverted in inversions if len(inverted) == size]
            for inverted in draft.stream.shuffled(of_size):
                changes = tuple(
                    denial_of(atoms[place], values[place], place in denied)
                    for place in sorted(inverted)
                )
                yield Foil(deny_atoms(denied ^ inverted), changes, "neg")

    selected = draft.select_foils(draw_foils(), caption, _N_FOILS)
    return (caption, selected) if selected else None


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
    return (form, selected) if selected else None


def _deny_in_foil(draft: Draft, form: Form, atoms: Sequence[Atom]) -> Foil:
    """The foil that denies some atoms of a form."""
    changes = tuple(
        denial_of(atom, draft.substitutes.value(form, atom), taken_back=False) for atom in atoms
    )
    return Foil(_deny_all(draft, form, atoms), changes, "neg")


def _deny_all(draft: Draft, form: Form, atoms: Sequence[Atom]) -> Form:
    """The form with each of some atoms denied."""
    for atom in atoms:
        form = draft.foils.deny(form, atom)
    return form


def _one_per_object(draft: Draft, atoms: Sequence[Atom]) -> list[Atom]:
    """All relations and at most one atom of each object, in random order."""
    atom_at: dict[tuple[bool, int], Atom] = {}
    for atom in draft.stream.shuffled(atoms):
        atom_at.setdefault((atom.type == "relation", atom.place), atom)
    return list(atom_at.values())


SizeOptions = Mapping[str, Set[int]]
"""The possible sizes of a scene's question, by scene_id."""


def match_sizes(options: Mapping[str, SizeOptions], stream: Stream) -> dict[str, int]:
    """Choose the size of each scene's question so that all splits have equally many questions of
    each size.

    The number of questions of a size is as large as every split allows, and as even over the sizes
    as possible. Scenes that would make the splits differ are left out. Whether a split has enough
    scenes follows from Hall's theorem: it has if, for every subset of sizes, at least as many
    scenes can have one of them as questions need one of them.

    1. For every subset of sizes, count the scenes that can have one of them, in the split that has
       fewest.
    2. Add questions one by one, of the size that has fewest, until no subset has room.
    3. Give each split these questions by a maximum flow.

    Args:
        options: the scenes of each split with their possible sizes.
        stream: the random numbers.

    Returns:
        The size by scene_id.

    >>> seen = {"a": {1, 2}, "b": {1, 2}, "c": {2}}
    >>> unseen = {"d": {1}, "e": {1, 2}}
    >>> sorted(match_sizes({"seen": seen, "unseen": unseen}, Stream(0)).values())
    [1, 1, 2, 2]
    """
    possible_sizes: set[int] = set()
    for scenes in options.values():
        possible_sizes.update(*scenes.values())
    sizes = sorted(possible_sizes)

    # 1. Scenes for each subset of sizes.
    room = {}
    for n in range(1, len(sizes) + 1):
        for subset in map(frozenset, combinations(sizes, n)):
            room[subset] = min(_count_scenes(scenes, subset) for scenes in options.values())

    # 2. Questions of each size.
    counts = dict.fromkeys(sizes, 0)
    growing = list(sizes)
    while growing:
        size = min(growing, key=counts.__getitem__)
        counts[size] += 1
        if _is_overfull(counts, room, size):
            counts[size] -= 1
            growing.remove(size)

    # 3. A size for each scene.
    size_of: dict[str, int] = {}
    for scenes in options.values():
        size_of.update(_assign_sizes(scenes, counts, stream))
    return size_of


def _is_overfull(counts: Mapping[int, int], room: Mapping[frozenset[int], int], size: int) -> bool:
    """Whether some sizes, `size` among them, have more questions together than there are scenes for
    them."""
    for subset, n_scenes in room.items():
        if size in subset and sum(counts[member] for member in subset) > n_scenes:
            return True
    return False


def _count_scenes(scenes: SizeOptions, sizes: Set[int]) -> int:
    """The number of scenes that can have one of some sizes."""
    return sum(not sizes.isdisjoint(of_scene) for of_scene in scenes.values())


def _assign_sizes(
    scenes: SizeOptions, counts: Mapping[int, int], stream: Stream
) -> Iterator[tuple[str, int]]:
    """Yield scenes with their sizes, `counts` of each size; the caller ensures that enough scenes
    exist.

    Scenes with the same possible sizes are alike, so the flow goes from such groups of scenes to
    sizes; scenes are then drawn from each group.
    """
    group_sizes = Counter(frozenset(of_scene) for of_scene in scenes.values())
    if not group_sizes:
        return
    graph = nx.DiGraph()
    for group, n_scenes in group_sizes.items():
        graph.add_edge("scenes", group, capacity=n_scenes)
        for size in group:
            graph.add_edge(group, size)
    for size, n_questions in counts.items():
        graph.add_edge(size, "questions", capacity=n_questions)
    _, flow = nx.maximum_flow(graph, "scenes", "questions")

    sizes_left: dict[frozenset[int], list[int]] = {}
    for group in group_sizes:
        sizes_left[group] = []
        for size in sorted(group):
            sizes_left[group] += [size] * flow[group][size]
    scene_groups = [(scene_id, frozenset(of_scene)) for scene_id, of_scene in scenes.items()]
    for scene_id, group in stream.shuffled(scene_groups):
        if sizes_left[group]:
            yield scene_id, sizes_left[group].pop()
