"""The protocol `pairs` (protocols.md, section 6): a scene and its twin, each with the caption that
is true of it alone."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Any

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene, changed_objects
from generator.holdout.holdout import Holdout
from generator.language.foils import Foil
from generator.language.form import Form

_TEMPLATES = ("a-and-a", "that-is", "photo", "there-is", "clauses")


class Pairs(Protocol):
    """Minimal pairs. `attribute`: two objects have exchanged a value; `relation`: they have
    exchanged their places; `turn`: the camera has turned, which exchanges left and right, or in
    front and behind.

    The captions differ in the same exchange, so that both have the same words.
    """

    name = "pairs"
    kinds = ("attribute", "relation", "turn")
    needs = (
        "it needs scenes with a twin (gen render --pairs or --turns), both in one split of this "
        "block"
    )

    def __init__(self, captioner: Captioner, fallback_template: str | None = None):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            fallback_template: used for captions that the requested template cannot say; None to
                leave them out.
        """
        super().__init__(captioner)
        write = partial(_write_both_captions, fallback_template)
        self.recipes = {"twins": Recipe(_draw_caption, write)}

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"fallback_template": "that-is"}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes if the scene is a twin, else none. Steps of a ladder may differ in many
        objects, or in none."""
        return self.recipes if scene.twin and scene.rung is None else {}


def _draw_caption(draft: Draft) -> Form | None:
    """Draw a caption of the two objects that differ between a scene and its twin, with the
    exchanged property. Over a turn of the camera no object differs, so any two may be named.

    The objects are in random order. The property is their values of one kind, or a relation that
    holds in one direction only. None if the two scenes are in different splits, or if no caption
    can express the exchange.
    """
    scene, twin = draft.scene, draft.scene.twin
    assert twin is not None
    here, there = scene.facts, twin.facts
    changed = changed_objects(scene, twin)
    if not changed:
        return _draw_turned_caption(draft)
    if scene.split != twin.split or len(changed) != 2:
        return None
    if not {*changed} <= {*scene.unique_objects} or not scene.objects_fit_split(changed):
        return None

    i, j = changed if draft.stream.below(2) else changed[::-1]
    if here.categories[i] == there.categories[i]:
        # The objects have exchanged a value.
        values_there = there.values[i]
        kinds = [kind for kind, value in here.values[i].items() if value != values_there[kind]]
        return draft.name_objects((i, j), kinds) if len(kinds) == 1 else None

    # The objects have exchanged their places: a relation that holds both ways would stay true.
    one_way = []
    for name in draft.vocabulary.pair_relations:
        holds = here.holds[name]
        if holds[i][j] and holds[j][i] is False:
            one_way.append(name)
    relation = draft.pick(one_way)
    return draft.name_related_pair(i, relation, j) if relation else None


def _draw_turned_caption(draft: Draft) -> Form | None:
    """Draw a caption of two objects with a relation of the viewer that holds in one scene, and in
    the turn twin of the exchanged objects. None if the camera's turn exchanges none."""
    scene, twin = draft.scene, draft.scene.twin
    assert twin is not None
    here, there = scene.facts.holds, twin.facts.holds
    if scene.split != twin.split:
        return None
    pairs = [
        pair for pair in permutations(scene.unique_objects, 2) if scene.objects_fit_split(pair)
    ]
    for i, j in draft.stream.shuffled(pairs):
        exchanged = []
        for name, relation in draft.vocabulary.pair_relations.items():
            holds, holds_there = here[name], there[name]
            only_here = holds[i][j] and holds[j][i] is False
            only_there = holds_there[j][i] and holds_there[i][j] is False
            if relation.frame == "viewer" and only_here and only_there:
                exchanged.append(name)
        chosen = draft.pick(exchanged)
        if chosen:
            return draft.name_related_pair(i, chosen, j)
    return None


def _write_both_captions(fallback: str | None, draft: Draft, form: Form) -> Iterator[Item]:
    """Write the item of a caption of the scene and a caption of its twin (slots 0 and 1, in random
    order). Each is true of its own scene and false of the other."""
    twin = draft.scene.twin
    assert twin is not None
    to_twin = _exchange(draft, form)
    twin_form = to_twin.form
    to_scene = _exchange(draft, twin_form)
    template = draft.captioner.draw_template([form, twin_form], draft.stream, _TEMPLATES)
    template = template or fallback
    false_of_scene = draft.accepts(twin_form, form)
    if not false_of_scene or not draft.captioner.accepts(form, twin_form, twin):
        return
    if template is None or twin.decide(twin_form) is not True:
        return

    text, twin_text = Text(form, template), Text(twin_form, template)
    # A caption, the caption of the other scene, the change that makes the first of the second, and
    # whether the first belongs to the twin.
    captions = [(text, twin_text, to_scene, False), (twin_text, text, to_twin, True)]
    candidates: list[Candidate] = []
    for slot, (own, other, change, of_twin) in enumerate(draft.stream.shuffled(captions)):
        of_own_image = Candidate(own, str(slot), True, of_twin=of_twin)
        of_other_image = Candidate(
            own, str(slot), False, changed=change.changed, of=other, of_twin=not of_twin
        )
        candidates += [of_own_image, of_other_image]
    skill = "relation" if form.relations else "attribute"
    kind = skill if changed_objects(draft.scene, twin) else "turn"
    yield Item(draft.protocol, kind, skill, tuple(candidates))


def _exchange(draft: Draft, form: Form) -> Foil:
    """Exchange the property that distinguishes the two scenes."""
    if form.relations:
        return draft.foils.exchange_ends(form, 0)
    ((kind, _),) = form.objects[0].attributes
    return draft.foils.exchange_values(form, kind)
