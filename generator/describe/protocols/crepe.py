"""The protocols of CREPE (Ma et al. 2023): systematicity (section 3.3) and productivity (section
3.4, appendix A.4)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import networkx as nx

from generator.base.streams import Stream
from generator.dataset.records import RAW
from generator.describe.captioner import Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.raw_retrieval import Group, RawCaption, RawRetrieval
from generator.describe.scenes import DescribedScene
from generator.holdout.membership import UNSEEN_ATOMS
from generator.language.complexity import Cell, Quota
from generator.language.foils import WHOLE, Atom, Foil, denial_of
from generator.language.form import Form, names_absent

MOST_COMPOUNDS = 3
_ATOM, _COMP, _TRIES = 4, 6, 8


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
        self._uncounted = replace(captioner, dropped=Counter(), refused=Counter())
        self._options: dict[str, dict[str, dict[str, set[int]]]] = {}
        self._chosen: dict[str, dict[str, int]] = {}
        self._raw = RawRetrieval(captioner, self.name)

    def survey(self, scene: DescribedScene, stream: Stream) -> None:
        """Record the numbers of compounds for which a scene gives items."""
        for about, n, items in self._questions(scene, stream, self._uncounted):
            of_split = self._options.setdefault(about, {}).setdefault(scene.split, {})
            if items():
                of_split.setdefault(scene.scene_id, set()).add(n)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """The items of a scene that were chosen from the items of all surveyed scenes."""
        if not self._chosen:
            self._chosen = {
                about: matched(found, Stream(self.name, about))
                for about, found in self._options.items()
            }
        for about, n, items in self._questions(scene, stream, self.captioner):
            if n == self._chosen[about].get(scene.scene_id):
                for item in items():
                    if item.kind == RAW:
                        self._add_raw_caption(scene, item)
                    else:
                        yield item
            elif n == 1 and scene.scene_id not in self._chosen[about]:
                self.captioner.dropped[f"{self.name} {about}"] += 1

    def _add_raw_caption(self, scene: DescribedScene, item: Item) -> None:
        text = item.candidates[0].text
        # Captions of attributes and of relations have pools of their own: no caption of unseen
        # atoms names a relation.
        group = Group(str(item.skill), f"{item.skill}-{scene.split}", item.skill)
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
    ) -> Iterator[tuple[str, int, Callable[[], list[Item]]]]:
        """The possible questions about a scene: subject, number of compounds, and a function that
        makes the items."""
        holdout = captioner.holdout
        bound = holdout.bindings or scene.split == UNSEEN_ATOMS
        draws: list[tuple[str, int, Callable[[Draft], Form | None]]] = [
            ("attribute", n, partial(_compounds, n=n))
            for n in range(1, MOST_COMPOUNDS + 1)
            if bound
        ]
        if holdout.triples and scene.split != UNSEEN_ATOMS:
            draws.append(("relation", 1, Draft.related_pair))
        for kinds, write in ((RAW, _alone), ("sets", _sets)):
            for skill, n, draw in draws:
                own = Stream(kinds, skill, n, stream.below(2**31))
                if kinds == RAW or scene.split != UNSEEN_ATOMS:
                    yield (
                        f"{skill} {kinds}",
                        n,
                        partial(_made, captioner, scene, own, draw, write, skill),
                    )

    def report(self) -> Mapping[str, Any]:
        """Number of captions by subject, split and number of compounds."""
        return {
            about: {
                split: dict(sorted(Counter(chosen[each] for each in ids if each in chosen).items()))
                for split, ids in self._options[about].items()
            }
            for about, chosen in self._chosen.items()
        }


def _made(
    captioner: Captioner,
    scene: DescribedScene,
    stream: Stream,
    draw: Callable[[Draft], Form | None],
    write: Callable[[Draft, Form, str], Iterator[Item]],
    skill: str,
) -> list[Item]:
    draft = Draft(captioner, scene, stream, Systematicity.name)
    form = draw(draft)
    return [*write(draft, form, skill)] if form else []


def _compounds(draft: Draft, n: int) -> Form | None:
    form = draft.walk(Cell("OA", n, n, 0), lambda thing: [draft.tested])
    new = draft.scene.split != UNSEEN_ATOMS or (
        form is not None and names_absent(form, draft.holdout)
    )
    return form if new else None


def _alone(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    if template := draft.captioner.draw_template([form], draft.stream):
        yield draft.said(RAW, skill, form, [], template)


def _sets(draft: Draft, form: Form, skill: str) -> Iterator[Item]:
    """The sets of a caption, if it has all foils."""
    atoms = draft.accepted(draft.atom_foils(form), form, _ATOM)
    comps = draft.accepted(_split_foils(draft, form), form, _COMP) if atoms else []
    if not comps:
        return
    if template := draft.captioner.draw_template(
        [form, *(foil.form for foil in atoms + comps)], draft.stream
    ):
        for kind, foils in (("atom", atoms), ("comp", comps), ("both", atoms + comps)):
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
_NOT_IN_CREPE = ("val", "partial")
"""Splits that CREPE does not have, and that therefore have no raw retrieval."""


class Productivity(Protocol):
    """A caption with 5 foils of each kind (`atom`, `swap`, `neg`), and with all 15 (`all`) if it
    has every kind.

    `denials` sets which texts of `neg` and `all` deny something. "foils": only the foils; each
    denies one atom or the
    whole caption, or two or three atoms if that gives fewer than five foils (CREPE, table 1).
    "both": captions have
    true denials too. Up to five atoms are each denied with probability 1/2; a denied atom first
    gets a false value, so
    that the denial is true. A foil inverts one of these atoms, or two or three if that gives too
    few foils. So "not" is
    equally frequent in true and in false texts.

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
        super().__init__(captioner)
        quota = Quota([cell for cell in cells if cell.complexity >= _FEWEST_ATOMS])
        write = partial(_of_each_kind, _denials if denials == "both" else _negations)
        kinds = tuple(kind for kind in self.kinds if kind != RAW)
        self.recipes = {"captions": Recipe(Draft.walk, write, quota, kinds)} if quota.cells else {}
        self._raw = RawRetrieval(captioner, self.name)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """The items of a scene with foils; their caption is kept for raw retrieval."""
        written = list(super().items(scene, stream))
        # A caption that denies something is the caption of `neg` and `all` only; raw retrieval asks
        # about plain ones.
        plain = [item.candidates[0].text for item in written if item.kind in ("atom", "swap")]
        if plain and scene.split not in _NOT_IN_CREPE:
            form = plain[0].form
            n = form.n_objects + form.n_attributes + form.n_relations
            self._raw.add(
                Group(scene.split, f"{scene.split}-{n}", None), RawCaption(scene, plain[0])
            )
        yield from written

    def pooled_items(self) -> Iterator[tuple[DescribedScene, Item]]:
        """The items of raw retrieval."""
        return self._raw.items()

    def pools(self) -> Mapping[str, Sequence[Text]]:
        """The captions of each pool of raw retrieval."""
        return self._raw.pools()


Denied = Callable[[Draft, Form], tuple[Form, list[Foil]] | None]


def _of_each_kind(denials: Denied, draft: Draft, form: Form) -> Iterator[Item | None]:
    yield draft.item("atom", None, form, draft.accepted(draft.atom_foils(form), form, _K))
    yield draft.item("swap", None, form, draft.accepted(_swaps(draft, form), form, _K))
    denied = denials(draft, form)
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
    """The form with random atoms denied, and foils that invert one to three of these choices; None
    if too few."""
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


def _negations(draft: Draft, form: Form) -> tuple[Form, list[Foil]] | None:
    """The form itself, and foils that deny the whole or one atom, or two or three atoms if these
    are too few."""
    foils = draft.foils
    atoms = _one_per_object(draft, foils.deniable(form))

    def made() -> Iterator[Foil]:
        single = [
            Foil(foils.deny(form, atom), _denied(draft, form, (atom,)), "neg") for atom in atoms
        ]
        yield from draft.stream.shuffled(
            [Foil(form._replace(negated=True), (WHOLE,), "neg"), *single]
        )
        for some in draft.stream.shuffled(
            [each for size in (2, 3) for each in combinations(atoms, size)]
        ):
            told = form
            for atom in some:
                told = foils.deny(told, atom)
            yield Foil(told, _denied(draft, form, some), "neg")

    accepted = draft.accepted(made(), form, _K)
    return (form, accepted) if accepted else None


def _denied(draft: Draft, form: Form, atoms: Sequence[Atom]) -> tuple[str, ...]:
    return tuple(denial_of(atom, draft.substitutes.value(form, atom), False) for atom in atoms)


def _one_per_object(draft: Draft, atoms: Sequence[Atom]) -> list[Atom]:
    """All relations and at most one atom of each object, in random order."""
    chosen: dict[tuple[bool, int], Atom] = {}
    for atom in draft.stream.shuffled(atoms):
        chosen.setdefault((atom.type == "relation", atom.place), atom)
    return [*chosen.values()]


Options = Mapping[str, Set[int]]
"""The possible sizes of a scene's question, by scene_id."""


def matched(options: Mapping[str, Options], stream: Stream) -> dict[str, int]:
    """The size of each scene's question, by scene_id. Scenes that would make the splits differ are
    left out.

    `options` has the scenes of each split. All splits get the same number of questions of each
    size: as many as every
    split allows, and as even over the sizes as possible.

    >>> found = matched({"seen": {"a": {1, 2}, "b": {1, 2}, "c": {2}}, "unseen": {"d": {1}, "e": {1,
    2}}}, Stream(0))
    >>> sorted(found.values())
    [1, 1, 2, 2]
    """
    sizes = sorted(
        {size for scenes in options.values() for each in scenes.values() for size in each}
    )
    groups = [frozenset(each) for n in range(1, len(sizes) + 1) for each in combinations(sizes, n)]
    room = {
        group: min(
            sum(not group.isdisjoint(each) for each in scenes.values())
            for scenes in options.values()
        )
        for group in groups
    }
    counts = dict.fromkeys(sizes, 0)
    growing = list(sizes)
    while growing:  # Hall's theorem: the scenes suffice if they suffice for every subset of sizes
        size = min(growing, key=counts.__getitem__)
        counts[size] += 1
        if any(
            sum(counts[each] for each in group) > room[group] for group in groups if size in group
        ):
            counts[size] -= 1
            growing.remove(size)
    return {
        scene_id: size
        for scenes in options.values()
        for scene_id, size in _assigned(scenes, counts, stream)
    }


def _assigned(scenes: Options, counts: Mapping[int, int], stream: Stream) -> list[tuple[str, int]]:
    """Assigns scenes to `counts` questions of each size; the caller ensures that enough scenes
    exist."""
    kinds = Counter(frozenset(each) for each in scenes.values())
    graph = nx.DiGraph()
    for kind, n in kinds.items():
        graph.add_edge("scenes", kind, capacity=n)
        for size in kind:
            graph.add_edge(kind, size)
    for size, n in counts.items():
        graph.add_edge(size, "questions", capacity=n)
    _, flow = nx.maximum_flow(graph, "scenes", "questions") if kinds else (0, {})
    left = {
        kind: [size for size in sorted(kind) for _ in range(flow[kind][size])] for kind in kinds
    }
    drawn = [
        (scene_id, left[kind])
        for scene_id, each in scenes.items()
        if (kind := frozenset(each)) in left
    ]
    return [(scene_id, sizes.pop()) for scene_id, sizes in stream.shuffled(drawn) if sizes]
