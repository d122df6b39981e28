"""Turns forms into text: noun phrases, and templates with one function each (docs/language.md,
Words)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

from generator.language.form import Form, Link, Mention
from generator.vocabulary.english import NUMBERS, ORDINALS, plural_of
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.templates import INTRODUCES_ONE, Part, parts_of

Place = tuple[int, str]
"""The place of a word in a form: (place of the mention, attribute kind or the vocabulary's category
word), or (place of the relation, "relation")."""
Wording = tuple[tuple[Place, str], ...]
"""Synonyms that replace the usual words, each with its place in the form."""


class Grammar:
    """Turns forms into text with the words of one vocabulary.

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
        self.phrase = lru_cache(1 << 16)(self._say_phrase)
        self.all_templates = templates_of(vocabulary)
        self.natural = (*NATURAL, *vocabulary.drawn_templates)
        """Templates to draw from when no template is requested."""

    def templates(self, form: Form) -> tuple[str, ...]:
        """Names of all templates that can say a form."""
        return tuple(name for name, template in self.all_templates.items() if template.fits(form))

    def fits(self, template: str, form: Form) -> bool:
        """Whether a template can say a form."""
        return self.all_templates[template].fits(form)

    def realise(self, form: Form, template: str, wording: Wording = ()) -> str:
        """The text of a form in a template that fits it; `wording` replaces words by synonyms."""
        text = self.all_templates[template].say(FormPhrases(self, form, wording))
        if form.environment is None:
            return text
        where = self.vocabulary.environments[form.environment].phrase
        if not text.endswith("."):
            return f"{text} {where}"
        if template == "this-photo":
            return f"{text[:-1]} {where}."
        return f"{_capital(where)}, {text[0].lower()}{text[1:]}"

    def _say_phrase(self, mention: Mention, article: bool, bare: bool) -> str:
        """A mention as a noun phrase; `bare` omits attributes and denials."""
        words = [] if bare else self.adjectives(mention)
        name = mention.category or self.vocabulary.generic
        if mention.count > 1:
            declared = self.vocabulary.objects.get(name)
            text = " ".join(
                [NUMBERS[mention.count], *words, (declared and declared.plural) or plural_of(name)]
            )
        elif mention.count == 0:
            text = " ".join(["no", *words, name])
        else:
            words.append(name)
            text = " ".join([self.article(words[0]), *words] if article else words)
        if bare:
            return text
        denied = "".join(f" that is not {self.denied_predicate(*pair)}" for pair in mention.without)
        return text + self.postmodifiers(mention) + denied

    def adjectives(self, mention: Mention) -> list[str]:
        """The adjectives of a mention, in the order of the vocabulary."""
        return [
            mention.values[kind]
            for kind in self.order
            if kind in mention.values and kind not in self._phrases
        ]

    def postmodifiers(self, mention: Mention) -> str:
        """The attributes that follow the noun: " made of wood", " textured with grass and made of
        wood"."""
        kinds = [kind for kind in self.order if kind in mention.values and kind in self._phrases]
        return (
            " " + " and ".join(self.predicate(kind, mention.values[kind]) for kind in kinds)
            if kinds
            else ""
        )

    def predicate(self, kind: str, word: str) -> str:
        """A value as it follows "is": "red", "made of wood"."""
        return self._phrases[kind].of(word) if kind in self._phrases else word

    def definite(self, noun: str, kind: str, word: str) -> str:
        """A noun and the value that distinguishes it: "the red cube", "the cube made of wood"."""
        return (
            f"the {noun} {self.predicate(kind, word)}"
            if kind in self._phrases
            else f"the {word} {noun}"
        )

    def denied_predicate(self, kind: str, value: str) -> str:
        """A value as it follows "is not": "red", "made of wood", or a category with its article ("a
        cube")."""
        return (
            f"{self.article(value)} {value}"
            if kind == self.category_kind
            else self.predicate(kind, value)
        )

    def article(self, word: str) -> str:
        """The indefinite article before a word."""
        return self._articles.get(word) or ("an" if word[0] in "aeiou" else "a")


class FormPhrases:
    """The phrases of one form, from which templates build its text."""

    def __init__(self, grammar: Grammar, form: Form, wording: Wording):
        self.grammar, self.form, self._words = grammar, form, dict(wording)
        self.said = (
            tuple(map(self._reworded, range(len(form.objects)))) if wording else form.objects
        )
        """The mentions with their synonyms in place of the usual words."""

    def _reworded(self, i: int) -> Mention:
        mention, words = self.form.objects[i], self._words
        category = words.get((i, self.grammar.category_kind), mention.category)
        attributes = tuple(
            (kind, words.get((i, kind), value)) for kind, value in mention.attributes
        )
        return mention._replace(category=category, attributes=attributes)

    def indefinite(self, i: int, article: bool = True, bare: bool = False) -> str:
        """Mention i when it is introduced: "a red cube"."""
        return self.grammar.phrase(self.said[i], article, bare)

    def definite(self, i: int) -> str:
        """Mention i when it is repeated: "the cube", "the red cube" or "the second cube"."""
        noun = self.said[i].category or self.grammar.vocabulary.generic
        same = [
            j
            for j, other in enumerate(self.form.objects)
            if other.category == self.form.objects[i].category
        ]
        if len(same) == 1:
            return f"the {noun}"
        kind = distinguishing_kind(self.form, i, same, self.grammar.order)
        if kind is not None:
            return self.grammar.definite(noun, kind, self.said[i].values[kind])
        return f"the {ORDINALS[same.index(i)]} {noun}"

    def end(self, i: int, introduced: bool) -> str:
        """Mention i as an end of a relation: definite if it was introduced before."""
        return self.definite(i) if introduced else self.indefinite(i)

    def relation(self, k: int) -> str:
        """The words of relation k, after "not" if it is denied."""
        link = self.form.relations[k]
        phrase = (
            self._words.get((k, "relation"))
            or self.grammar.vocabulary.relations[link.relation].phrase
        )
        return phrase if link.holds else f"not {phrase}"

    def targets(self, link: Link, introduced: int) -> str:
        """The mentions after the words of a relation: "the cube", "the cube and the cone"."""
        first = self.end(link.object, link.object < introduced)
        return (
            _join([first, *(self.end(i, i < introduced) for i in link.also)])
            if link.also
            else first
        )

    def listed(self, bare: bool = False) -> str:
        """All mentions as a list: "a cube, a cone and a sphere"."""
        return _join([self.indefinite(i, bare=bare) for i in range(len(self.said))])


def distinguishing_kind(form: Form, i: int, same: list[int], order: tuple[str, ...]) -> str | None:
    """The first attribute kind whose value distinguishes mention i from the `same` mentions of its
    category."""
    values = form.objects[i].values
    for kind in order:
        if kind in values and all(
            form.objects[j].values.get(kind) != values[kind] for j in same if j != i
        ):
            return kind
    return None


@dataclass(frozen=True)
class Template:
    """A pattern for texts: `say` writes the text of a form.

    `related`: True fits only forms with relations, False only forms without, None both. `negated`:
    True fits only forms
    that are denied as a whole, False only other forms. `environment`: whether forms with an
    environment fit too.
    `suits` is a further condition on the form.
    """

    say: Callable[[FormPhrases], str]
    suits: Callable[[Form], bool] = lambda form: True
    related: bool | None = None
    environment: bool = True
    negated: bool = False

    def fits(self, form: Form) -> bool:
        """Whether the template can say a form."""
        return (
            form.negated == self.negated
            and self.related in (None, bool(form.relations))
            and (self.environment or form.environment is None)
            and self.suits(form)
        )


def _join(parts: list[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


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
    """Whether no relation needs an ordinal: each joins a new mention to the next, or mentions are
    distinguishable. False for relations of more than two objects."""
    ends = [end for link in form.relations for end in link.ends]
    new = ends == sorted(set(ends)) and all(
        link.object == link.subject + 1 for link in form.relations
    )
    return (new or _distinguishable(form)) and not any(link.also for link in form.relations)


def _one_step(form: Form) -> bool:
    """Whether the form asserts exactly one relation, of the first of two objects to the second."""
    return len(form.objects) == 2 and [(link.ends, link.holds) for link in form.relations] == [
        ((0, 1), True)
    ]


def _star(form: Form) -> bool:
    ends = [link.ends for link in form.relations]
    clear = all(first.holds or not second.holds for first, second in pairwise(form.relations))
    return clear and ends == [(0, i) for i in range(1, len(form.objects))] and _tails_last(form)


def _all_named(form: Form) -> bool:
    categories = [mention.category for mention in form.objects]
    return (
        None not in categories
        and len(set(categories)) == len(categories)
        and form.n_attributes > 0
        and all(mention.count == 1 for mention in form.objects)
    )


def _there_is(phrases: FormPhrases, text: str, first: int, also: bool) -> str:
    verb = "are" if phrases.form.objects[first].count > 1 else "is"
    return f"There {verb} {'also ' if also else ''}{text}"


def _say_photo(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        return f"a photo of {phrases.indefinite(0)} {phrases.relation(0)} {phrases.indefinite(1)}"
    return f"a photo of {phrases.listed()}"


def _say_this_photo(phrases: FormPhrases) -> str:
    return f"This is a photo of {phrases.listed()}."


def _say_spare(phrases: FormPhrases) -> str:
    return _join([phrases.indefinite(i, article=False) for i in range(len(phrases.said))])


def _say_crepe(phrases: FormPhrases) -> str:
    def phrase(i: int, article: bool) -> str:
        words = " and ".join(phrases.grammar.adjectives(phrases.said[i]))
        noun = phrases.indefinite(i, article=False, bare=True)
        text = f"{words} {noun}".strip() + phrases.grammar.postmodifiers(phrases.said[i])
        return f"{phrases.grammar.article(text.split()[0])} {text}" if article else text

    if phrases.form.relations:
        return f"{phrase(0, False)} {phrases.relation(0)} {phrase(1, False)}"
    return " and ".join(phrase(i, i > 0) for i in range(len(phrases.said)))


def _say_that_is(phrases: FormPhrases) -> str:
    steps = [
        f"{phrases.relation(k)} {phrases.indefinite(link.object)}"
        for k, link in enumerate(phrases.form.relations)
    ]
    return f"{phrases.indefinite(0)} that is {_join(steps)}"


def _say_there_is(phrases: FormPhrases) -> str:
    return _there_is(phrases, phrases.listed(), 0, False) + "."


def _say_each(phrases: FormPhrases) -> str:
    return " ".join(
        _there_is(phrases, phrases.indefinite(i), i, False) + "." for i in range(len(phrases.said))
    )


def _say_in_image(phrases: FormPhrases) -> str:
    return f"There is {phrases.indefinite(0)} in the image."


def _say_clauses(phrases: FormPhrases) -> str:
    return _Clauses(phrases).say()


def _say_there_is_that(phrases: FormPhrases) -> str:
    return _Clauses(phrases, that=True).say()


class _Clauses:
    """Writes the relations one after the other; introduces objects in the order of the form."""

    def __init__(self, phrases: FormPhrases, introduced: int = 0, that: bool = False):
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
        """Introduce the objects that the form mentions before the objects of this relation."""
        both_new = link.subject >= self._introduced and link.object == link.subject + 1
        self._introduce(link.subject if both_new else max(link.subject, link.object))

    def _introduce(self, until: int) -> None:
        for i in range(self._introduced, until):
            self._sentences.append(
                _there_is(self._phrases, self._phrases.indefinite(i), i, bool(self._sentences))
            )
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
        self._joins_to = (
            None if not object_introduced and objects[link.object].without else link.subject
        )

    def _subject(self, i: int) -> str:
        """Mention i at the beginning of a sentence, up to "is"."""
        phrases = self._phrases
        if self._that and i >= self._introduced and not phrases.form.objects[i].without:
            return f"{_there_is(phrases, phrases.indefinite(i), i, bool(self._sentences))} that"
        return _capital(phrases.end(i, i < self._introduced))


def _say_list_then_relate(phrases: FormPhrases) -> str:
    listed = _there_is(phrases, phrases.listed(), 0, False)
    return f"{listed}. {_Clauses(phrases, len(phrases.said)).say()}"


def _say_then_attributes(phrases: FormPhrases) -> str:
    sentences = [_there_is(phrases, phrases.listed(bare=True), 0, False)]
    for i, mention in enumerate(phrases.said):
        kinds = [kind for kind in phrases.grammar.order if kind in mention.values]
        if kinds:
            words = [phrases.grammar.predicate(kind, mention.values[kind]) for kind in kinds]
            sentences.append(f"{_capital(phrases.definite(i))} is {_join(words)}")
        sentences += [
            f"{_capital(phrases.definite(i))} is not {phrases.grammar.denied_predicate(*pair)}"
            for pair in mention.without
        ]
    text = " ".join(f"{sentence}." for sentence in sentences)
    if not phrases.form.relations:
        return text
    return f"{text} {_Clauses(phrases, len(phrases.said)).say()}"


def _say_not_true(phrases: FormPhrases) -> str:
    verb = "are" if phrases.form.objects[0].count > 1 else "is"
    steps = [
        f"that {phrases.definite(link.subject)} is {phrases.relation(k)} "
        f"{phrases.targets(link, len(phrases.form.objects))}"
        for k, link in enumerate(phrases.form.relations)
    ]
    joined = "".join(f", {step}" for step in steps[:-1]) + "".join(
        f" and {step}" for step in steps[-1:]
    )
    return f"It is not true that there {verb} {phrases.listed()}{joined}."


def _say_declared(parts: tuple[Part, ...], phrases: FormPhrases) -> str:
    """A form in the parts of a declared template; in sentences, a phrase that opens one has a
    capital letter."""
    sentences = parts[-1].stop == "."
    opens, words = sentences, []
    for part in parts:
        phrase = _say_part(part, phrases)
        if opens and part.kind != "words":
            phrase = _capital(phrase)
        words.append(phrase + part.stop)
        opens = sentences and part.stop == "."
    return " ".join(words)


def _say_part(part: Part, phrases: FormPhrases) -> str:
    if part.kind == "indefinite":
        return phrases.indefinite(part.place)
    if part.kind == "bare":
        return phrases.indefinite(part.place, article=False)
    if part.kind == "definite":
        return phrases.definite(part.place)
    if part.kind == "list":
        return phrases.listed()
    return phrases.relation(0) if part.kind == "relation" else part.text


def declared_template(text: str) -> Template:
    """The template of a text that a family declares (docs/language.md). It fits single objects
    without denials: as many as the text introduces, or any number for {list}; with {relation}, two
    objects and one relation that holds.

    >>> declared_template("a photo of {a} next to {b}").fits(Form((Mention("cube"),
    Mention("cone"))))
    True
    """
    parts = parts_of(text)
    kinds = {part.kind for part in parts}
    n_objects = sum(part.kind in INTRODUCES_ONE for part in parts)

    def suits(form: Form) -> bool:
        return (
            _single(form)
            and ("list" in kinds or len(form.objects) == n_objects)
            and ("relation" not in kinds or _one_step(form))
            and ("definite" not in kinds or _distinguishable(form))
        )

    return Template(
        partial(_say_declared, parts), suits, related="relation" in kinds, environment=False
    )


def templates_of(vocabulary: Vocabulary) -> dict[str, Template]:
    """The templates of the grammar, then those that the family declares."""
    declared = {name: declared_template(text) for name, text in vocabulary.templates.items()}
    return {**TEMPLATES, **declared}


TEMPLATES: dict[str, Template] = {
    "a-and-a": Template(FormPhrases.listed, related=False),
    "that-is": Template(_say_that_is, _star, related=True),
    "photo": Template(
        _say_photo,
        lambda form: _tails_last(form) and (_one_step(form) if form.relations else _there(form)),
        environment=False,
    ),
    "this-photo": Template(_say_this_photo, _there, related=False),
    "spare": Template(_say_spare, _single, related=False, environment=False),
    "crepe": Template(
        _say_crepe,
        lambda form: _single(form) and (not form.relations or _one_step(form)),
        environment=False,
    ),
    "there-is": Template(_say_there_is, related=False),
    "there-is-each": Template(_say_each, related=False, environment=False),
    "in-image": Template(
        _say_in_image,
        lambda form: len(form.objects) == 1 and _single(form),
        related=False,
        environment=False,
    ),
    "clauses": Template(_say_clauses, _clear, related=True),
    "there-is-that": Template(_say_there_is_that, _clear, related=True),
    "list-then-relate": Template(_say_list_then_relate, related=True),
    "then-attributes": Template(_say_then_attributes, _all_named),
    "not-true": Template(_say_not_true, _there, negated=True),
}
"""The templates of the grammar by name. docs/language.md shows an example of each and names the
published ones (PUG:SPARE, PUG:SPAR, CREPE, COMPASS, Pearson et al.)."""

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
"""Templates of the grammar to draw from when no template is requested."""


def reads_well(form: Form, template: str) -> bool:
    """Whether the template says the form as people would: denied objects come last in a list,
    because "no cube and a cone" may be read as neither of the two, and no relation has "the second
    cube" as an end.

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
