"""Forms in words: noun phrases, and templates, one function each (docs/language.md, Words)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from generator.language.form import Form, Link, Mention
from generator.vocabulary.schema import Vocabulary

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

Place = tuple[int, str]
"""The place of a word in a form: (place of the mention, attribute kind or the vocabulary's category word), or (place of
the relation, "relation")."""
Wording = Mapping[Place, str]
"""Synonyms that replace the usual words, by place."""
_PLAIN: Wording = {}


class Grammar:
    """Says forms in the words of one vocabulary.

    >>> from generator.vocabulary.schema import read_vocabulary
    >>> grammar = Grammar(read_vocabulary("clevr"))
    >>> cubes = Form((Mention("cube", (("color", "red"),)), Mention("arch")), (Link(0, "left", 1),))
    >>> grammar.realise(cubes, "clauses")
    'A red cube is to the left of an arch.'
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.category_kind = vocabulary.category
        self.order = vocabulary.adjective_order
        self._phrases = vocabulary.phrases
        self._articles = {word: declared.article for word, declared in vocabulary.objects.items()}
        for values in vocabulary.attributes.values():
            self._articles |= {word: declared.article for word, declared in values.items()}
        self._phrase = lru_cache(1 << 16)(self._say_phrase)

    def templates(self, form: Form) -> tuple[str, ...]:
        """Names of all templates that can say a form."""
        return tuple(name for name, template in TEMPLATES.items() if template.fits(form))

    def realise(self, form: Form, template: str, wording: Wording = _PLAIN) -> str:
        """The text of a form in a template that fits it; `wording` replaces words by synonyms."""
        phrases = FormPhrases(self, form, wording)
        text = TEMPLATES[template].say(phrases)
        if form.environment is None:
            return text
        where = self.vocabulary.environments[form.environment].phrase
        if not text.endswith("."):
            return f"{text} {where}"
        if template == "this-photo":
            return f"{text[:-1]} {where}."
        return f"{_capital(where)}, {text[0].lower()}{text[1:]}"

    def phrase(self, mention: Mention, article: bool = True, bare: bool = False) -> str:
        """A mention as a noun phrase in the usual words; `bare` omits attributes and denials."""
        return self._phrase(mention, article, bare)

    def _say_phrase(self, mention: Mention, article: bool, bare: bool) -> str:
        return self.noun_phrase(mention, article, bare, lambda kind: None)

    def noun_phrase(self, mention: Mention, article: bool, bare: bool, synonym: Callable[[str], str | None]) -> str:
        """A mention as a noun phrase; `synonym` gives another word for an attribute kind or for the noun, or None."""
        words, after = ([], "") if bare else (self.adjectives(mention, synonym), self.postmodifiers(mention, synonym))
        name = synonym(self.category_kind) or mention.category or self.vocabulary.generic
        if mention.count > 1:
            text = " ".join([NUMBERS[mention.count], *words, self._plural(mention.category, name)])
        elif mention.count == 0:
            text = " ".join(["no", *words, name])
        else:
            words.append(name)
            text = " ".join([self.article(words[0]), *words] if article else words)
        if bare:
            return text
        return text + after + "".join(f" that is not {self.denied_predicate(*pair)}" for pair in mention.without)

    def adjectives(self, mention: Mention, synonym: Callable[[str], str | None]) -> list[str]:
        """The adjectives of a mention, in the order of the vocabulary."""
        kinds = [kind for kind in self.order if kind in mention.values and kind not in self._phrases]
        return [synonym(kind) or mention.values[kind] for kind in kinds]

    def postmodifiers(self, mention: Mention, synonym: Callable[[str], str | None]) -> str:
        """The attributes that follow the noun: " made of wood", " textured with grass and made of wood"."""
        kinds = [kind for kind in self._phrases if kind in mention.values] if self._phrases else []
        parts = [
            self.predicate(kind, synonym(kind) or mention.values[kind]) for kind in sorted(kinds, key=self.order.index)
        ]
        return f" {' and '.join(parts)}" if parts else ""

    def predicate(self, kind: str, word: str) -> str:
        """A value as it follows "is": "red", "made of wood"."""
        return self._phrases[kind].of(word) if kind in self._phrases else word

    def definite(self, noun: str, kind: str, word: str) -> str:
        """ "the red cube" or "the cube made of wood": a noun and the value that distinguishes it."""
        return f"the {noun} {self.predicate(kind, word)}" if kind in self._phrases else f"the {word} {noun}"

    def denied_predicate(self, kind: str, value: str) -> str:
        """What follows "is not": "red", "made of wood", or a category with its article, "a cube"."""
        return f"{self.article(value)} {value}" if kind == self.category_kind else self.predicate(kind, value)

    def article(self, word: str) -> str:
        """The indefinite article before a word."""
        return self._articles.get(word) or ("an" if word[0] in "aeiou" else "a")

    def _plural(self, category: str | None, noun: str) -> str:
        declared = self.vocabulary.objects[category].plural if category is not None else None
        return declared or plural_of(noun)


def plural_of(noun: str) -> str:
    """The regular plural.

    >>> [plural_of(noun) for noun in ("cube", "torus", "fox", "pony", "monkey")]
    ['cubes', 'toruses', 'foxes', 'ponies', 'monkeys']
    """
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


class FormPhrases:
    """The phrases of one form, from which templates build its text."""

    def __init__(self, grammar: Grammar, form: Form, wording: Wording):
        self.grammar, self.form, self.wording = grammar, form, wording

    def indefinite(self, i: int, article: bool = True, bare: bool = False) -> str:
        """Mention i when it is introduced: "a red cube"."""
        if not self.wording:
            return self.grammar.phrase(self.form.objects[i], article, bare)
        return self.grammar.noun_phrase(self.form.objects[i], article, bare, lambda kind: self.wording.get((i, kind)))

    def definite(self, i: int) -> str:
        """Mention i when it is repeated: "the cube", "the red cube" or "the second cube"."""
        mention = self.form.objects[i]
        noun = self.wording.get((i, self.grammar.category_kind)) or mention.category or self.grammar.vocabulary.generic
        same = [j for j, other in enumerate(self.form.objects) if other.category == mention.category]
        if len(same) == 1:
            return f"the {noun}"
        kind = distinguishing_kind(self.form, i, same, self.grammar.order)
        if kind is not None:
            return self.grammar.definite(noun, kind, self.wording.get((i, kind)) or mention.values[kind])
        return f"the {ORDINALS[same.index(i)]} {noun}"

    def end(self, i: int, introduced: bool) -> str:
        """Mention i as an end of a relation: definite if it was introduced before."""
        return self.definite(i) if introduced else self.indefinite(i)

    def relation(self, k: int) -> str:
        """The words of relation k, after "not" if it is denied."""
        link = self.form.relations[k]
        phrase = self.wording.get((k, "relation")) or self.grammar.vocabulary.relations[link.relation].phrase
        return phrase if link.holds else f"not {phrase}"

    def targets(self, link: Link, introduced: int) -> str:
        """The mentions after the words of a relation: "the cube", "the cube and the cone"."""
        first = self.end(link.object, link.object < introduced)
        return _join([first, *(self.end(i, i < introduced) for i in link.also)]) if link.also else first

    def list_of(self, places: range, bare: bool = False) -> str:
        """Mentions as a list: "a cube, a cone and a sphere"."""
        return _join([self.indefinite(i, bare=bare) for i in places])

    def all(self) -> range:
        """The places of all mentions."""
        return range(len(self.form.objects))


def distinguishing_kind(form: Form, i: int, same: list[int], order: tuple[str, ...]) -> str | None:
    """The first attribute kind whose value distinguishes mention i from the `same` mentions of its category."""
    values = form.objects[i].values
    for kind in order:
        if kind in values and all(form.objects[j].values.get(kind) != values[kind] for j in same if j != i):
            return kind
    return None


@dataclass(frozen=True)
class Template:
    """A way to say forms: `fits` tells which forms it can say, `say` writes their text."""

    fits: Callable[[Form], bool]
    say: Callable[[FormPhrases], str]


def _join(parts: list[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _plain(form: Form) -> bool:
    return not form.negated and not form.relations


def _related(form: Form) -> bool:
    return not form.negated and bool(form.relations)


def _there(form: Form) -> bool:
    return all(mention.count for mention in form.objects)


def _single(form: Form) -> bool:
    return all(mention.count == 1 and not mention.without for mention in form.objects)


def _tails_last(form: Form) -> bool:
    return not any(mention.without for mention in form.objects[:-1])


def _distinguishable(form: Form) -> bool:
    """Whether every mention can be repeated without an ordinal such as "the second cube"."""
    kinds = tuple(sorted({kind for mention in form.objects for kind, _ in mention.attributes}))
    categories = [mention.category for mention in form.objects]
    if len(set(categories)) == len(categories):
        return True
    for i, category in enumerate(categories):
        same = [j for j, other in enumerate(categories) if other == category]
        if len(same) > 1 and distinguishing_kind(form, i, same, kinds) is None:
            return False
    return True


def _clear(form: Form) -> bool:
    """Whether no relation needs an ordinal: each is of a new mention to the next one, or mentions can be told apart."""
    ends = [end for link in form.relations for end in link.ends]
    new = ends == sorted(set(ends)) and all(link.object == link.subject + 1 for link in form.relations)
    return (new or _distinguishable(form)) and not any(link.also for link in form.relations)


def _one_step(form: Form) -> bool:
    """Whether the form asserts exactly one relation, of the first of two objects to the second."""
    return len(form.objects) == 2 and [(link.ends, link.holds) for link in form.relations] == [((0, 1), True)]


def _star(form: Form) -> bool:
    ends = [link.ends for link in form.relations]
    clear = all(first.holds or not second.holds for first, second in pairwise(form.relations))
    return _related(form) and clear and ends == [(0, i) for i in range(1, len(form.objects))] and _tails_last(form)


def _all_named(form: Form) -> bool:
    categories = [mention.category for mention in form.objects]
    return (
        not form.negated
        and None not in categories
        and len(set(categories)) == len(categories)
        and form.n_attributes > 0
        and all(mention.count == 1 for mention in form.objects)
    )


def _there_is(phrases: FormPhrases, text: str, first: int, also: bool) -> str:
    verb = "are" if phrases.form.objects[first].count > 1 else "is"
    return f"There {verb} {'also ' if also else ''}{text}"


def _say_list(phrases: FormPhrases) -> str:
    return phrases.list_of(phrases.all())


def _say_photo(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        return f"a photo of {phrases.indefinite(0)} {phrases.relation(0)} {phrases.indefinite(1)}"
    return f"a photo of {phrases.list_of(phrases.all())}"


def _say_this_photo(phrases: FormPhrases) -> str:
    return f"This is a photo of {phrases.list_of(phrases.all())}."


def _say_spare(phrases: FormPhrases) -> str:
    return _join([phrases.indefinite(i, article=False) for i in phrases.all()])


def _say_crepe(phrases: FormPhrases) -> str:
    def phrase(i: int, article: bool) -> str:
        mention, synonym = phrases.form.objects[i], lambda kind: phrases.wording.get((i, kind))
        words = phrases.grammar.adjectives(mention, synonym)
        noun = phrases.indefinite(i, article=False, bare=True)
        text = (f"{' and '.join(words)} {noun}" if words else noun) + phrases.grammar.postmodifiers(mention, synonym)
        return f"{phrases.grammar.article(text.split()[0])} {text}" if article else text

    if phrases.form.relations:
        return f"{phrase(0, False)} {phrases.relation(0)} {phrase(1, False)}"
    return " and ".join(phrase(i, i > 0) for i in phrases.all())


def _say_that_is(phrases: FormPhrases) -> str:
    steps = [
        f"{phrases.relation(k)} {phrases.indefinite(link.object)}" for k, link in enumerate(phrases.form.relations)
    ]
    return f"{phrases.indefinite(0)} that is {_join(steps)}"


def _say_there_is(phrases: FormPhrases) -> str:
    return _there_is(phrases, phrases.list_of(phrases.all()), 0, False) + "."


def _say_each(phrases: FormPhrases) -> str:
    return " ".join(_there_is(phrases, phrases.indefinite(i), i, False) + "." for i in phrases.all())


def _say_in_image(phrases: FormPhrases) -> str:
    return f"There is {phrases.indefinite(0)} in the image."


def _say_clauses(phrases: FormPhrases, that: bool = False) -> str:
    return _Clauses(phrases, that).say()


def _say_there_is_that(phrases: FormPhrases) -> str:
    return _say_clauses(phrases, that=True)


class _Clauses:
    """Says the relations one after the other and introduces each object in its turn, in the order of the form."""

    def __init__(self, phrases: FormPhrases, that: bool, introduced: int = 0):
        self._phrases, self._that, self._introduced = phrases, that, introduced
        self._sentences: list[str] = []
        self._joins_to: int | None = None
        self._head, self._steps = "", list[str]()

    def say(self) -> str:
        phrases = self._phrases
        for k, link in enumerate(phrases.form.relations):
            self._prepare(link)
            self._relate(k, link)
        self._introduce(len(phrases.form.objects))
        return " ".join(f"{sentence}." for sentence in self._sentences)

    def _prepare(self, link: Link) -> None:
        """Introduce the objects that the form mentions before those of this relation."""
        if link.subject >= self._introduced and link.object == link.subject + 1:
            self._introduce(link.subject)
        else:
            newest = max(link.subject, link.object)
            self._introduce(newest)

    def _introduce(self, until: int) -> None:
        for i in range(self._introduced, until):
            self._sentences.append(_there_is(self._phrases, self._phrases.indefinite(i), i, bool(self._sentences)))
            self._joins_to = None
        self._introduced = max(self._introduced, until)

    def _relate(self, k: int, link: Link) -> None:
        phrases, objects = self._phrases, self._phrases.form.objects
        object_introduced = link.object < self._introduced
        before = phrases.form.relations[k - 1] if self._joins_to == link.subject else None
        if before is not None and (before.holds or not link.holds):
            same = before.ends[1:] == link.ends[1:] and not link.also
            target = "it" if same else phrases.targets(link, self._introduced)
            self._steps.append(f"{phrases.relation(k)} {target}")
            self._sentences[-1] = f"{self._head} {_join(self._steps)}"
        else:
            self._head = f"{self._subject(link.subject)} is"
            self._steps = [f"{phrases.relation(k)} {phrases.targets(link, self._introduced)}"]
            self._sentences.append(f"{self._head} {self._steps[0]}")
        self._introduced = max(self._introduced, link.subject + 1, link.object + 1)
        self._joins_to = None if not object_introduced and objects[link.object].without else link.subject

    def _subject(self, i: int) -> str:
        """Mention i at the beginning of a sentence, up to "is"."""
        phrases = self._phrases
        if self._that and i >= self._introduced and not phrases.form.objects[i].without:
            return f"{_there_is(phrases, phrases.indefinite(i), i, bool(self._sentences))} that"
        return _capital(phrases.end(i, i < self._introduced))


def _say_list_then_relate(phrases: FormPhrases) -> str:
    listed = _there_is(phrases, phrases.list_of(phrases.all()), 0, False)
    return f"{listed}. {_Clauses(phrases, False, len(phrases.form.objects)).say()}"


def _say_then_attributes(phrases: FormPhrases) -> str:
    sentences = [_there_is(phrases, phrases.list_of(phrases.all(), bare=True), 0, False)]
    for i, mention in enumerate(phrases.form.objects):
        kinds = [kind for kind in phrases.grammar.order if kind in mention.values]
        if kinds:
            words = [
                phrases.grammar.predicate(kind, phrases.wording.get((i, kind)) or mention.values[kind])
                for kind in kinds
            ]
            sentences.append(f"{_capital(phrases.definite(i))} is {_join(words)}")
        sentences += [
            f"{_capital(phrases.definite(i))} is not {phrases.grammar.denied_predicate(*pair)}"
            for pair in mention.without
        ]
    text = " ".join(f"{sentence}." for sentence in sentences)
    if not phrases.form.relations:
        return text
    return f"{text} {_Clauses(phrases, False, len(phrases.form.objects)).say()}"


def _say_not_true(phrases: FormPhrases) -> str:
    verb = "are" if phrases.form.objects[0].count > 1 else "is"
    steps = [
        f"that {phrases.definite(link.subject)} is {phrases.relation(k)} "
        f"{phrases.targets(link, len(phrases.form.objects))}"
        for k, link in enumerate(phrases.form.relations)
    ]
    joined = "".join(f", {step}" for step in steps[:-1]) + "".join(f" and {step}" for step in steps[-1:])
    return f"It is not true that there {verb} {phrases.list_of(phrases.all())}{joined}."


TEMPLATES: dict[str, Template] = {
    "a-and-a": Template(_plain, _say_list),
    "that-is": Template(_star, _say_that_is),
    "photo": Template(
        lambda form: (
            _tails_last(form)
            and ((_plain(form) and _there(form)) or (not form.negated and _one_step(form)))
            and form.environment is None
        ),
        _say_photo,
    ),
    "this-photo": Template(lambda form: _plain(form) and _there(form), _say_this_photo),
    "spare": Template(lambda form: _plain(form) and _single(form) and form.environment is None, _say_spare),
    "crepe": Template(
        lambda form: (
            (_plain(form) or (not form.negated and _one_step(form))) and _single(form) and form.environment is None
        ),
        _say_crepe,
    ),
    "there-is": Template(_plain, _say_there_is),
    "there-is-each": Template(lambda form: _plain(form) and form.environment is None, _say_each),
    "in-image": Template(
        lambda form: (
            _plain(form)
            and len(form.objects) == 1
            and form.objects[0].count == 1
            and not form.objects[0].without
            and form.environment is None
        ),
        _say_in_image,
    ),
    "clauses": Template(lambda form: _related(form) and _clear(form), _say_clauses),
    "there-is-that": Template(lambda form: _related(form) and _clear(form), _say_there_is_that),
    "list-then-relate": Template(_related, _say_list_then_relate),
    "then-attributes": Template(_all_named, _say_then_attributes),
    "not-true": Template(lambda form: form.negated and _there(form), _say_not_true),
}
"""All templates by name. docs/language.md shows an example of each and names the published ones (PUG:SPARE, PUG:SPAR,
CREPE, COMPASS, Pearson et al.)."""

NEGATED = "not-true"
"""The template of captions that are denied as a whole."""
NATURAL = (
    "a-and-a",
    "there-is",
    "there-is-each",
    "that-is",
    "clauses",
    "there-is-that",
    "list-then-relate",
    "then-attributes",
)
"""Templates to draw from when no template is requested."""


def reads_well(form: Form, template: str) -> bool:
    """Whether the template says the form as people would: a list ends with what it denies, for "no cube and a cone"
    may be
    heard as neither of the two, and no relation is of "the second cube".

    >>> reads_well(Form((Mention("cone"), Mention("cube", count=0))), "there-is")
    True
    """
    if template not in _LISTS:
        return True
    if form.relations and not _distinguishable(form):
        return False
    counts = [mention.count for mention in form.objects]
    return 0 not in counts or not any(counts[counts.index(0) :])


_LISTS = ("a-and-a", "there-is", "list-then-relate")
