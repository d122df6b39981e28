"""Positives of training captions: other texts of the same meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from generator.base.streams import Stream
from generator.describe.items import Text
from generator.describe.training.least_used import LeastUsed
from generator.describe.training.wording import Dialect, rephrased
from generator.language.form import Form, Link
from generator.vocabulary.schema import Vocabulary

POSITIVES = ("swap", "replace", "converse")
"""The kinds of positives."""


class Positives:
    """Says captions otherwise: two phrases exchanged, a word replaced by a synonym, a relation said from its other end."""

    def __init__(self, vocabulary: Vocabulary, kinds: Sequence[str], used: LeastUsed):
        self._vocabulary, self._kinds, self._used = vocabulary, kinds, used

    def of(self, caption: Text, dialect: Dialect | None, stream: Stream) -> Iterator[tuple[str, Text]]:
        """A positive of each kind that the caption can have, in the caption's template; `dialect` is that of the caption."""
        form, template = caption.form, caption.template

        def in_dialect(other: Form) -> Text:
            return Text(other, template, dialect.wording(other) if dialect else ())

        for kind in self._kinds:
            if kind == "replace":
                wording = rephrased(form, caption.wording, self._vocabulary, self._used, stream)
                if wording is not None:
                    yield kind, Text(form, template, wording)
            elif kind == "swap" and not form.relations:
                there = [i for i, mention in enumerate(form.objects) if mention.count]  # "and no cube" stays at the end
                if pairs := list(combinations(there, 2)):
                    yield kind, in_dialect(_reordered(form, *pairs[stream.below(len(pairs))]))
            elif kind == "converse" and form.relations:
                yield kind, in_dialect(self._converse(form, stream.below(len(form.relations))))

    def _converse(self, form: Form, k: int) -> Form:
        """Relation k said from its other end; its two objects change places in the order of mention."""
        link = form.relations[k]
        form = _reordered(form, link.subject, link.object)
        told = Link(link.subject, self._vocabulary.relations[link.relation].converse, link.object, link.holds)
        return replace(form, relations=(*form.relations[:k], told, *form.relations[k + 1 :]))


def _reordered(form: Form, i: int, j: int) -> Form:
    """The same form with two objects mentioned in each other's place."""
    place = {i: j, j: i}
    objects = tuple(form.objects[place.get(n, n)] for n in range(len(form.objects)))
    links = (
        replace(link, subject=place.get(link.subject, link.subject), object=place.get(link.object, link.object))
        for link in form.relations
    )
    return replace(form, objects=objects, relations=tuple(links))
