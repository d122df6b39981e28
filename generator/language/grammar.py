"""Turns forms into text: noun phrases, and templates with one function each (docs/language.md,
Words)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

from generator.language.form import VIEWS, Form, Link, Mention
from generator.vocabulary.english import NUMBERS, ORDINALS, plural_of
from generator.vocabulary.relations import AGAIN, GROUND, THIRD
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.templates import INTRODUCES_ONE, TemplatePart, parts_of

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
        """The vocabulary's category word, such as "shape"."""
        self.order = vocabulary.adjective_order
        """The attribute kinds in the order in which texts name them."""
        self._phrases = vocabulary.phrases
        self._articles = {word: spec.article for word, spec in vocabulary.objects.items()}
        for values in vocabulary.attributes.values():
            self._articles |= {word: value.article for word, value in values.items()}
        # Scenes repeat their mentions: most phrases are written thousands of times.
        self.phrase = lru_cache(1 << 16)(self._write_phrase)
        self.all_templates = templates_of(vocabulary)
        """The templates of the grammar and of the family, by name."""
        self.natural = (*NATURAL, *vocabulary.drawn_templates)
        """Templates to draw from when no template is requested."""

    def templates(self, form: Form) -> tuple[str, ...]:
        """Names of all templates that can say a form."""
        return tuple(name for name in self.all_templates if self.fits(name, form))

    def fits(self, template: str, form: Form) -> bool:
        """Whether a template can say a form."""
        if template in _INTRODUCE_IN_STEPS and self._denial_before_frame(form):
            return False
        return self.all_templates[template].fits(form)

    def _denial_before_frame(self, form: Form) -> bool:
        """Whether a relation goes on after an object that denies something: "a lion that is not red
        from the lion's own point of view" has two readings."""
        for link in form.relations:
            goes_on = GROUND in self.vocabulary.relations[link.relation].phrase
            if goes_on and any(form.objects[end].without for end in (link.object, *link.also)):
                return True
        return False

    def realise(self, form: Form, template: str, wording: Wording = ()) -> str:
        """Write the text of a form.

        Args:
            form: the meaning.
            template: the name of a template that fits the form.
            wording: synonyms that replace the usual words.

        Returns:
            The text. The environment, if the form has one, comes first in a sentence, and last in a
            phrase.
        """
        if form.view is not None:
            return VIEWS[form.view].format(*[mention.category for mention in form.objects])
        text = self.all_templates[template].write(FormPhrases(self, form, wording))
        if form.environment is None:
            return text
        where = self.vocabulary.environments[form.environment].phrase
        if not text.endswith("."):
            return f"{text} {where}"
        if template == "this-photo":
            # "In a kitchen, this is a photo of …" would place the photo in the kitchen.
            return f"{text[:-1]} {where}."
        return f"{_capital(where)}, {text[0].lower()}{text[1:]}"

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
            phrase = " ".join([NUMBERS[mention.count], *words, self._plural(noun)])
        elif mention.count == 0:
            phrase = " ".join(["no", *words, noun])
        else:
            words.append(noun)
            if article:
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
        return self._phrases[kind].insert(word) if kind in self._phrases else word

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

    def __init__(self, grammar: Grammar, form: Form, wording: Wording):
        self.grammar = grammar
        self.form = form
        self._word_at = dict(wording)
        self.mentions = form.objects
        """The mentions with their synonyms in place of the usual words."""
        if wording:
            self.mentions = tuple(self._reworded(i) for i in range(len(form.objects)))

    def _reworded(self, i: int) -> Mention:
        """Mention i with its synonyms."""
        mention = self.form.objects[i]
        category = self._word_at.get((i, self.grammar.category_kind), mention.category)
        attributes = []
        for kind, value in mention.attributes:
            attributes.append((kind, self._word_at.get((i, kind), value)))
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
        return self.grammar.phrase(self.mentions[i], article, bare)

    def definite(self, i: int) -> str:
        """Mention i when it is repeated: "the cube", "the red cube" or "the second cube"."""
        noun = self.mentions[i].category or self.grammar.vocabulary.generic
        # By the usual words: "a cube and a block" name one category.
        category = self.form.objects[i].category
        same = [j for j, other in enumerate(self.form.objects) if other.category == category]
        if len(same) == 1:
            return f"the {noun}"
        kind = distinguishing_kind(self.form, i, same, self.grammar.order)
        if kind is not None:
            return self.grammar.definite(noun, kind, self.mentions[i].values[kind])
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
        if AGAIN in words:
            words = words.replace(AGAIN, self.definite(self.form.relations[k].object))
        return words.replace(GROUND, target).replace(THIRD, third)

    def _relation_phrase(self, k: int) -> str:
        synonym = self._word_at.get((k, "relation"))
        link = self.form.relations[k]
        return synonym or self.grammar.vocabulary.relations[link.relation].phrase

    def targets(self, link: Link, introduced: int) -> str:
        """The mentions after the words of a relation: "the cube", "the cube and the cone".

        Args:
            link: the relation.
            introduced: number of mentions that the text has introduced before.
        """
        ends = [self.end(i, i < introduced) for i in (link.object, *link.also)]
        return _join(ends)

    def step_to(self, k: int, introduced: int) -> str:
        """Relation k with its objects, as `step`; `introduced` as in `targets`."""
        link = self.form.relations[k]
        if THIRD not in self._relation_phrase(k):
            return self.step(k, self.targets(link, introduced))
        target, third = (self.end(i, i < introduced) for i in (link.object, *link.also))
        return self.step(k, target, third)

    def listed(self, bare: bool = False) -> str:
        """All mentions as a list: "a cube, a cone and a sphere"."""
        return _join([self.indefinite(i, bare=bare) for i in range(len(self.mentions))])


def distinguishing_kind(form: Form, i: int, same: list[int], order: tuple[str, ...]) -> str | None:
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
    others = [form.objects[j].values for j in same if j != i]
    for kind in order:
        if kind in values and all(other.get(kind) != values[kind] for other in others):
            return kind
    return None


@dataclass(frozen=True)
class Template:
    """A pattern for texts."""

    write: Callable[[FormPhrases], str]
    """Writes the text of a form, without its environment."""
    suits: Callable[[Form], bool] = lambda form: True
    """A further condition on the form."""
    related: bool | None = None
    """True fits only forms with relations, False only forms without, None both."""
    environment: bool = True
    """Whether forms with an environment fit too."""
    negated: bool = False
    """True fits only forms that are denied as a whole, False only other forms."""

    def fits(self, form: Form) -> bool:
        """Whether the template can say a form."""
        return (
            form.negated == self.negated
            and self.related in (None, bool(form.relations))
            and (self.environment or form.environment is None)
            and self.suits(form)
        )


def _join(parts: list[str]) -> str:
    """Parts as a list in words: "a", "a and b", "a, b and c"."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _denies_no_object(form: Form) -> bool:
    return all(mention.count for mention in form.objects)


def _single(form: Form) -> bool:
    """Whether every mention is of one object and denies nothing."""
    return all(mention.count == 1 and not mention.without for mention in form.objects)


def _denies_only_last(form: Form) -> bool:
    """Whether only the last mention may deny a value. In "a cube that is not red and a cone", the
    denial may seem to go on to the cone."""
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
    if any(link.also for link in form.relations):
        return False
    if _distinguishable(form):
        return True
    ends = [end for link in form.relations for end in link.ends]
    names_each_once = ends == sorted(set(ends))
    return names_each_once and all(link.object == link.subject + 1 for link in form.relations)


def _one_step(form: Form) -> bool:
    """Whether the form asserts exactly one relation, of the first of two objects to the second."""
    if len(form.objects) != 2 or len(form.relations) != 1:
        return False
    (link,) = form.relations
    return link.ends == (0, 1) and link.holds


def _star(form: Form) -> bool:
    """Whether all relations are of the first object, one to each other object in order, denied ones
    last: "a cube that is left of a cone and not behind a torus"."""
    ends = [link.ends for link in form.relations]
    # After a denied relation, "and left of a cone" could be denied too.
    denied_last = all(first.holds or not second.holds for first, second in pairwise(form.relations))
    one_to_each = ends == [(0, i) for i in range(1, len(form.objects))]
    return denied_last and one_to_each and _denies_only_last(form)


def _all_named(form: Form) -> bool:
    """Whether single objects of different named categories have attributes, so that "the cube is
    red" has one reading."""
    categories = [mention.category for mention in form.objects]
    return (
        None not in categories
        and len(set(categories)) == len(categories)
        and form.n_attributes > 0
        and all(mention.count == 1 for mention in form.objects)
    )


def _there_is(phrases: FormPhrases, text: str, first: int, *, also: bool) -> str:
    """A sentence without its full stop: "There is a cube", "There are also two cubes".

    Args:
        phrases: the phrases of the form.
        text: what there is.
        first: the place of its first mention, whose count decides the verb.
        also: whether another such sentence came before.
    """
    verb = "are" if phrases.form.objects[first].count > 1 else "is"
    return f"There {verb} also {text}" if also else f"There {verb} {text}"


def _write_photo(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        return f"a photo of {phrases.indefinite(0)} {phrases.step(0, phrases.indefinite(1))}"
    return f"a photo of {phrases.listed()}"


def _write_this_photo(phrases: FormPhrases) -> str:
    return f"This is a photo of {phrases.listed()}."


def _write_spare(phrases: FormPhrases) -> str:
    return _join([phrases.indefinite(i, article=False) for i in range(len(phrases.mentions))])


def _write_crepe(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        subject = _crepe_phrase(phrases, 0, article=False)
        return f"{subject} {phrases.step(0, _crepe_phrase(phrases, 1, article=False))}"
    places = range(len(phrases.mentions))
    return " and ".join(_crepe_phrase(phrases, i, article=i > 0) for i in places)


def _crepe_phrase(phrases: FormPhrases, i: int, article: bool) -> str:
    """Mention i as CREPE's captions have it, with "and" between adjectives: "a large and red
    cube"."""
    adjectives = " and ".join(phrases.grammar.adjectives(phrases.mentions[i]))
    noun = phrases.indefinite(i, article=False, bare=True)
    text = f"{adjectives} {noun}".strip() + phrases.grammar.postmodifiers(phrases.mentions[i])
    return f"{phrases.grammar.article(text.split()[0])} {text}" if article else text


def _write_that_is(phrases: FormPhrases) -> str:
    steps = [
        phrases.step(k, phrases.indefinite(link.object))
        for k, link in enumerate(phrases.form.relations)
    ]
    return f"{phrases.indefinite(0)} that is {_join(steps)}"


def _write_there_is(phrases: FormPhrases) -> str:
    return _there_is(phrases, phrases.listed(), 0, also=False) + "."


def _write_each(phrases: FormPhrases) -> str:
    sentences = [
        _there_is(phrases, phrases.indefinite(i), i, also=False)
        for i in range(len(phrases.mentions))
    ]
    return " ".join(f"{sentence}." for sentence in sentences)


def _write_in_image(phrases: FormPhrases) -> str:
    return f"There is {phrases.indefinite(0)} in the image."


def _write_clauses(phrases: FormPhrases) -> str:
    return _Clauses(phrases).write()


def _write_there_is_that(phrases: FormPhrases) -> str:
    return _Clauses(phrases, that=True).write()


class _Clauses:
    """Writes the relations one after the other; introduces objects in the order of the form.

    A relation of the same subject as the one before joins its sentence with "and": "A cube is left
    of a cone and behind it." Other relations begin a sentence. An object that no relation
    introduces has a sentence "There is …".
    """

    def __init__(self, phrases: FormPhrases, introduced: int = 0, that: bool = False):
        """`introduced` is the number of mentions that the text has introduced before. With `that`,
        a sentence about a new subject begins with "There is a cube that is …"."""
        self._phrases = phrases
        self._that = that
        self._introduced = introduced
        self._sentences: list[str] = []
        """The sentences so far, without full stops."""
        self._joins_to: int | None = None
        """The subject of the last sentence if another relation may join it, else None."""
        self._head = ""
        """The last sentence up to "is"."""
        self._steps: list[str] = []
        """The relations of the last sentence, with their objects."""

    def write(self) -> str:
        """Write all sentences of the form."""
        form = self._phrases.form
        for k, link in enumerate(form.relations):
            self._introduce_before(link)
            self._relate(k, link)
        self._introduce(len(form.objects))
        return " ".join(f"{sentence}." for sentence in self._sentences)

    def _introduce_before(self, link: Link) -> None:
        """Introduce the objects that the form mentions before the objects of this relation."""
        both_new = link.subject >= self._introduced and link.object == link.subject + 1
        self._introduce(link.subject if both_new else max(link.subject, link.object))

    def _introduce(self, until: int) -> None:
        """Introduce the mentions before the place `until` by sentences of their own."""
        for i in range(self._introduced, until):
            sentence = _there_is(
                self._phrases, self._phrases.indefinite(i), i, also=bool(self._sentences)
            )
            self._sentences.append(sentence)
            self._joins_to = None
        self._introduced = max(self._introduced, until)

    def _relate(self, k: int, link: Link) -> None:
        """Write relation k: join it to the last sentence, or begin a new one."""
        phrases = self._phrases
        object_is_new = link.object >= self._introduced
        before = phrases.form.relations[k - 1] if self._joins_to == link.subject else None
        # After a denied relation, "and behind it" could be denied too.
        if before is not None and (before.holds or not link.holds):
            same_object = before.ends[1:] == link.ends[1:] and not link.also
            step = phrases.step(k, "it") if same_object else phrases.step_to(k, self._introduced)
            self._steps.append(step)
            self._sentences[-1] = f"{self._head} {_join(self._steps)}"
        else:
            self._head = f"{self._subject(link.subject)} is"
            self._steps = [phrases.step_to(k, self._introduced)]
            self._sentences.append(f"{self._head} {self._steps[0]}")
        self._introduced = max(self._introduced, link.subject + 1, link.object + 1)
        # After "… a cone that is not red", a joined relation would seem to be denied of the cone.
        ends_with_denial = object_is_new and bool(phrases.form.objects[link.object].without)
        self._joins_to = None if ends_with_denial else link.subject

    def _subject(self, i: int) -> str:
        """Mention i at the beginning of a sentence, up to "is"."""
        phrases = self._phrases
        is_new = i >= self._introduced
        # "There is a cube that is not red that is left of …" would be hard to read.
        if self._that and is_new and not phrases.form.objects[i].without:
            there_is = _there_is(phrases, phrases.indefinite(i), i, also=bool(self._sentences))
            return f"{there_is} that"
        return _capital(phrases.end(i, introduced=not is_new))


def _write_list_then_relate(phrases: FormPhrases) -> str:
    listed = _there_is(phrases, phrases.listed(), 0, also=False)
    return f"{listed}. {_Clauses(phrases, len(phrases.mentions)).write()}"


def _write_then_attributes(phrases: FormPhrases) -> str:
    sentences = [_there_is(phrases, phrases.listed(bare=True), 0, also=False)]
    for i, mention in enumerate(phrases.mentions):
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
    return f"{text} {_Clauses(phrases, len(phrases.mentions)).write()}"


def _write_not_true(phrases: FormPhrases) -> str:
    n_objects = len(phrases.form.objects)
    verb = "are" if phrases.form.objects[0].count > 1 else "is"
    parts = [f"It is not true that there {verb} {phrases.listed()}"]
    for k, link in enumerate(phrases.form.relations):
        # The list has introduced all objects.
        parts.append(f"that {phrases.definite(link.subject)} is {phrases.step_to(k, n_objects)}")
    if len(parts) == 1:
        return f"{parts[0]}."
    return f"{', '.join(parts[:-1])} and {parts[-1]}."


def _write_declared(parts: tuple[TemplatePart, ...], phrases: FormPhrases) -> str:
    """Write a form in the parts of a declared template. In a template of sentences, a phrase that
    opens a sentence has a capital letter."""
    has_sentences = parts[-1].stop == "."
    opens_sentence = has_sentences
    words = []
    for part in parts:
        phrase = _write_part(part, phrases)
        if opens_sentence and part.kind != "words":
            phrase = _capital(phrase)
        words.append(phrase + part.stop)
        opens_sentence = has_sentences and part.stop == "."
    return " ".join(words)


def _write_part(part: TemplatePart, phrases: FormPhrases) -> str:
    if part.kind == "indefinite":
        return phrases.indefinite(part.place)
    if part.kind == "bare":
        return phrases.indefinite(part.place, article=False)
    if part.kind == "definite":
        return phrases.definite(part.place)
    if part.kind == "list":
        return phrases.listed()
    if part.kind == "relation":
        return phrases.relation(0)
    return part.text


def declared_template(text: str) -> Template:
    """Make the template of a text that a family declares (docs/language.md).

    It fits single objects without denials: as many as the text introduces, or any number for
    {list}; with {relation}, two objects and one relation that holds.

    >>> pair = Form((Mention("cube"), Mention("cone")))
    >>> declared_template("a photo of {a} next to {b}").fits(pair)
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
        partial(_write_declared, parts), suits, related="relation" in kinds, environment=False
    )


def templates_of(vocabulary: Vocabulary) -> dict[str, Template]:
    """The templates of the grammar, then those that the family declares."""
    declared = {name: declared_template(text) for name, text in vocabulary.templates.items()}
    return {**TEMPLATES, **declared}


TEMPLATES: dict[str, Template] = {
    "a-and-a": Template(FormPhrases.listed, related=False),
    "that-is": Template(_write_that_is, _star, related=True),
    # Labels of Pearson et al. 2025.
    "photo": Template(
        _write_photo,
        lambda form: (
            _denies_only_last(form)
            and (_one_step(form) if form.relations else _denies_no_object(form))
        ),
        environment=False,
    ),
    # PUG:SPAR.
    "this-photo": Template(_write_this_photo, _denies_no_object, related=False),
    # PUG:SPARE.
    "spare": Template(_write_spare, _single, related=False, environment=False),
    # CREPE, n = 4.
    "crepe": Template(
        _write_crepe,
        lambda form: _single(form) and (not form.relations or _one_step(form)),
        environment=False,
    ),
    "there-is": Template(_write_there_is, related=False),
    # COMPASS.
    "there-is-each": Template(_write_each, related=False, environment=False),
    # COMPASS.
    "in-image": Template(
        _write_in_image,
        lambda form: len(form.objects) == 1 and _single(form),
        related=False,
        environment=False,
    ),
    "clauses": Template(_write_clauses, _clear, related=True),
    "there-is-that": Template(_write_there_is_that, _clear, related=True),
    "list-then-relate": Template(_write_list_then_relate, related=True),
    "then-attributes": Template(_write_then_attributes, _all_named),
    "not-true": Template(_write_not_true, _denies_no_object, negated=True),
}
"""The templates of the grammar by name. docs/language.md shows an example of each."""

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


_INTRODUCE_IN_STEPS = ("photo", "that-is", "clauses", "there-is-that")
"""Templates that introduce the object of a relation where the relation is said."""

_LISTS = ("a-and-a", "there-is", "list-then-relate")
