"""Systematicity: a caption of compounds against foils of its atoms and of its compounds (CREPE, section 3.3)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.captions import draw_related_pair
from generator.describe.complexity_quota import ComplexityQuota
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text, item_of_foils
from generator.describe.protocols.protocol import Protocol
from generator.holdout.membership import UNSEEN_ATOMS
from generator.language.complexity import Cell
from generator.language.familiarity import names_absent
from generator.language.foils import Foil
from generator.language.form import Form
from generator.language.substitutes import Atom

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
