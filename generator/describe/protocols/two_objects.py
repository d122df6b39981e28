"""Protocols about two objects: binary choice, retrieval over the grid, confusion sets, and the
effect of a context."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.holdout.membership import ASYMMETRIC, arrangements
from generator.language.foils import WHOLE, Atom, Foil
from generator.language.form import Form, Mention

POOL = "grid"
_GRID_TEMPLATE = "a-and-a"


def _swap(draft: Draft, form: Form) -> Iterator[Item | None]:
    """Two objects exchange their values of the tested kind; one item for each order of mention."""
    for caption in (form, form._replace(objects=form.objects[::-1])):
        foils = draft.accepted([draft.foils.exchange_values(caption, draft.tested)], caption)
        yield draft.item("swap", "attribute", caption, foils)


def _flip(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A relation becomes its opposite."""
    yield draft.item(
        "flip", "relation", form, draft.accepted([draft.foils.flip_relation(form, 0)], form)
    )


def _order(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A relation's subject and object are exchanged."""
    yield draft.item(
        "order", "relation", form, draft.accepted([draft.foils.exchange_ends(form, 0)], form)
    )


def _one_object(draft: Draft) -> Form | None:
    thing = draft.pick(
        [i for i in draft.scene.unique_objects if draft.scene.objects_fit_split((i,))]
    )
    return None if thing is None else draft.name_objects((thing,), (draft.tested,))


def _denial(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A true statement against its denial, or the denial of a false statement against that
    statement.

    Both cases have probability 1/2, so that "not true" is equally often true and false.
    """
    caption, foil = form, form._replace(negated=True)
    if draft.stream.below(2):
        own = form.objects[0].values[draft.tested]
        value = draft.pick(
            [each for each in draft.substitutes.values(draft.tested, own) if each != own]
        )
        if value is None:  # no other value is held out with the same objects
            return
        foil = draft.foils.replace_atom(form, Atom("attribute", 0, draft.tested), value).form
        caption = foil._replace(negated=True)
    yield draft.item(
        "denial", "negation", caption, draft.accepted([Foil(foil, (WHOLE,), "neg")], caption)
    )


class Binary(Protocol):
    """Items of two texts, a caption (slot c) and a foil (slot n)."""

    name = "binary"
    recipes: Mapping[str, Recipe] = {
        "swap": Recipe(Draft.tested_pair, _swap),
        "flip": Recipe(Draft.related_pair, _flip),
        "order": Recipe(lambda draft: draft.related_pair(directed=True), _order),
        "denial": Recipe(_one_object, _denial),
    }
    kinds = tuple(recipes)

    def __init__(self, captioner: Captioner, kinds: Sequence[str] | None = None):
        """`kinds` selects some kinds of foils; by default all are written."""
        super().__init__(captioner)
        self.select(kinds)

    def describes(self, split: str) -> bool:
        """Whether it describes the scenes of a split; asymmetric splits get swaps only."""
        return super().describes(split) or split in ASYMMETRIC

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes that apply to a scene."""
        return {
            what: each
            for what, each in self.recipes.items()
            if what == "swap" or scene.split not in ASYMMETRIC
        }

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"kinds": ("swap", "flip") if holdout.triples else ("swap",)}


def _grid_scene(draft: Draft) -> Form | None:
    values = [each[draft.tested] for each in draft.facts.values]
    return (
        draft.name_objects((0, 1), (draft.tested,))
        if len(values) == 2 and values[0] != values[1]
        else None
    )


def _in_both_orders(draft: Draft, form: Form) -> Iterator[Item]:
    forms = form, form._replace(objects=form.objects[::-1])
    candidates = tuple(Candidate(Text(each, _GRID_TEMPLATE), "c", True) for each in forms)
    yield Item(draft.protocol, POOL, "attribute", candidates, POOL)


class Retrieval(Protocol):
    """A scene's caption in both orders of mention, against every caption of the world's two-object
    grid (R@1, protocols.md, section 1)."""

    name = "retrieval"
    kinds = (POOL,)
    needs = (
        "its pool is the world's two-object grid, so it needs scenes of exactly two objects "
        "(--objects 2)"
    )
    recipes: Mapping[str, Recipe] = {POOL: Recipe(_grid_scene, _in_both_orders)}

    def pools(self) -> Mapping[str, Iterator[Text]]:
        return {POOL: self._grid()}

    def _grid(self) -> Iterator[Text]:
        """Every caption of the grid, in both orders of mention."""
        kind = self.captioner.holdout.kind
        for arrangement in arrangements(self.captioner.vocabulary, kind):
            mentions = tuple(Mention(category, ((kind, value),)) for value, category in arrangement)
            yield Text(Form(mentions), _GRID_TEMPLATE)


def _assignments(draft: Draft, form: Form) -> Iterator[Item | None]:
    turned = form._replace(objects=form.objects[::-1])
    attributes, categories = zip(
        *((mention.attributes, mention.category) for mention in form.objects), strict=True
    )
    foils = []
    for one, two in product(product(categories, attributes), repeat=2):
        foil = draft.foils.change_mentions(
            form, {0: Mention(*one), 1: Mention(*two)}, _repeats(one, two)
        )
        if foil.form not in (form, turned):
            foils.append(foil)
    templates = ("a-and-a", "there-is", "there-is-each")
    item = draft.item(
        "assignments", "attribute", form, draft.accepted(foils, form, len(foils)), templates
    )
    if item is not None:
        caption, *false = item.candidates
        other = Candidate(Text(turned, caption.text.template), "c", True)
        yield item._replace(candidates=(caption, other, *false))


def _repeats(one: tuple[object, object], two: tuple[object, object]) -> str:
    """Which slots of an assignment repeat; a slot is (category, attributes)."""
    names = {
        (False, False): "none",
        (True, False): "category",
        (False, True): "attribute",
        (True, True): "both",
    }
    return names[one[0] == two[0], one[1] == two[1]]


class Confusion(Protocol):
    """Two objects' values and categories in all 16 assignments to the four slots, repeats included;
    two are true.

    The kind of a false assignment says which slots repeat: "none", "attribute", "category" or
    "both" (Auto-Comp, 2026).
    """

    name = "confusion"
    kinds = ("assignments",)
    recipes: Mapping[str, Recipe] = {"assignments": Recipe(Draft.tested_pair, _assignments)}


def _in_context(draft: Draft, form: Form) -> Iterator[Item | None]:
    foils = draft.accepted([draft.foils.exchange_values(form, draft.tested)], form)
    longer = [
        each._replace(environment=draft.facts.environment)
        for each in (form, *(foil.form for foil in foils))
    ]
    item = draft.item(
        "environment", "attribute", form, foils, ("a-and-a", "there-is", "this-photo"), longer
    )
    if item is not None and draft.accepts(longer[1], form):
        true, false = (Text(each, item.candidates[0].text.template) for each in longer)
        context = Candidate(false, "context", False, foils[0].kind, foils[0].changed, true)
        yield item._replace(
            candidates=(*item.candidates, Candidate(true, "context", True), context)
        )


class Context(Protocol):
    """A caption and its attribute swap (slots c, n), and the same two texts with the environment
    named (slot context). The effect of naming the environment is then a paired difference."""

    name = "context"
    kinds = ("environment",)
    recipes: Mapping[str, Recipe] = {"environment": Recipe(Draft.tested_pair, _in_context)}
