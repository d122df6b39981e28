"""The questions of a ladder: two objects of a scene, at every step of one factor.

A caption names the two targets of the ladder with their values of the tested kind, and the foil
exchanges the values. Both stay the same at every step, so that only the factor changes. In a ladder
of caption length the image stays the same, and the captions name more and more objects.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from generator.describe.captioner import Captioner, Draft, Item
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene
from generator.language.form import Form
from generator.scene.ladder import CAPTION_LENGTH, FACTORS
from generator.scene.scene import Rung

_TARGETS = 2


class Steps(Protocol):
    """Items of two texts, a caption (slot c) and a foil (slot n), in both orders of mention.

    The kind of an item is the factor with its magnitude, such as `contrast 0.25`
    (generator/plan/ladder.py).
    """

    name = "steps"
    kinds = FACTORS
    needs = "its scenes are the steps of ladders (`gen ladder`)"

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self.recipes = {}

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes that apply to a scene: none without a ladder, and one for each length of
        captions in a ladder of these."""
        rung = scene.rung
        if rung is None:
            return {}
        if rung.factor != CAPTION_LENGTH:
            return {rung.factor: _recipe(rung, rung.magnitude, _TARGETS)}
        lengths = range(_TARGETS, int(rung.magnitude) + 1)
        return {f"{rung.factor} {n}": _recipe(rung, n, n) for n in lengths}


def kind_of(factor: str, magnitude: float) -> str:
    """Return the kind of the items of a step.

    Args:
        factor: One of generator.scene.ladder.FACTORS.
        magnitude: Of the factor.

    Example:
        >>> kind_of("contrast", 0.25), kind_of("distractors", 3.0)
        ('contrast 0.25', 'distractors 3')
    """
    return f"{factor} {magnitude:g}"


def _recipe(rung: Rung, magnitude: float, n_named: int) -> Recipe:
    """The recipe of the items of a step, whose captions name so many objects."""
    kind = kind_of(rung.factor, magnitude)
    draw = partial(_name_objects, rung, n_named)
    return Recipe(draw, partial(_write_exchange, rung, kind), kinds=(kind,))


def _name_objects(rung: Rung, n_named: int, draft: Draft) -> Form:
    """Name the targets and some of the other objects, all from left to right."""
    others = [i for i in range(len(draft.facts)) if i not in rung.targets]
    named = sorted((*rung.targets, *others[: n_named - _TARGETS]))
    return draft.name_objects(named, (draft.tested,))


def _write_exchange(rung: Rung, kind: str, draft: Draft, form: Form) -> Iterator[Item | None]:
    """The targets exchange their values of the tested kind; one item for each order of mention."""
    target_categories = {draft.facts.categories[target] for target in rung.targets}
    # Both orders, so that a preference for the first mention cancels.
    for caption in (form, form._replace(objects=form.objects[::-1])):
        first, second = (
            place
            for place, mention in enumerate(caption.objects)
            if mention.category in target_categories
        )
        exchanged = draft.foils.exchange_values(caption, draft.tested, first, second)
        foils = draft.select_foils([exchanged], caption)
        yield draft.make_item(kind, "attribute", form=caption, foils=foils)
