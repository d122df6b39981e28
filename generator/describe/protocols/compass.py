"""Composed captions and their primitives, each with the same change (COMPASS, section 5 and appendix A)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import AbsentValues, Captioner
from generator.describe.items import Candidate, Item, Text, item_of_foils
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.language.complexity import Cell, quotas_of
from generator.language.foils import Atom, Foil
from generator.language.form import Form, Link, Mention
from generator.language.walk import Subgraph

_ATTEMPTS = 3
_TEMPLATES = {"object": "in-image", "attribute": "there-is", "relation": "clauses"}
"""The templates of decomposed captions, by type of atom."""


class Integration(Protocol):
    """A caption of N atoms with N foils, one per atom, and N decomposed captions d1 … dN, each with the same change.

    The substitute of an object or attribute occurs nowhere in the scene, and the replaced value occurs once; a
    relation becomes its opposite. So the composed and the decomposed foil are both false, and nothing else changes.

    By default every caption is a walk of its own, one for each level. With `one_subgraph` all captions of a scene are parts
    of one walk, and each level has one for each N that the walk has enough atoms for (COMPASS, section 3.1).
    """

    name = "integration"
    kinds = ("composed",)
    needs = "a caption's categories and values must occur once in the scene and leave others unused: more categories, or fewer objects"
    graded = True

    def __init__(self, captioner: Captioner, cells: Sequence[Cell], one_subgraph: bool = False):
        super().__init__(captioner)
        self._one_subgraph = one_subgraph
        kinds = sum(len(values) > 2 for values in captioner.vocabulary.attributes.values())
        usable = [cell for cell in cells if cell.n_attributes <= kinds * cell.n_objects]
        self._quotas = quotas_of(usable, one_subgraph)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for name, quota in self._quotas.items():
            made = self.captioner.fill_cell(scene, quota, stream, self._make)
            if not made:
                self.captioner.dropped[f"{self.name} {name}"] += 1
            yield from made

    def report(self) -> Mapping[str, Any]:
        return {name: quota.to_dict() for name, quota in self._quotas.items()}

    def _make(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        captioner = self.captioner
        absent = captioner.absent_values(scene)
        whole = captioner.subgraph(scene, stream) if self._one_subgraph else None
        found = captioner.walker.walk(scene.facts, cell, scene.unique_objects, stream, absent.sayable, within=whole)
        if found is None or not scene.objects_fit_split(found.objects):
            return []
        form = found.form
        foils = []
        for atom in captioner.substitutes.atoms(form):
            values = absent.among(self._substitutes(form, atom, scene), atom)
            foil = self._foil(form, atom, values, scene, stream)
            if foil is None:
                return []
            foils.append((atom, foil))
        template = captioner.draw_template([form, *(foil.form for _, foil in foils)], stream)
        return [self._item(form, template, foils)] if template else []

    def _substitutes(self, form: Form, atom: Atom, scene: DescribedScene) -> list[str]:
        if atom.type == "relation":
            return [self.captioner.vocabulary.relations[form.relations[atom.place].relation].opposite]
        return self.captioner.substitutes.of(form, atom, scene.facts)

    def _foil(
        self, form: Form, atom: Atom, values: Sequence[str], scene: DescribedScene, stream: Stream
    ) -> Foil | None:
        """The form with one atom replaced, so that both the whole and the decomposed caption are false."""
        captioner = self.captioner
        for value in stream.shuffled(values)[:_ATTEMPTS]:
            foil = captioner.foils.replace_atom(form, atom, value, atom.type)
            part, part_foil = _primitive(form, atom), _primitive(foil.form, atom)
            if captioner.accepts(foil.form, form, scene) and captioner.accepts(part_foil, part, scene):
                return foil
        return None

    def _item(self, form: Form, template: str, foils: list[tuple[Atom, Foil]]) -> Item:
        caption = Text(form, template)
        candidates = [Candidate(caption, "c", True)]
        candidates += [
            Candidate(Text(foil.form, template), "n", False, foil.kind, foil.changed, caption) for _, foil in foils
        ]
        for n, (atom, foil) in enumerate(foils, 1):
            true, false = (Text(_primitive(each, atom), _TEMPLATES[atom.type]) for each in (form, foil.form))
            candidates.append(Candidate(true, f"d{n}", True))
            candidates.append(Candidate(false, f"d{n}", False, foil.kind, foil.changed, true))
        return Item(self.name, "composed", None, tuple(candidates))


def _primitive(form: Form, atom: Atom) -> Form:
    """The part of a form that asserts one atom: the object, the object with the attribute, or the two related objects."""
    if atom.type == "relation":
        link = form.relations[atom.place]
        ends = (Mention(form.objects[link.subject].category), Mention(form.objects[link.object].category))
        return Form(ends, (Link(0, link.relation, 1),))
    mention = form.objects[atom.place]
    attributes = () if atom.type == "object" else ((atom.kind, mention.values[atom.kind]),)
    return Form((Mention(mention.category, attributes),))


SKILLS = {"object": ("L1", "OA", "OR", "OAR"), "attribute": ("OA", "OAR"), "relation": ("OR", "OAR")}
"""The levels of captions that each skill has."""
_K, _FOIL_ATTEMPTS = 4, 10
_FALSE_OF_A_PAIR = 2
"""Of the relations that are as likely as one that holds, so many are false of the same pair: its opposite, and of two other
directions one."""


class Skill(Protocol):
    """For each skill and level, a caption of the least filled cell and four foils that change only the skill's atoms.

    The relations of a relation item join different pairs where the cell has enough objects, because each relation then
    has foils of its own.

    With `absent_values` the value of an attribute foil is on no object of the scene (COMPASS, section 3.2); by default it
    may be another object's. With `any_relation` a foil may have any other relation (section 6.1), so that a caption needs
    fewer of them; by default only those that are as likely. Stacking relations hold of few pairs, so the text alone tells
    that a foil has one; they stand for others only where the caption has one relation and lacks four foils without them.
    `one_subgraph` is that of integration.py.
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
    ):
        super().__init__(captioner)
        self._absent, self._any_relation, self._one_subgraph = absent_values, any_relation, one_subgraph
        false = captioner.substitutes.axes.most_false() if any_relation else _FALSE_OF_A_PAIR
        self._fewest = {"object": 1, "attribute": 1, "relation": -(-_K // false)}
        self._quotas = {
            (skill, name): quota
            for skill, levels in SKILLS.items()
            for name, quota in quotas_of(
                [cell for cell in cells if cell.level in levels and self._has_foils(cell, skill)], one_subgraph
            ).items()
        }

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for (skill, name), quota in self._quotas.items():
            made = self.captioner.fill_cell(scene, quota, stream, partial(self._make, skill=skill))
            if not made:
                self.captioner.dropped[f"{self.name} {skill} {name}"] += 1
            yield from made

    def report(self) -> Mapping[str, Any]:
        return {f"{skill} {name}": quota.to_dict() for (skill, name), quota in self._quotas.items()}

    def _make(self, scene: DescribedScene, cell: Cell, stream: Stream, skill: str) -> list[Item]:
        captioner = self.captioner
        apart = skill == "relation" and cell.n_objects >= 2 * cell.n_relations
        absent = captioner.absent_values(scene) if self._absent and skill == "attribute" else None
        sayable = absent.sayable if absent else None
        whole = captioner.subgraph(scene, stream) if self._one_subgraph else None
        found = captioner.walker.walk(scene.facts, cell, scene.unique_objects, stream, sayable, apart, whole)
        if found is None or not scene.objects_fit_split(found.objects):
            return []
        foils = self._foils(scene, found, skill, stream, absent)
        if foils is None:
            return []
        template = captioner.draw_template([found.form, *(foil.form for foil in foils)], stream)
        return [item_of_foils(self.name, "targeted", skill, Text(found.form, template), foils)] if template else []

    def _foils(
        self, scene: DescribedScene, found: Subgraph, skill: str, stream: Stream, absent: AbsentValues | None
    ) -> list[Foil] | None:
        """Four different foils. An atom's weight is halved each time it is chosen. None after ten attempts."""
        captioner = self.captioner
        atoms = captioner.substitutes.atoms(found.form, (skill,))
        values = [stream.shuffled(self._values(found.form, atom, scene, absent)) for atom in atoms]
        weights = [1.0] * len(atoms)
        foils: list[Foil] = []
        for _ in range(_FOIL_ATTEMPTS):
            weights = [weight if left else 0.0 for weight, left in zip(weights, values, strict=True)]
            if not any(weights):
                return None
            n = _draw_weighted(weights, stream)
            weights[n] /= 2
            foil = captioner.foils.replace_atom(found.form, atoms[n], values[n].pop(), skill)
            if captioner.accepts(foil.form, found.form, scene):
                foils.append(foil)
                if len(foils) == _K:
                    return foils
        return None

    def _values(self, form: Form, atom: Atom, scene: DescribedScene, absent: AbsentValues | None) -> list[str]:
        captioner = self.captioner
        if atom.type == "relation" and self._any_relation:
            substitutes, axes = captioner.substitutes, captioner.substitutes.axes
            own = axes.axis_of(substitutes.value(form, atom))
            alone = len(form.relations) == 1
            return substitutes.relations(
                form, atom, range(len(axes.relations)) if alone else axes.of_the_same_pairs(own)
            )
        values = captioner.substitutes.of(form, atom, scene.facts)
        return absent.among(values, atom) if absent else values

    def _has_foils(self, cell: Cell, skill: str) -> bool:
        """Whether captions of a cell may have four foils."""
        n = {"object": cell.n_objects, "attribute": cell.n_attributes, "relation": cell.n_relations}[skill]
        return n >= self._fewest[skill]


def _draw_weighted(weights: Sequence[float], stream: Stream) -> int:
    mark = stream.uniform(0, sum(weights))
    for n, weight in enumerate(weights):
        mark -= weight
        if mark < 0:
            return n
    return len(weights) - 1
