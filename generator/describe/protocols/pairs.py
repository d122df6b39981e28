"""The protocol `pairs` (protocols.md, section 6): a scene and its twin, each with the caption that
is true of it alone."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.language.foils import Foil
from generator.language.form import Form

_TEMPLATES = ("a-and-a", "that-is", "photo", "there-is", "clauses")


class Pairs(Protocol):
    """Minimal pairs. `attribute`: two objects have exchanged a value; `relation`: they have
    exchanged their places.

    The captions differ in the same exchange, so that both have the same words.
    """

    name = "pairs"
    kinds = ("attribute", "relation")
    needs = "it needs scenes with a twin (gen render --pairs), both in one split of this block"

    def __init__(self, captioner: Captioner, fallback_template: str | None = None):
        """`fallback_template` is used for captions that the requested template cannot say."""
        super().__init__(captioner)
        self.recipes = {"twins": Recipe(_caption, partial(_both_captions, fallback_template))}

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"fallback_template": "that-is"}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes if the scene is a twin, else none."""
        return self.recipes if scene.twin else {}


def _caption(draft: Draft) -> Form | None:
    """A caption of the two objects that differ between a scene and its twin, with the exchanged
    property.

    The objects are in random order. The property is their values of one kind, or a relation that
    holds in one direction only. None if the two scenes are in different splits, or if no caption
    can express the exchange.
    """
    scene, twin = draft.scene, draft.scene.twin
    assert twin is not None
    here, there = scene.facts, twin.facts
    changed = [
        i
        for i in range(len(here))
        if (here.categories[i], here.values[i]) != (there.categories[i], there.values[i])
    ]
    unique = {*changed} <= {*scene.unique_objects}
    if (
        scene.split != twin.split
        or len(changed) != 2
        or not unique
        or not scene.objects_fit_split(changed)
    ):
        return None
    i, j = changed if draft.stream.below(2) else changed[::-1]
    if here.categories[i] == there.categories[i]:
        kinds = [kind for kind, value in here.values[i].items() if value != there.values[i][kind]]
        return draft.name_objects((i, j), kinds) if len(kinds) == 1 else None
    one_way = [
        name
        for name in draft.vocabulary.pair_relations
        if here.holds[name][i][j] and here.holds[name][j][i] is False
    ]
    relation = draft.pick(one_way)
    return draft.related(i, relation, j) if relation else None


def _both_captions(fallback: str | None, draft: Draft, form: Form) -> Iterator[Item]:
    twin = draft.scene.twin
    assert twin is not None
    other = _exchanged(draft, form)
    back = _exchanged(draft, other.form)
    template = (
        draft.captioner.draw_template([form, other.form], draft.stream, _TEMPLATES) or fallback
    )
    distinct = (
        draft.accepts(other.form, form)
        and draft.captioner.accepts(form, other.form, twin)
        and twin.decide(other.form) is True
    )
    if template is None or not distinct:
        return
    texts = Text(form, template), Text(other.form, template)
    captions = [(texts[0], texts[1], back, False), (texts[1], texts[0], other, True)]
    candidates = [
        candidate
        for slot, (own, wrong, foil, of_twin) in enumerate(draft.stream.shuffled(captions))
        for candidate in (
            Candidate(own, str(slot), True, of_twin=of_twin),
            Candidate(own, str(slot), False, changed=foil.changed, of=wrong, of_twin=not of_twin),
        )
    ]
    kind = "relation" if form.relations else "attribute"
    yield Item(draft.protocol, kind, kind, tuple(candidates))


def _exchanged(draft: Draft, form: Form) -> Foil:
    if form.relations:
        return draft.foils.exchange_ends(form, 0)
    ((kind, _),) = form.objects[0].attributes
    return draft.foils.exchange_values(form, kind)
