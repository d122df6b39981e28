"""Binary choice: a caption against one foil (protocols.md, section 1; flips and exchanged ends of relations; denials)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.captions import draw_related_pair, draw_tested_pair, name_objects
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text, item_of_foils
from generator.describe.protocols.protocol import Protocol
from generator.holdout.holdout import Holdout
from generator.language.substitutes import Atom

MakeItems = Callable[[Captioner, DescribedScene, Stream], list[Item]]


class Binary(Protocol):
    """Items of two texts, a caption (slot c) and a foil (slot n). `KINDS` defines the kinds of foils."""

    name = "binary"

    def __init__(self, captioner: Captioner, kinds: Sequence[str] | None = None):
        """`kinds` selects from KINDS; by default all are written."""
        super().__init__(captioner)
        self.kinds = tuple(KINDS)
        self.kinds = self.chosen_kinds(kinds)

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"kinds": ("swap", "flip") if holdout.triples else ("swap",)}

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for kind in self.kinds:
            made = KINDS[kind](self.captioner, scene, stream)
            if not made:
                self.captioner.dropped[f"{self.name} {kind}"] += 1
            yield from made


def _swap(captioner: Captioner, scene: DescribedScene, stream: Stream) -> list[Item]:
    """Two objects exchange their values of the tested kind; one item for each order of mention."""
    tested = captioner.holdout.kind
    pair = draw_tested_pair(scene, tested, stream)
    if pair is None:
        return []
    items = []
    for objects in (pair, pair[::-1]):
        form = name_objects(scene, objects, (tested,))
        foil = captioner.foils.exchange_values(form, tested)
        template = captioner.draw_template([form, foil.form], stream)
        if template is None or not captioner.accepts(foil.form, form, scene):
            return []
        items.append(item_of_foils("binary", "swap", "attribute", Text(form, template), [foil]))
    return items


def _flip(captioner: Captioner, scene: DescribedScene, stream: Stream) -> list[Item]:
    """A relation becomes its opposite."""
    return _of_relation(captioner, scene, stream, "flip")


def _order(captioner: Captioner, scene: DescribedScene, stream: Stream) -> list[Item]:
    """A relation's subject and object are exchanged."""
    return _of_relation(captioner, scene, stream, "order")


def _of_relation(captioner: Captioner, scene: DescribedScene, stream: Stream, kind: str) -> list[Item]:
    form = draw_related_pair(captioner, scene, stream, directed=kind == "order")
    if form is None:
        return []
    foil = captioner.foils.flip_relation(form, 0) if kind == "flip" else captioner.foils.exchange_ends(form, 0)
    template = captioner.draw_template([form, foil.form], stream)
    if template is None or not captioner.accepts(foil.form, form, scene):
        return []
    return [item_of_foils("binary", kind, "relation", Text(form, template), [foil])]


def _denial(captioner: Captioner, scene: DescribedScene, stream: Stream) -> list[Item]:
    """A true statement against its denial, or the denial of a false statement against that statement.

    Each by chance, so that "not true" is true as often as false.
    """
    tested = captioner.holdout.kind
    if not scene.unique_objects:
        return []
    chosen = scene.unique_objects[stream.below(len(scene.unique_objects))]
    form = name_objects(scene, (chosen,), (tested,))
    if stream.below(2):
        own = form.objects[0].values[tested]
        values = [value for value in captioner.substitutes.values(tested, own) if value != own]
        if not values:  # a block that leaves one value free
            return []
        value = values[stream.below(len(values))]
        foil = captioner.foils.replace_atom(form, Atom("attribute", 0, tested), value).form
        caption = replace(foil, negated=True)
    else:
        caption, foil = form, replace(form, negated=True)
    if not scene.objects_fit_split((chosen,)) or not captioner.accepts(foil, caption, scene):
        return []
    template = captioner.draw_template([form], stream)
    if template is None:
        return []
    true, false = (Text(each, "not-true" if each.negated else template) for each in (caption, foil))
    candidates = (Candidate(true, "c", True), Candidate(false, "n", False, "neg", ("caption:denied",), true))
    return [Item("binary", "denial", "negation", candidates)]


KINDS: dict[str, MakeItems] = {"swap": _swap, "flip": _flip, "order": _order, "denial": _denial}
"""The kinds of foils. To add one, write a function that makes its items of a scene (none if the scene allows none)."""
