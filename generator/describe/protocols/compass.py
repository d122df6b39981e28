"""The protocols of COMPASS: integration (section 5, appendix A) and skill-targeted negatives
(section 3.2, appendix A)."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.language.complexity import Cell, make_quotas
from generator.language.foils import Atom, Foil
from generator.language.form import Form, Link, Mention

_MOST_VALUES_TRIED = 3
"""False values that are tried for an atom."""
_TEMPLATES = {"object": "in-image", "attribute": "there-is", "relation": "clauses"}
"""The templates of decomposed captions, by type of atom."""


class Integration(Protocol):
    """A caption of N atoms with N foils, one per atom, and N decomposed captions d1 … dN, each with
    the same change.

    The substitute of an object or attribute occurs nowhere in the scene, and the replaced value
    occurs once; a relation becomes its opposite. So the composed and the decomposed foil are both
    false, and nothing else changes.

    By default each level has one caption, from a separate walk. With `one_subgraph` all captions of
    a scene are parts of one walk, and each level has a caption for each N for which the walk has
    enough atoms (COMPASS, section 3.1). With `shared_values` other objects may have the replaced
    value too, so that items about sizes and materials are possible whenever the scene lacks one
    value (section 3.2). The caption still names the value once: a substitute that is absent from
    the scene is never repeated, so a repeated value would tell the caption from its foil.
    """

    name = "integration"
    kinds = ("composed",)
    needs = (
        "a caption's categories and values must occur once in the scene and leave others unused; "
        "use more categories or fewer objects"
    )
    graded = True

    def __init__(
        self,
        captioner: Captioner,
        cells: Sequence[Cell],
        one_subgraph: bool = False,
        shared_values: bool = False,
    ):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            cells: the complexities of captions.
            one_subgraph: take all captions of a scene from one walk.
            shared_values: also replace values that several objects of the scene have.
        """
        super().__init__(captioner)
        # A kind needs a value that the scene lacks; if values are not shared, at least one more.
        fewest_values = 2 if shared_values else 3
        n_kinds = 0
        for values in captioner.vocabulary.attributes.values():
            if len(values) >= fewest_values:
                n_kinds += 1
        usable = [cell for cell in cells if cell.n_attributes <= n_kinds * cell.n_objects]

        draw = partial(_walk_replaceable, one_subgraph=one_subgraph, shared=shared_values)
        self.recipes = {}
        for name, quota in make_quotas(usable, one_subgraph).items():
            self.recipes[name] = Recipe(draw, _write_composed, quota)


def _walk_replaceable(draft: Draft, cell: Cell, one_subgraph: bool, shared: bool) -> Form | None:
    """Draw a caption of which every attribute value can be replaced."""
    sayable = partial(draft.replaceable, shared=shared)
    within = draft.subgraph() if one_subgraph else None
    return draft.walk(cell, sayable, within=within)


def _write_composed(draft: Draft, form: Form) -> Iterator[Item | None]:
    """The composed caption with a foil for each atom, and the decomposed captions; no item if an
    atom cannot be replaced."""
    atoms = draft.substitutes.atoms(form)
    foils = []
    for atom in atoms:
        selected = draft.select_foils(_atom_changes(draft, form, atom), form)
        if not selected:
            return
        foils += selected
    item = draft.make_item("composed", None, form=form, foils=foils)
    if item is not None:
        decomposed = tuple(_decomposed(form, atoms, foils))
        yield item._replace(candidates=item.candidates + decomposed)


def _atom_changes(draft: Draft, form: Form, atom: Atom) -> Iterator[Foil]:
    """Foils with one atom replaced whose decomposed caption is false too; tries a few values."""
    if atom.type == "relation":
        relation = form.relations[atom.place].relation
        values = [draft.vocabulary.relations[relation].opposite]
    else:
        values = _absent_values(draft, form, atom)
    for value in draft.stream.shuffled(values)[:_MOST_VALUES_TRIED]:
        foil = draft.foils.replace_atom(form, atom, value, atom.type)
        decomposed_foil = _primitive(foil.form, atom)
        decomposed_caption = _primitive(form, atom)
        if draft.accepts(decomposed_foil, decomposed_caption):
            yield foil


def _absent_values(draft: Draft, form: Form, atom: Atom) -> list[str]:
    """The values that may replace an atom; for an attribute, only values that no object of the
    scene has.

    None may replace an attribute value that the form names twice. No foil repeats a value that the
    scene lacks (COMPASS, section 3.2), so in such a pair the repeated value would always be the
    true one. If the caption names the value once, exchanging the two values in the whole scene
    turns the caption into the foil, and both scenes are equally likely: the text alone says
    nothing.
    """
    values = draft.substitutes.alternatives(form, atom, draft.facts)
    if atom.type != "attribute":
        return values
    own = form.objects[atom.place].values[atom.kind]
    named_values = [mention.values.get(atom.kind) for mention in form.objects]
    if named_values.count(own) > 1:
        return []
    absent = draft.absent(atom.kind)
    return [value for value in values if value in absent]


def _decomposed(form: Form, atoms: Sequence[Atom], foils: Sequence[Foil]) -> Iterator[Candidate]:
    """Yield a caption and a foil of each atom alone, in slots d1 … dN."""
    for number, (atom, foil) in enumerate(zip(atoms, foils, strict=True), 1):
        template = _TEMPLATES[atom.type]
        caption = Text(_primitive(form, atom), template)
        false_text = Text(_primitive(foil.form, atom), template)
        slot = f"d{number}"
        yield Candidate(caption, slot, True)
        yield Candidate(false_text, slot, False, foil.kind, foil.changed, caption)


def _primitive(form: Form, atom: Atom) -> Form:
    """The part of a form that asserts one atom: the object, the object with the attribute, or the
    two related objects."""
    if atom.type == "relation":
        link = form.relations[atom.place]
        subject = Mention(form.objects[link.subject].category)
        other = Mention(form.objects[link.object].category)
        return Form((subject, other), (Link(0, link.relation, 1),))
    mention = form.objects[atom.place]
    if atom.type == "object":
        return Form((Mention(mention.category),))
    attribute = (atom.kind, mention.values[atom.kind])
    return Form((Mention(mention.category, (attribute,)),))


SKILLS = {
    "object": ("L1", "OA", "OR", "OAR"),
    "attribute": ("OA", "OAR"),
    "relation": ("OR", "OAR"),
}
"""The levels of the captions of each skill."""
_N_FOILS = 4
"""Foils of an item (COMPASS, section 3.2)."""
_MOST_DRAWS = 10
"""Foils that are drawn until four are accepted."""
_FALSE_OF_A_PAIR = 2
"""For each true relation two equally likely alternatives are false: its opposite and one of the
other axis's directions."""


class Skill(Protocol):
    """For each skill and level, a caption of the least filled cell and four foils that change only
    the skill's atoms.

    In relation items the relations join different pairs if the cell has enough objects, so that
    each relation has its own foils.

    With `absent_values` the value of an attribute foil is on no object of the scene (COMPASS,
    section 3.2); by default another object may have it. With `any_relation` a foil may have any
    other relation (section 6.1), so that a caption needs fewer relations; by default only equally
    likely relations. Stacking relations hold for few pairs, so the text alone would reveal such
    foils: they replace only one another. A caption of one relation therefore lacks four foils, and
    is not asked about. `one_subgraph` and `shared_values` are as in `Integration`.
    """

    name = "skill"
    kinds = ("targeted",)
    needs = "four foils need a scene whose objects differ in category and leave categories unused"
    graded = True

    def __init__(
        self,
        captioner: Captioner,
        cells: Sequence[Cell],
        absent_values: bool = False,
        any_relation: bool = False,
        one_subgraph: bool = False,
        shared_values: bool = False,
    ):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            cells: the complexities of captions.
            absent_values: replace attribute values only by values that the scene lacks.
            any_relation: replace relations by any other relation of the same pairs.
            one_subgraph: take all captions of a scene from one walk.
            shared_values: also replace values that several objects of the scene have.
        """
        super().__init__(captioner)
        self._absent_values = absent_values
        self._any_relation = any_relation
        self._one_subgraph = one_subgraph
        self._shared_values = shared_values
        # Of a pair, one relation of each axis is false.
        n_axes = len(captioner.substitutes.axes.general)
        false_of_a_pair = n_axes if any_relation else _FALSE_OF_A_PAIR
        fewest_atoms = {
            "object": 1,
            "attribute": 1,
            "relation": math.ceil(_N_FOILS / false_of_a_pair),
        }
        self.recipes = {}
        for skill, levels in SKILLS.items():
            usable = []
            for cell in cells:
                n_atoms = getattr(cell, f"n_{skill}s")
                if cell.level in levels and n_atoms >= fewest_atoms[skill]:
                    usable.append(cell)
            draw = partial(self._walk, skill)
            write = partial(self._write_targeted, skill)
            for name, quota in make_quotas(usable, one_subgraph).items():
                self.recipes[f"{skill} {name}"] = Recipe(draw, write, quota)

    def _walk(self, skill: str, draft: Draft, cell: Cell) -> Form | None:
        """Draw a caption whose atoms of the skill can be replaced."""
        sayable = None
        if self._absent_values and skill == "attribute":
            sayable = partial(draft.replaceable, shared=self._shared_values)
        # Relations of different pairs, if there are enough objects for that.
        apart = skill == "relation" and cell.n_objects >= 2 * cell.n_relations
        within = draft.subgraph() if self._one_subgraph else None
        return draft.walk(cell, sayable, apart=apart, within=within)

    def _write_targeted(self, skill: str, draft: Draft, form: Form) -> Iterator[Item | None]:
        foils_of_skill = self._draw_foils(skill, draft, form)
        foils = draft.select_foils(foils_of_skill, form, _N_FOILS)
        yield draft.make_item("targeted", skill, form=form, foils=foils)

    def _draw_foils(self, skill: str, draft: Draft, form: Form) -> Iterator[Foil]:
        """Draw up to ten foils. An atom's weight is halved each time it is chosen, so that foils
        change different atoms."""
        atoms = draft.substitutes.atoms(form, (skill,))
        values_left = []
        for atom in atoms:
            values = self._values(draft, form, atom)
            values_left.append(draft.stream.shuffled(values))
        weights = [1.0] * len(atoms)
        for _ in range(_MOST_DRAWS):
            for number, values in enumerate(values_left):
                if not values:
                    weights[number] = 0.0
            if not any(weights):
                return
            number = _draw_weighted(weights, draft.stream)
            weights[number] /= 2
            value = values_left[number].pop()
            yield draft.foils.replace_atom(form, atoms[number], value, skill)

    def _values(self, draft: Draft, form: Form, atom: Atom) -> list[str]:
        """The values by which foils may replace an atom."""
        if atom.type == "relation" and self._any_relation:
            axes = draft.substitutes.axes
            own_axis = axes.axis_of(draft.substitutes.value(form, atom))
            return draft.substitutes.relations(form, atom, axes.of_the_same_pairs(own_axis))
        if self._absent_values:
            return _absent_values(draft, form, atom)
        return draft.substitutes.alternatives(form, atom, draft.facts)


def _draw_weighted(weights: Sequence[float], stream: Stream) -> int:
    """Draw a place with a probability in proportion to its weight."""
    mark = stream.uniform(0, sum(weights))
    for place, weight in enumerate(weights):
        mark -= weight
        if mark < 0:
            return place
    # Rounding may leave a mark of zero.
    return len(weights) - 1
