"""Binary choice: a caption against one foil (protocols.md, section 1; flips and exchanged ends of relations; denials)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, draw_related_pair, draw_tested_pair, name_objects
from generator.describe.items import Candidate, Item, Text, item_of_foils
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.holdout.holdout import Holdout
from generator.holdout.membership import arrangements
from generator.language.foils import Atom
from generator.language.form import Form, Mention

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


POOL = "grid"
_TEMPLATE = "a-and-a"


class Retrieval(Protocol):
    """For scenes of two objects with different values: both orders of mention are true (R@1, protocols.md, section 1)."""

    name = "retrieval"
    kinds = (POOL,)
    needs = "its pool is the world's two-object grid, so it needs scenes of exactly two objects (--objects 2)"

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        kind, values = self.captioner.holdout.kind, scene.facts.values
        if len(values) != 2 or values[0][kind] == values[1][kind]:  # the grid has no such caption
            self.captioner.dropped[self.name] += 1
            return
        forms = [name_objects(scene, objects, (kind,)) for objects in ((0, 1), (1, 0))]
        candidates = tuple(Candidate(Text(form, _TEMPLATE), "c", True) for form in forms)
        yield Item(self.name, POOL, "attribute", candidates, POOL)

    def pools(self) -> Mapping[str, Iterator[Text]]:
        return {POOL: self._grid()}

    def _grid(self) -> Iterator[Text]:
        """Every caption of the grid, in both orders of mention."""
        kind = self.captioner.holdout.kind
        for arrangement in arrangements(self.captioner.vocabulary, kind):
            mentions = tuple(Mention(category, ((kind, value),)) for value, category in arrangement)
            yield Text(Form(mentions), _TEMPLATE)


class Confusion(Protocol):
    """Two objects' values and categories in all 16 assignments to the four slots, repeats included; two are true.

    The kind of a false assignment says which slots repeat: "none", "attribute", "category" or "both".
    """

    name = "confusion"
    kinds = ("assignments",)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        return self.captioner.item_or_drop(self.name, self._make(scene, stream))

    def _make(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        pair = draw_tested_pair(scene, kind, stream)
        if pair is None:
            return None
        true = name_objects(scene, pair, (kind,))
        reversed_true = Form(true.objects[::-1])
        values = [mention.values[kind] for mention in true.objects]
        categories = [mention.category for mention in true.objects]
        forms = [
            Form((Mention(one, ((kind, a),)), Mention(other, ((kind, b),))))
            for a, b in product(values, repeat=2)
            for one, other in product(categories, repeat=2)
        ]
        template = captioner.draw_template(forms, stream, ("a-and-a", "there-is", "there-is-each"))
        false = [form for form in forms if form not in (true, reversed_true)]
        if template is None or not all(captioner.accepts(form, true, scene) for form in false):
            return None
        caption = Text(true, template)
        candidates = [Candidate(caption, "c", True), Candidate(Text(reversed_true, template), "c", True)]
        candidates += [
            Candidate(Text(form, template), "n", False, _repeats(form), self._changes(true, form), caption)
            for form in false
        ]
        return Item(self.name, "assignments", "attribute", tuple(candidates))

    def _changes(self, true: Form, form: Form) -> tuple[str, ...]:
        kind, category = self.captioner.holdout.kind, self.captioner.vocabulary.category
        found = []
        for i, (old, new) in enumerate(zip(true.objects, form.objects, strict=True)):
            if old.values[kind] != new.values[kind]:
                found.append(f"{i}:{kind}:{old.values[kind]}>{new.values[kind]}")
            if old.category != new.category:
                found.append(f"{i}:{category}:{old.category}>{new.category}")
        return tuple(found)


def _repeats(form: Form) -> str:
    """Which slots of an assignment repeat."""
    first, second = form.objects
    names = {(False, False): "none", (True, False): "attribute", (False, True): "category", (True, True): "both"}
    return names[first.attributes == second.attributes, first.category == second.category]


class Context(Protocol):
    """A caption and its attribute swap (slots c, n), and the same two with the environment named (slot context)."""

    name = "context"
    kinds = ("environment",)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        return self.captioner.item_or_drop(self.name, self._make(scene, stream))

    def _make(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner, kind = self.captioner, self.captioner.holdout.kind
        pair = draw_tested_pair(scene, kind, stream)
        if pair is None:
            return None
        caption = name_objects(scene, pair if stream.below(2) else pair[::-1], (kind,))
        foil = captioner.foils.exchange_values(caption, kind)
        longer = [replace(form, environment=scene.facts.environment) for form in (caption, foil.form)]
        template = captioner.draw_template([caption, foil.form, *longer], stream, ("a-and-a", "there-is", "this-photo"))
        accepted = all(captioner.accepts(form, caption, scene) for form in (foil.form, longer[1]))
        if template is None or not accepted:
            return None
        c, n, true, false = (Text(form, template) for form in (caption, foil.form, *longer))
        candidates = (
            Candidate(c, "c", True),
            Candidate(n, "n", False, foil.kind, foil.changed, c),
            Candidate(true, "context", True),
            Candidate(false, "context", False, foil.kind, foil.changed, true),
        )
        return Item(self.name, "environment", "attribute", candidates)
