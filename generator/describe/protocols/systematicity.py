"""Systematicity: a caption of compounds against foils of its atoms and of its compounds (CREPE, section 3.3)."""

from collections.abc import Iterator, Mapping
from typing import Any

from generator.dataset.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.complexity_quota import ComplexityQuota
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Item, Text, item_of_foils
from generator.describe.protocols.protocol import Protocol
from generator.language.complexity import Cell
from generator.language.foils import Foil
from generator.language.form import Form
from generator.language.substitutes import Atom

MOST_COMPOUNDS = 3
_ATOM, _COMP, _TRIES = 4, 6, 8


class Systematicity(Protocol):
    """Captions of one to three compounds of the tested kind; sets 1 + 4 HN-ATOM, 1 + 6 HN-COMP, and both."""

    name = "systematicity"
    kinds = ("atom", "comp", "both")

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self._quota = ComplexityQuota([Cell("OA", n, n, 0) for n in range(1, MOST_COMPOUNDS + 1)])

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        made = self.captioner.fill_cell(scene, self._quota, stream, self._make)
        if not made:
            self.captioner.dropped[self.name] += 1
        yield from made

    def report(self) -> Mapping[str, Any]:
        return self._quota.to_dict()

    def _make(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Item]:
        captioner = self.captioner
        found = captioner.walker.walk(
            scene.facts, cell, scene.unique_objects, stream, lambda thing: [captioner.holdout.kind]
        )
        if found is None or not scene.objects_fit_split(found.objects):
            return []
        atoms = captioner.atom_foils(scene, found.form, _ATOM, stream)
        comps = self._comp_foils(scene, found.form, stream)
        if atoms is None or comps is None:
            return []
        template = captioner.draw_template([found.form, *(foil.form for foil in atoms + comps)], stream)
        if template is None:
            return []
        caption = Text(found.form, template)
        sets = {"atom": atoms, "comp": comps, "both": atoms + comps}
        return [item_of_foils(self.name, kind, None, caption, foils) for kind, foils in sets.items()]

    def _comp_foils(self, scene: DescribedScene, form: Form, stream: Stream) -> list[Foil] | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        there = set(scene.facts.categories)
        foils: dict[Form, Foil] = {}
        for _ in range(_COMP * _TRIES):
            atom = Atom("attribute", stream.below(len(form.objects)), kind)
            mention = form.objects[atom.place]
            values = [v for v in captioner.vocabulary.values(kind) if v != mention.values[kind]]
            absent = [name for name in captioner.vocabulary.objects if name not in there]
            if not values or not absent:
                return None
            value, category = values[stream.below(len(values))], absent[stream.below(len(absent))]
            foil = captioner.foils.split_compound(form, atom, value, category)
            if foil.form not in foils and captioner.accepts(foil.form, form, scene):
                foils[foil.form] = foil
                if len(foils) == _COMP:
                    return list(foils.values())
        return None
