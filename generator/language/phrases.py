"""Writes the phrases of a form: noun phrases, relations with their objects, and lists
(docs/language.md, Words)."""

from functools import lru_cache

from generator.language.form import Form, Link, Mention
from generator.vocabulary.english import NUMBERS, ORDINALS, plural_of
from generator.vocabulary.relations import GROUND, GROUND_AGAIN, THIRD
from generator.vocabulary.schema import Vocabulary

Place = tuple[int, str]
"""The place of a word in a form: (place of the mention, attribute kind or the vocabulary's category
word), or (place of the relation, "relation")."""
Wording = tuple[tuple[Place, str], ...]
"""Synonyms that replace the usual words, each with its place in the form."""


class NounPhrases:
    """Writes noun phrases with the words of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.category_kind = vocabulary.category
        """The vocabulary's category word, such as "shape"."""
        self.order = vocabulary.adjective_order
        """The attribute kinds in the order in which texts name them."""
        self._phrases = vocabulary.phrases
        self._articles = {word: spec.article for word, spec in vocabulary.objects.items()}
        for values in vocabulary.attributes.values():
            self._articles |= {word: value.article for word, value in values.items()}
        # Scenes repeat their mentions: most phrases are written thousands of times.
        self.phrase = lru_cache(1 << 16)(self._write_phrase)

    def _write_phrase(self, mention: Mention, article: bool, bare: bool) -> str:
        """Write a mention as a noun phrase.

        Args:
            mention: the mention, with synonyms in place of the usual words.
            article: whether a single object gets its article.
            bare: whether to omit attributes and denials.
        """
        words = [] if bare else self.adjectives(mention)
        noun = mention.category or self.vocabulary.generic

        # The number or article, the adjectives, and the noun.
        if mention.count > 1:
            words = [NUMBERS[mention.count], *words, self._plural(noun)]
        elif mention.count == 0:
            words = ["no", *words, noun]
        else:
            words.append(noun)
            if article:
                # It goes with the word after it, which may be an adjective: "an orange cube".
                words.insert(0, self.article(words[0]))
        phrase = " ".join(words)
        if bare:
            return phrase

        # What follows the noun.
        denials = [f" that is not {self.denied_predicate(*pair)}" for pair in mention.without]
        return phrase + self.postmodifiers(mention) + "".join(denials)

    def _plural(self, noun: str) -> str:
        """The declared plural of a category, else the regular one."""
        declared = self.vocabulary.objects.get(noun)
        if declared is not None and declared.plural:
            return declared.plural
        return plural_of(noun)

    def adjectives(self, mention: Mention) -> list[str]:
        """The adjectives of a mention, in the order of the vocabulary."""
        values = mention.values
        words = []
        for kind in self.order:
            if kind in values and kind not in self._phrases:
                words.append(values[kind])
        return words

    def postmodifiers(self, mention: Mention) -> str:
        """The attributes that follow the noun: " made of wood", " textured with grass and made of
        wood"."""
        values = mention.values
        predicates = []
        for kind in self.order:
            if kind in values and kind in self._phrases:
                predicates.append(self.predicate(kind, values[kind]))
        return f" {' and '.join(predicates)}" if predicates else ""

    def predicate(self, kind: str, word: str) -> str:
        """Write a value as it follows "is": "red", "made of wood".

        Args:
            kind: The kind of attribute.
            word: The word for the value.

        Returns:
            The words.
        """
        if kind in self._phrases:
            return self._phrases[kind].insert(word)
        return word

    def definite(self, noun: str, kind: str, word: str) -> str:
        """Write a noun with the value that distinguishes it: "the red cube", "the cube made of
        wood".

        Args:
            noun: The noun.
            kind: The kind of attribute.
            word: The word for the value.

        Returns:
            The words.
        """
        if kind in self._phrases:
            return f"the {noun} {self.predicate(kind, word)}"
        return f"the {word} {noun}"

    def denied_predicate(self, kind: str, value: str) -> str:
        """Write a value as it follows "is not": "red", "made of wood", or a category with its
        article ("a cube").

        Args:
            kind: The kind of attribute, or the world's word for categories.
            value: The value, or the category.

        Returns:
            The words.
        """
        if kind == self.category_kind:
            return f"{self.article(value)} {value}"
        return self.predicate(kind, value)

    def article(self, word: str) -> str:
        """The indefinite article before a word."""
        declared = self._articles.get(word)
        if declared:
            return declared
        return "an" if word[0] in "aeiou" else "a"


class FormPhrases:
    """The phrases of one form, from which templates build its text."""

    def __init__(self, nouns: NounPhrases, form: Form, wording: Wording):
        self.nouns = nouns
        self.form = form
        self._word_at = dict(wording)
        self.mentions = form.objects
        """The mentions with their synonyms in place of the usual words."""
        if wording:
            places = range(len(form.objects))
            self.mentions = tuple(self._reworded(i) for i in places)

    def _reworded(self, i: int) -> Mention:
        """Mention i with its synonyms."""
        mention = self.form.objects[i]
        category = self._word_at.get((i, self.nouns.category_kind), mention.category)
        attributes = []
        for kind, value in mention.attributes:
            word = self._word_at.get((i, kind), value)
            attributes.append((kind, word))
        return mention._replace(category=category, attributes=tuple(attributes))

    def indefinite(self, i: int, article: bool = True, bare: bool = False) -> str:
        """Write a mention when it is introduced: "a red cube".

        Args:
            i: Place of the mention.
            article: Whether to write the article.
            bare: Whether to omit attributes and denials.

        Returns:
            The words.
        """
        return self.nouns.phrase(self.mentions[i], article, bare)

    def definite(self, i: int) -> str:
        """Mention i when it is repeated: "the cube", "the red cube" or "the second cube"."""
        noun = self.mentions[i].category or self.nouns.vocabulary.generic
        # By the usual words: "a cube and a block" name one category.
        category = self.form.objects[i].category
        categories = [mention.category for mention in self.form.objects]
        same = [j for j, other in enumerate(categories) if other == category]
        if len(same) == 1:
            return f"the {noun}"
        kind = distinguishing_kind(self.form, i, same=same, order=self.nouns.order)
        if kind is not None:
            word = self.mentions[i].values[kind]
            return self.nouns.definite(noun, kind, word)
        # The last resort, since readers have to count.
        return f"the {ORDINALS[same.index(i)]} {noun}"

    def end(self, i: int, introduced: bool) -> str:
        """Write a mention as an end of a relation.

        Args:
            i: Place of the mention.
            introduced: Whether it was introduced before; it is definite then.

        Returns:
            The words.
        """
        return self.definite(i) if introduced else self.indefinite(i)

    def relation(self, k: int) -> str:
        """The words of relation k, after "not" if it is denied; for a phrase that its object
        follows."""
        phrase = self._relation_phrase(k)
        return phrase if self.form.relations[k].holds else f"not {phrase}"

    def step(self, k: int, target: str, third: str = "") -> str:
        """Relation k with its objects: "to the left of a lion", "to the left of a lion from the
        lion's own point of view".

        Args:
            k: the place of the relation.
            target: its object; without a place for it in the phrase, all objects that follow.
            third: the third object, where the phrase has a place for it.
        """
        words = self.relation(k)
        if GROUND not in words:
            return f"{words} {target}"
        if GROUND_AGAIN in words:
            object_again = self.definite(self.form.relations[k].object)
            words = words.replace(GROUND_AGAIN, object_again)
        return words.replace(GROUND, target).replace(THIRD, third)

    def _relation_phrase(self, k: int) -> str:
        synonym = self._word_at.get((k, "relation"))
        link = self.form.relations[k]
        return synonym or self.nouns.vocabulary.relations[link.relation].phrase

    def targets(self, link: Link, introduced: int) -> str:
        """The mentions after the words of a relation: "the cube", "the cube and the cone".

        Args:
            link: the relation.
            introduced: number of mentions that the text has introduced before.
        """
        return join(self._object_ends(link, introduced))

    def _object_ends(self, link: Link, introduced: int) -> list[str]:
        """The objects of a relation, definite where the text has introduced them."""
        places = (link.object, *link.also)
        return [self.end(i, i < introduced) for i in places]

    def step_to(self, k: int, introduced: int) -> str:
        """Relation k with its objects, as `step`; `introduced` as in `targets`."""
        link = self.form.relations[k]
        if THIRD not in self._relation_phrase(k):
            return self.step(k, self.targets(link, introduced))
        target, third = self._object_ends(link, introduced)
        return self.step(k, target, third)

    def listed(self, bare: bool = False) -> str:
        """All mentions as a list: "a cube, a cone and a sphere"."""
        places = range(len(self.mentions))
        return join([self.indefinite(i, bare=bare) for i in places])


def distinguishing_kind(
    form: Form, i: int, *, same: list[int], order: tuple[str, ...]
) -> str | None:
    """The first attribute kind whose value distinguishes a mention from others of its category.

    Args:
        form: the form.
        i: the place of the mention.
        same: the places of all mentions of its category.
        order: the attribute kinds in the order in which they are tried.

    Returns:
        The kind; None if there is none.
    """
    values = form.objects[i].values
    values_of_others = [form.objects[j].values for j in same if j != i]
    for kind in order:
        if kind not in values:
            continue
        if all(other.get(kind) != values[kind] for other in values_of_others):
            return kind
    return None


def join(parts: list[str]) -> str:
    """Parts as a list in words: "a", "a and b", "a, b and c"."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def capital(text: str) -> str:
    """A text with a capital letter at its beginning."""
    return text[0].upper() + text[1:]
