"""Synonyms in captions: which words get one, with the same choice in all texts of an item."""

from collections.abc import Iterator

from generator.base.streams import Stream
from generator.language.complexity import LeastUsed
from generator.language.form import Form
from generator.language.grammar import Place, Wording
from generator.vocabulary.schema import Vocabulary

_RELATION = "relation"
_SYNONYM = 2 / 3  # probability that a word with synonyms is replaced by one


def words_of(form: Form, vocabulary: Vocabulary) -> Iterator[tuple[Place, str, str]]:
    """The words of a form that a synonym may replace: the place, and the kind and name, such as
    color and red.

    Skips a noun in the plural if the vocabulary declares that plural.
    """
    for i, mention in enumerate(form.objects):
        category = mention.category
        if category is not None and (
            mention.count < 2 or vocabulary.objects[category].plural is None
        ):
            yield (i, vocabulary.category), vocabulary.category, category
        for kind, value in mention.attributes:
            yield (i, kind), kind, value
    for k, link in enumerate(form.relations):
        yield (k, _RELATION), _RELATION, link.relation


def synonyms(kind: str, name: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The synonyms of a category, a relation or an attribute value."""
    if kind == _RELATION:
        return vocabulary.relations[name].synonyms
    if kind == vocabulary.category:
        return vocabulary.objects[name].synonyms
    return vocabulary.attributes[kind][name].synonyms


class Dialect:
    """Chooses a word for each name and uses it wherever the name occurs.

    A caption and its negatives share a dialect, so that synonyms do not reveal the truth.
    """

    def __init__(self, vocabulary: Vocabulary, used: LeastUsed, stream: Stream):
        self._vocabulary, self._used, self._stream = vocabulary, used, stream
        self._words: dict[tuple[str, str], str | None] = {}

    def wording(self, form: Form) -> Wording:
        """The synonyms of a form's words, each with its place."""
        words = (
            (place, self._word(kind, name))
            for place, kind, name in words_of(form, self._vocabulary)
        )
        return tuple((place, word) for place, word in words if word is not None)

    def _word(self, kind: str, name: str) -> str | None:
        if (kind, name) not in self._words:
            options, stream = synonyms(kind, name, self._vocabulary), self._stream
            says = bool(options) and stream.uniform(0, 1) < _SYNONYM
            self._words[kind, name] = self._used.pick(options, stream) if says else None
        return self._words[kind, name]


def conversely(form: Form, k: int, vocabulary: Vocabulary) -> Form:
    """The form with relation k replaced by its converse, and its two objects mentioned in the other
    order."""
    link = form.relations[k]
    other = form.reordered(link.subject, link.object)
    told = link._replace(relation=vocabulary.relations[link.relation].converse)
    return other._replace(relations=(*other.relations[:k], told, *other.relations[k + 1 :]))


def rephrased(
    form: Form, wording: Wording, vocabulary: Vocabulary, used: LeastUsed, stream: Stream
) -> Wording | None:
    """The wording with one word of the form changed to the least used alternative; None if there is
    none."""
    words: dict[Place, str | None] = dict(wording)
    options = {
        other or name: (place, other)
        for place, kind, name in words_of(form, vocabulary)
        for other in (None, *synonyms(kind, name, vocabulary))
        if other != words.get(place)
    }
    if not options:
        return None
    place, other = options[used.pick(list(options), stream)]
    words[place] = other
    return tuple((at, word) for at, word in words.items() if word is not None)
