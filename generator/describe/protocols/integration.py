"""Composed captions and their primitives, each with the same change (COMPASS, section 5 and appendix A)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.complexity_quota import quotas_of
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol
from generator.language.complexity import Cell
from generator.language.foils import Foil
from generator.language.form import Form, Link, Mention
from generator.language.substitutes import Atom

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
