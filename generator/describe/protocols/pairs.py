"""Two images, two captions (protocols.md, section 6): a scene and its twin, each with the caption that is true of it alone."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, name_objects
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.language.foils import Foil
from generator.language.form import Form, Link

_TEMPLATES = ("a-and-a", "that-is", "photo", "there-is", "clauses")


class Pairs(Protocol):
    """Minimal pairs. `attribute`: two objects have exchanged a value; `relation`: they have exchanged their places.

    The captions differ in the same exchange, so that both have the same words.
    """

    name = "pairs"
    kinds = ("attribute", "relation")
    needs = "it needs scenes with a twin (gen render --pairs), both in one split of this block"

    def __init__(self, captioner: Captioner, fallback_template: str | None = None):
        """`fallback_template` says captions that the requested template cannot say."""
        super().__init__(captioner)
        self._fallback_template = fallback_template

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"fallback_template": "that-is"}

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        """The item of a twin and its scene; none for any other scene."""
        if scene.twin is None:
            return
        exchange = _exchange(scene, scene.twin)
        if exchange is None:
            self.captioner.dropped[self.name] += 1
            return
        kind, objects = exchange
        made = self._make(kind, objects, scene, scene.twin, stream)
        yield from self.captioner.item_or_drop(f"{self.name} {'attribute' if kind else 'relation'}", made)

    def _make(
        self, kind: str | None, objects: tuple[int, int], scene: DescribedScene, twin: DescribedScene, stream: Stream
    ) -> Item | None:
        captioner = self.captioner
        order = objects if stream.below(2) else objects[::-1]
        form = self._caption(kind, scene, order, stream) if scene.objects_fit_split(objects) else None
        if form is None:
            return None
        other = self._exchanged(form, kind)
        back = self._exchanged(other.form, kind)
        template = captioner.draw_template([form, other.form], stream, _TEMPLATES) or self._fallback_template
        if template is None or not (
            captioner.accepts(other.form, form, scene)
            and captioner.accepts(form, other.form, twin)
            and twin.decide(other.form) is True
        ):
            return None
        texts = Text(form, template), Text(other.form, template)
        captions = [(texts[0], texts[1], back, False), (texts[1], texts[0], other, True)]
        candidates = [
            candidate
            for slot, (own, wrong, foil, of_twin) in enumerate(stream.shuffled(captions))
            for candidate in (
                Candidate(own, str(slot), True, of_twin=of_twin),
                Candidate(own, str(slot), False, changed=foil.changed, of=wrong, of_twin=not of_twin),
            )
        ]
        skill = "attribute" if kind else "relation"
        return Item(self.name, skill, skill, tuple(candidates))

    def _caption(
        self, kind: str | None, scene: DescribedScene, objects: tuple[int, int], stream: Stream
    ) -> Form | None:
        """Two objects with their values of a kind; without a kind, a relation that holds in this direction only."""
        if kind:
            return name_objects(scene, objects, (kind,))
        (i, j), holds = objects, scene.facts.holds
        names = [
            name for name in self.captioner.vocabulary.relations if holds[name][i][j] and holds[name][j][i] is False
        ]
        if not names:
            return None
        return replace(name_objects(scene, objects, ()), relations=(Link(0, names[stream.below(len(names))], 1),))

    def _exchanged(self, form: Form, kind: str | None) -> Foil:
        foils = self.captioner.foils
        return foils.exchange_values(form, kind) if kind else foils.exchange_ends(form, 0)


def _exchange(scene: DescribedScene, twin: DescribedScene) -> tuple[str | None, tuple[int, int]] | None:
    """What a scene and its twin have exchanged: an attribute kind, or None for places; and the two objects.

    None if they are in different splits, or if captions cannot tell the exchange.
    """
    here, there = scene.facts, twin.facts
    objects = [
        i for i in range(len(here)) if (here.categories[i], here.values[i]) != (there.categories[i], there.values[i])
    ]
    if scene.split != twin.split or len(objects) != 2 or not set(objects) <= set(scene.unique_objects):
        return None
    i, j = objects
    if here.categories[i] != there.categories[i]:
        return None, (i, j)
    kinds = [kind for kind, value in here.values[i].items() if value != there.values[i][kind]]
    return (kinds[0], (i, j)) if len(kinds) == 1 else None
