"""Skill-targeted negatives: four foils that change atoms of one type (COMPASS, section 3.2 and appendix A)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from generator.base.streams import Stream
from generator.describe.absent_values import AbsentValues
from generator.describe.captioner import Captioner
from generator.describe.complexity_quota import quotas_of
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Item, Text, item_of_foils
from generator.describe.protocols.protocol import Protocol
from generator.language.complexity import Cell
from generator.language.foils import Foil
from generator.language.form import Form
from generator.language.substitutes import Atom
from generator.language.walk import Subgraph

SKILLS = {"object": ("L1", "OA", "OR", "OAR"), "attribute": ("OA", "OAR"), "relation": ("OR", "OAR")}
"""The levels of captions that each skill has."""
_K, _ATTEMPTS = 4, 10
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
        for _ in range(_ATTEMPTS):
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
