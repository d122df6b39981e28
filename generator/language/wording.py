"""Synonyms in captions: which words get one, with the same choice in all texts of an item."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.base.streams import Stream
from generator.language.complexity import LeastUsed
from generator.language.form import Form
from generator.language.phrases import Place, Wording
from generator.vocabulary.schema import Vocabulary

_RELATION = "relation"
_SYNONYM_PROBABILITY = 2 / 3
"""Probability that a word with synonyms is replaced by one. The usual word keeps a third, so that a
model learns it as well."""


class Word(NamedTuple):
    """A word of a form that a synonym may replace."""

    place: Place
    """Its place in the form."""
    kind: str
    """The attribute kind, the vocabulary's category word, or "relation"."""
    name: str
    """The value, category or relation that it names, such as "red"."""


def words_of(form: Form, vocabulary: Vocabulary) -> Iterator[Word]:
    """Yield the words of a form that a synonym may replace.

    Skips a noun in the plural if the vocabulary declares that plural: it is irregular, and the
    plurals of synonyms are not declared.
    """
    for i, mention in enumerate(form.objects):
        category = mention.category
        if category is not None:
            is_plural = mention.count >= 2
            if not is_plural or vocabulary.objects[category].plural is None:
                yield Word((i, vocabulary.category), vocabulary.category, category)
        for kind, value in mention.attributes:
            yield Word((i, kind), kind, value)
    for k, link in enumerate(form.relations):
        yield Word((k, _RELATION), _RELATION, link.relation)


def synonyms(kind: str, name: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Look up the synonyms of a name.

    Args:
        kind: `category`, `relation`, or a kind of attribute.
        name: A name of this kind.
        vocabulary: Has the synonyms.

    Returns:
        The synonyms; () if the family declares none.
    """
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
        """`used` counts synonyms over all dialects, so that each is equally frequent."""
        self._vocabulary = vocabulary
        self._used = used
        self._stream = stream
        self._chosen: dict[tuple[str, str], str | None] = {}
        """The synonym of each name, by kind and name; None for its usual word."""

    def wording(self, form: Form) -> Wording:
        """The synonyms of a form's words, each with its place."""
        wording = []
        for word in words_of(form, self._vocabulary):
            synonym = self._choose_word(word.kind, word.name)
            if synonym is not None:
                wording.append((word.place, synonym))
        return tuple(wording)

    def _choose_word(self, kind: str, name: str) -> str | None:
        if (kind, name) not in self._chosen:
            options = synonyms(kind, name, self._vocabulary)
            synonym = None
            # A name without synonyms draws no random number.
            if options and self._stream.uniform(0, 1) < _SYNONYM_PROBABILITY:
                synonym = self._used.pick(options, self._stream)
            self._chosen[kind, name] = synonym
        return self._chosen[kind, name]


def use_converse(form: Form, place: int, vocabulary: Vocabulary) -> Form:
    """Say a relation the other way round: "a cube left of a cone" → "a cone right of a cube".

    Args:
        form: A form with relations.
        place: Place of a relation in it that has a converse.
        vocabulary: Has the converses.

    Returns:
        The form with the converse relation, and its two objects mentioned in the other order.
    """
    link = form.relations[place]
    reordered = form.reordered(link.subject, link.object)
    converse = vocabulary.relations[link.relation].converse
    if converse is None:
        raise ValueError(f"'{link.relation}' has no converse")
    relations = (
        *reordered.relations[:place],
        link._replace(relation=converse),
        *reordered.relations[place + 1 :],
    )
    return reordered._replace(relations=relations)


def rephrase(
    form: Form, wording: Wording, *, vocabulary: Vocabulary, used: LeastUsed, stream: Stream
) -> Wording | None:
    """Change one word of a form to the least used alternative.

    Args:
        form: the meaning of the text.
        wording: the synonyms that the text has.
        vocabulary: its usual words and their synonyms.
        used: counts the chosen words.
        stream: chooses among the words that were used least often.

    Returns:
        The new wording; None if no word has an alternative.
    """
    word_at: dict[Place, str | None] = dict(wording)
    # Of each alternative its place, and what to write there; by the word itself, which `used`
    # counts.
    options: dict[str, tuple[Place, str | None]] = {}
    for word in words_of(form, vocabulary):
        # None stands for the usual word.
        for alternative in (None, *synonyms(word.kind, word.name, vocabulary)):
            if alternative != word_at.get(word.place):
                options[alternative or word.name] = (word.place, alternative)
    if not options:
        return None
    place, alternative = options[used.pick(list(options), stream)]
    word_at[place] = alternative
    return tuple((at, word) for at, word in word_at.items() if word is not None)
