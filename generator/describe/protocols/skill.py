"""Skill-targeted negatives: four foils that change atoms of one type (COMPASS, section 3.2 and appendix A)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from generator.dataset.streams import Stream
from generator.describe.items import Grid, Item, Language, Subject, Text, one_of
from generator.language.complexity import Cell, Subgraph
from generator.language.foils import Foil

SKILLS = {"object": ("L1", "OA", "OR", "OAR"), "attribute": ("OA", "OAR"), "relation": ("OR", "OAR")}
"""Levels at which each skill can be asked for."""
_K, _ATTEMPTS = 4, 10


class Skill:
    """For each level and skill, a caption of the least filled cell and four foils that change only the skill's atoms.

    Where there is room the relations of a relation item join different pairs, since each then has foils of its own.
    """

    name = "skill"

    def __init__(self, language: Language, cells: Sequence[Cell]):
        self._language = language
        self.grids: Mapping[tuple[str, str], Grid] = {
            (skill, level): Grid(found)
            for skill, levels in SKILLS.items()
            for level in levels
            if (found := [cell for cell in cells if cell.level == level and _enough(cell, skill)])
        }

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        for (skill, level), grid in self.grids.items():
            made = self._language.draw(subject, grid, stream, partial(self._make, skill=skill))
            if not made:
                self._language.dropped[f"{self.name} {skill} {level}"] += 1
            yield from made

    def _make(self, subject: Subject, cell: Cell, stream: Stream, skill: str) -> list[Item]:
        language = self._language
        apart = skill == "relation" and cell.n_objects >= 2 * cell.n_relations
        found = language.walker.walk(subject.facts, cell, subject.lone, stream, apart=apart)
        if found is None or not subject.suits(found.things):
            return []
        foils = targeted(language, subject, found, skill, stream)
        if foils is None:
            return []
        style = language.style([found.form, *(foil.form for foil in foils)], stream)
        return [one_of(self.name, "targeted", skill, Text(found.form, style), foils)] if style else []


def targeted(language: Language, subject: Subject, found: Subgraph, skill: str, stream: Stream) -> list[Foil] | None:
    """Four different foils; an atom's weight is halved each time it is chosen; None after ten attempts."""
    atoms = language.foils.atoms(found.form, (skill,))
    left = [
        stream.shuffled(language.foils.substitutes(found.form, atom, subject.facts, found.things)) for atom in atoms
    ]
    weights = [1.0] * len(atoms)
    foils: list[Foil] = []
    for _ in range(_ATTEMPTS):
        weights = [weight if values else 0.0 for weight, values in zip(weights, left, strict=True)]
        if not any(weights):
            return None
        n = _weighted(weights, stream)
        weights[n] /= 2
        foil = language.foils.with_atom(found.form, atoms[n], left[n].pop(), skill)
        if language.admits(found.form, foil.form, subject):
            foils.append(foil)
            if len(foils) == _K:
                return foils
    return None


def _weighted(weights: Sequence[float], stream: Stream) -> int:
    mark = stream.uniform(0, sum(weights))
    for n, weight in enumerate(weights):
        mark -= weight
        if mark < 0:
            return n
    return len(weights) - 1


def _enough(cell: Cell, skill: str) -> bool:
    """Whether captions of a cell can have four foils: a relation has two at most, a two-valued attribute one."""
    return {"object": cell.n_objects, "attribute": cell.n_attributes, "relation": cell.n_relations // 2}[skill] > 0
