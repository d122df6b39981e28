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
"""The name of the pool of `retrieval`, and the kind of its items."""
_GRID_TEMPLATE = "a-and-a"
"""The template of all texts of the pool."""


def _write_swap(draft: Draft, form: Form) -> Iterator[Item | None]:
    """Two objects exchange their values of the tested kind; one item for each order of mention."""
    # Both orders, so that a preference for the first mention cancels.
    for caption in (form, form._replace(objects=form.objects[::-1])):
        exchanged = draft.foils.exchange_values(caption, draft.tested)
        foils = draft.select_foils([exchanged], caption)
        yield draft.make_item("swap", "attribute", form=caption, foils=foils)


def _write_flip(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A relation becomes its opposite."""
    flipped = draft.foils.flip_relation(form, 0)
    foils = draft.select_foils([flipped], form)
    yield draft.make_item("flip", "relation", form=form, foils=foils)


def _write_order(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A relation's subject and object are exchanged."""
    exchanged = draft.foils.exchange_ends(form, 0)
    foils = draft.select_foils([exchanged], form)
    yield draft.make_item("order", "relation", form=form, foils=foils)


def _draw_object(draft: Draft) -> Form | None:
    """Draw a unique object that fits the split, with its tested value."""
    scene = draft.scene
    fitting = [obj for obj in scene.unique_objects if scene.objects_fit_split((obj,))]
    chosen = draft.pick(fitting)
    if chosen is None:
        return None
    return draft.name_objects((chosen,), (draft.tested,))


def _write_denial(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A true statement against its denial, or the denial of a false statement against that
    statement.

    Both cases have probability 1/2, so that "not true" is equally often true and false.
    """
    caption, foil_form = form, form._replace(negated=True)
    if draft.stream.below(2):
        own = form.objects[0].values[draft.tested]
        alike = draft.substitutes.values(draft.tested, own)
        value = draft.pick([value for value in alike if value != own])
        if value is None:
            # No other value is held out with the same objects.
            return
        atom = Atom("attribute", 0, draft.tested)
        foil_form = draft.foils.replace_atom(form, atom, value).form
        caption = foil_form._replace(negated=True)
    foil = Foil(foil_form, (WHOLE,), "neg")
    foils = draft.select_foils([foil], caption)
    yield draft.make_item("denial", "negation", form=caption, foils=foils)


class Binary(Protocol):
    """Items of two texts, a caption (slot c) and a foil (slot n)."""

    name = "binary"
    recipes: Mapping[str, Recipe] = {
        "swap": Recipe(Draft.draw_tested_pair, _write_swap),
        "flip": Recipe(Draft.draw_related_pair, _write_flip),
        "order": Recipe(lambda draft: draft.draw_related_pair(directed=True), _write_order),
        "denial": Recipe(_draw_object, _write_denial),
    }
    kinds = tuple(recipes)

    def __init__(self, captioner: Captioner, kinds: Sequence[str] | None = None):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            kinds: the kinds of foils to write; by default all.
        """
        super().__init__(captioner)
        self.select(kinds)

    def describes(self, split: str) -> bool:
        """Whether it describes the scenes of a split; asymmetric splits get swaps only."""
        return super().describes(split) or split in ASYMMETRIC

    def recipes_of(self, scene: DescribedScene) -> Mapping[str, Recipe]:
        """The recipes that apply to a scene; in asymmetric splits only swaps."""
        if scene.split not in ASYMMETRIC:
            return self.recipes
        return {kind: recipe for kind, recipe in self.recipes.items() if kind == "swap"}

    @classmethod
    def first_options(cls, holdout: Holdout) -> Mapping[str, Any]:
        return {"kinds": ("swap", "flip") if holdout.triples else ("swap",)}


def _draw_grid_scene(draft: Draft) -> Form | None:
    """The two objects of a scene; None if it has another number, or if their tested values are
    equal."""
    values = [values[draft.tested] for values in draft.facts.values]
    if len(values) != 2 or values[0] == values[1]:
        return None
    return draft.name_objects((0, 1), (draft.tested,))


def _write_both_orders(draft: Draft, form: Form) -> Iterator[Item]:
    """The caption in both orders of mention; false texts come from the pool."""
    candidates = []
    for order in (form, form._replace(objects=form.objects[::-1])):
        text = Text(order, _GRID_TEMPLATE)
        candidates.append(Candidate(text, "c", True))
    yield Item(draft.protocol, POOL, "attribute", tuple(candidates), POOL)


class Retrieval(Protocol):
    """A scene's caption in both orders of mention, against every caption of the world's two-object
    grid (R@1, protocols.md, section 1)."""

    name = "retrieval"
    kinds = (POOL,)
    needs = (
        "its pool is the world's two-object grid, so it needs scenes of exactly two objects "
        "(--objects 2)"
    )
    recipes: Mapping[str, Recipe] = {POOL: Recipe(_draw_grid_scene, _write_both_orders)}

    def pools(self) -> Mapping[str, Iterator[Text]]:
        return {POOL: self._grid()}

    def _grid(self) -> Iterator[Text]:
        """Every caption of the grid, in both orders of mention."""
        kind = self.captioner.holdout.kind
        # Arrangements are ordered, so each pair comes in both orders.
        for arrangement in arrangements(self.captioner.vocabulary, kind):
            mentions = []
            for value, category in arrangement:
                mentions.append(Mention(category, ((kind, value),)))
            yield Text(Form(tuple(mentions)), _GRID_TEMPLATE)


def _write_assignments(draft: Draft, form: Form) -> Iterator[Item | None]:
    """Two objects' values and categories in all assignments to the four slots."""
    turned = form._replace(objects=form.objects[::-1])
    categories = [mention.category for mention in form.objects]
    attributes = [mention.attributes for mention in form.objects]
    foils = []
    # A slot has a category and attributes; the two slots are filled independently, 4 x 4 ways.
    fillings = product(categories, attributes)
    for first, second in product(fillings, repeat=2):
        mentions = {0: Mention(*first), 1: Mention(*second)}
        kind = _name_repeats(first, second)
        foil = draft.foils.change_mentions(form, mentions, kind)
        # The two true assignments are no foils.
        if foil.form not in (form, turned):
            foils.append(foil)
    selected = draft.select_foils(foils, form, len(foils))
    templates = ("a-and-a", "there-is", "there-is-each")
    item = draft.make_item("assignments", "attribute", form=form, foils=selected, among=templates)
    if item is not None:
        # The other order of mention is true too.
        caption, *false_texts = item.candidates
        other = Candidate(Text(turned, caption.text.template), "c", True)
        yield item._replace(candidates=(caption, other, *false_texts))


def _name_repeats(first: tuple[object, object], second: tuple[object, object]) -> str:
    """Which slots of an assignment repeat; a slot is (category, attributes)."""
    first_category, first_attributes = first
    second_category, second_attributes = second
    repeats_category = first_category == second_category
    repeats_attributes = first_attributes == second_attributes
    if repeats_category and repeats_attributes:
        return "both"
    if repeats_category:
        return "category"
    return "attribute" if repeats_attributes else "none"


class Confusion(Protocol):
    """Two objects' values and categories in all 16 assignments to the four slots, repeats included;
    two are true.

    The kind of a false assignment says which slots repeat: "none", "attribute", "category" or
    "both" (Auto-Comp, 2026).
    """

    name = "confusion"
    kinds = ("assignments",)
    recipes: Mapping[str, Recipe] = {
        "assignments": Recipe(Draft.draw_tested_pair, _write_assignments)
    }


def _write_in_context(draft: Draft, form: Form) -> Iterator[Item | None]:
    """A caption and its attribute swap, without and with the environment."""
    exchanged = draft.foils.exchange_values(form, draft.tested)
    foils = draft.select_foils([exchanged], form)
    plain_forms = [form, *(foil.form for foil in foils)]
    environment = draft.facts.environment
    with_environment = [plain._replace(environment=environment) for plain in plain_forms]
    templates = ("a-and-a", "there-is", "this-photo")
    item = draft.make_item(
        "environment", "attribute", form=form, foils=foils, among=templates, also=with_environment
    )
    if item is None or not draft.accepts(with_environment[1], form):
        return

    # The same two texts in the same template, with the environment.
    template = item.candidates[0].text.template
    true_text, false_text = (Text(longer, template) for longer in with_environment)
    (foil,) = foils
    candidates = (
        *item.candidates,
        Candidate(true_text, "context", True),
        Candidate(false_text, "context", False, foil.kind, foil.changed, true_text),
    )
    yield item._replace(candidates=candidates)


class Context(Protocol):
    """A caption and its attribute swap (slots c, n), and the same two texts with the environment
    named (slot context). The effect of naming the environment is then a paired difference."""

    name = "context"
    kinds = ("environment",)
    recipes: Mapping[str, Recipe] = {
        "environment": Recipe(Draft.draw_tested_pair, _write_in_context)
    }
