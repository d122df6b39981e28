"""Binary choice: a caption against one foil (protocols.md, section 1; flips and order swaps of relations; denials)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text, one_of
from generator.language.foils import Atom, Foils
from generator.language.form import Form, Link, Mention

KINDS = ("swap", "flip", "order", "denial")


class Binary:
    """Items of two texts. `swap`: two objects' values of the tested kind exchanged, an item for each order of mention;
    `flip`, `order`: a relation become its opposite, or its ends exchanged; `denial`: the whole caption denied, or a
    false one denied and the same undenied, so that "not true" is true as often as false."""

    name = "binary"

    def __init__(self, language: Language, kinds: Sequence[str] = KINDS):
        self._language, self._kinds = language, kinds

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        for kind in self._kinds:
            made = getattr(self, f"_{kind}")(subject, stream)
            if not made:
                self._language.dropped[f"{self.name} {kind}"] += 1
            yield from made

    def _swap(self, subject: Subject, stream: Stream) -> list[Item]:
        language, tested = self._language, self._language.holdout.kind
        pair = tested_pair(subject, tested, stream)
        if pair is None:
            return []
        items = []
        for things in (pair, pair[::-1]):
            form = bound(subject, things, (tested,))
            foil = language.foils.exchanged(form, tested)
            style = language.style([form, foil.form], stream)
            if style is None or not language.admits(form, foil.form, subject):
                return []
            items.append(one_of(self.name, "swap", "attribute", Text(form, style), [foil]))
        return items

    def _flip(self, subject: Subject, stream: Stream) -> list[Item]:
        return self._related(subject, stream, "flip")

    def _order(self, subject: Subject, stream: Stream) -> list[Item]:
        return self._related(subject, stream, "order")

    def _related(self, subject: Subject, stream: Stream, kind: str) -> list[Item]:
        language = self._language
        form = related_pair(language, subject, stream, directed=kind == "order")
        if form is None:
            return []
        foil = language.foils.flipped(form, 0) if kind == "flip" else language.foils.turned(form, 0)
        style = language.style([form, foil.form], stream)
        if style is None or not language.admits(form, foil.form, subject):
            return []
        return [one_of(self.name, kind, "relation", Text(form, style), [foil])]

    def _denial(self, subject: Subject, stream: Stream) -> list[Item]:
        language, tested = self._language, self._language.holdout.kind
        if not subject.lone:
            return []
        thing = subject.lone[stream.below(len(subject.lone))]
        form = bound(subject, (thing,), (tested,))
        if stream.below(2):
            own = form.objects[0].values[tested]
            values = [value for value in language.foils.values_like(tested, own) if value != own]
            if not values:  # a block that leaves one value free
                return []
            said = language.foils.with_atom(form, Atom("attribute", 0, tested), values[stream.below(len(values))]).form
            caption, other = replace(said, negated=True), said
        else:
            caption, other = form, replace(form, negated=True)
        if not subject.suits((thing,)) or not language.admits(caption, other, subject):
            return []
        style = language.style([form], stream)
        if style is None:
            return []
        texts = [Text(said, "not-true" if said.negated else style) for said in (caption, other)]
        foil = Candidate(texts[1], "n", False, "neg", ("caption:denied",), texts[0])
        return [Item(self.name, "denial", "negation", (Candidate(texts[0], "c", True), foil))]


def bound(subject: Subject, things: Sequence[int], kinds: Sequence[str]) -> Form:
    """The form that names objects of a scene with their values of some kinds."""
    facts = subject.facts
    return Form(
        tuple(
            Mention(facts.categories[i], tuple(sorted((kind, facts.values[i][kind]) for kind in kinds))) for i in things
        )
    )


def tested_pair(subject: Subject, tested: str, stream: Stream) -> tuple[int, int] | None:
    """Two lone objects that differ in the tested kind, as familiar as the split says, left one first; by chance where
    there are several such pairs."""
    lone, values = subject.lone, subject.facts.values
    pairs = [
        (i, j)
        for n, i in enumerate(lone)
        for j in lone[n + 1 :]
        if values[i][tested] != values[j][tested] and subject.suits((i, j))
    ]
    return pairs[stream.below(len(pairs))] if pairs else None


def related_pair(
    language: Language, subject: Subject, stream: Stream, kinds: Sequence[str] = (), directed: bool = False
) -> Form | None:
    """Two lone objects and a relation in which the first stands to the second, by chance; its opposite could hold too.

    With `directed` the relation says something else when its ends are exchanged.
    """
    foils, relations = language.foils, language.vocabulary.relations
    axes = [
        axis for axis in foils.axes.asked
        if not directed or all(relations[name].converse != name for name in foils.axes.names[axis])
    ]  # fmt: skip
    options = [
        (i, axis, j)
        for i in subject.lone
        for j in subject.lone
        if i != j and subject.suits((i, j))
        for axis in axes
        if subject.related is None or _familiar(foils, subject, axis, i, j)
    ]
    if not options:
        return None
    i, axis, j = options[stream.below(len(options))]
    found = foils.axes.between(subject.facts, axis, i, j)
    if found is None:
        return None
    form = replace(bound(subject, (i, j), kinds), relations=(Link(0, found[1], 1),))
    return form if foils.possible(foils.flipped(form, 0).form) else None


def _familiar(foils: Foils, subject: Subject, axis: int, i: int, j: int) -> bool:
    """Whether the relation of an axis between two objects is as familiar as the split says."""
    found = foils.axes.between(subject.facts, axis, i, j)
    return found is not None and subject.suits_relation(i, found[1], j)
