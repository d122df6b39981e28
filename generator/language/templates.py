"""The templates of texts: what each says, and which forms it can say (docs/language.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from generator.language.clauses import Clauses, there_is
from generator.language.form import Form
from generator.language.phrases import FormPhrases, capital, distinguishing_kind, join
from generator.vocabulary.schema import Vocabulary
from generator.vocabulary.templates import INTRODUCES_ONE, TemplatePart, parts_of


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
    categories = [mention.category for mention in form.objects]
    if len(set(categories)) == len(categories):
        return True
    kinds: set[str] = set()
    for mention in form.objects:
        kinds |= set(mention.values)
    # Whether there is a kind does not depend on the order in which they are tried.
    in_any_order = tuple(sorted(kinds))
    for i, category in enumerate(categories):
        same = [j for j, other in enumerate(categories) if other == category]
        if len(same) > 1 and distinguishing_kind(form, i, same=same, order=in_any_order) is None:
            return False
    return True


def _clear(form: Form) -> bool:
    """Whether no relation needs an ordinal: each joins a new mention to the next, or mentions are
    distinguishable. False for relations of more than two objects."""
    if any(link.also for link in form.relations):
        return False
    if _distinguishable(form):
        return True
    ends: list[int] = []
    for link in form.relations:
        if link.object != link.subject + 1:
            return False
        ends += link.ends
    # No end is named twice, and all are named in order.
    return ends == sorted(set(ends))


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
    one_to_each = ends == [(0, i) for i in range(1, len(form.objects))]
    # After a denied relation, "and left of a cone" could be denied too.
    denied_last = True
    for link, following in pairwise(form.relations):
        if following.holds and not link.holds:
            denied_last = False
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


def _write_photo(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        return f"a photo of {phrases.indefinite(0)} {phrases.step(0, phrases.indefinite(1))}"
    return f"a photo of {phrases.listed()}"


def _write_this_photo(phrases: FormPhrases) -> str:
    return f"This is a photo of {phrases.listed()}."


def _write_spare(phrases: FormPhrases) -> str:
    places = range(len(phrases.mentions))
    return join([phrases.indefinite(i, article=False) for i in places])


def _write_crepe(phrases: FormPhrases) -> str:
    if phrases.form.relations:
        subject = _crepe_phrase(phrases, 0, article=False)
        target = _crepe_phrase(phrases, 1, article=False)
        return f"{subject} {phrases.step(0, target)}"
    words = []
    for i in range(len(phrases.mentions)):
        # Only after "and".
        words.append(_crepe_phrase(phrases, i, article=i > 0))
    return " and ".join(words)


def _crepe_phrase(phrases: FormPhrases, i: int, article: bool) -> str:
    """Mention i as CREPE's captions have it, with "and" between adjectives: "a large and red
    cube"."""
    nouns = phrases.nouns
    mention = phrases.mentions[i]
    adjectives = " and ".join(nouns.adjectives(mention))
    noun = phrases.indefinite(i, article=False, bare=True)
    # Without adjectives the text would begin with a space.
    text = f"{adjectives} {noun}".strip() + nouns.postmodifiers(mention)
    if not article:
        return text
    first_word = text.split()[0]
    return f"{nouns.article(first_word)} {text}"


def _write_that_is(phrases: FormPhrases) -> str:
    steps = []
    for k, link in enumerate(phrases.form.relations):
        target = phrases.indefinite(link.object)
        steps.append(phrases.step(k, target))
    return f"{phrases.indefinite(0)} that is {join(steps)}"


def _write_there_is(phrases: FormPhrases) -> str:
    return there_is(phrases, phrases.listed(), 0, also=False) + "."


def _write_each(phrases: FormPhrases) -> str:
    sentences = []
    for i in range(len(phrases.mentions)):
        sentence = there_is(phrases, phrases.indefinite(i), i, also=False)
        sentences.append(f"{sentence}.")
    return " ".join(sentences)


def _write_in_image(phrases: FormPhrases) -> str:
    return f"There is {phrases.indefinite(0)} in the image."


def _write_clauses(phrases: FormPhrases) -> str:
    return Clauses(phrases).write()


def _write_there_is_that(phrases: FormPhrases) -> str:
    return Clauses(phrases, that=True).write()


def _write_list_then_relate(phrases: FormPhrases) -> str:
    listed = there_is(phrases, phrases.listed(), 0, also=False)
    relations = Clauses(phrases, introduced=len(phrases.mentions)).write()
    return f"{listed}. {relations}"


def _write_then_attributes(phrases: FormPhrases) -> str:
    nouns = phrases.nouns
    listed = phrases.listed(bare=True)
    sentences = [there_is(phrases, listed, 0, also=False)]
    for i, mention in enumerate(phrases.mentions):
        subject = capital(phrases.definite(i))
        words = []
        for kind in nouns.order:
            if kind in mention.values:
                words.append(nouns.predicate(kind, mention.values[kind]))
        if words:
            sentences.append(f"{subject} is {join(words)}")
        for kind, value in mention.without:
            sentences.append(f"{subject} is not {nouns.denied_predicate(kind, value)}")
    text = " ".join(f"{sentence}." for sentence in sentences)
    if not phrases.form.relations:
        return text
    relations = Clauses(phrases, introduced=len(phrases.mentions)).write()
    return f"{text} {relations}"


def _write_not_true(phrases: FormPhrases) -> str:
    n_objects = len(phrases.form.objects)
    verb = "are" if phrases.form.objects[0].count > 1 else "is"
    parts = [f"It is not true that there {verb} {phrases.listed()}"]
    for k, link in enumerate(phrases.form.relations):
        subject = phrases.definite(link.subject)
        # The list has introduced all objects.
        step = phrases.step_to(k, introduced=n_objects)
        parts.append(f"that {subject} is {step}")
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
            phrase = capital(phrase)
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

    >>> from generator.language.form import Mention
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

    >>> from generator.language.form import Mention
    >>> reads_well(Form((Mention("cone"), Mention("cube", count=0))), "there-is")
    True
    """
    if template not in _LISTS:
        return True
    if form.relations and not _distinguishable(form):
        return False
    counts = [mention.count for mention in form.objects]
    if 0 not in counts:
        return True
    first_denied = counts.index(0)
    return not any(counts[first_denied:])


INTRODUCE_IN_STEPS = ("photo", "that-is", "clauses", "there-is-that")
"""Templates that introduce the object of a relation where the relation is said."""

_LISTS = ("a-and-a", "there-is", "list-then-relate")
