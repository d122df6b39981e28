"""The paraphrase ladder: a caption, a paraphrase and a foil that are both d edits away from it, for
d = 1, 2, …

Hard positives (Kamath et al. 2024) differ from their caption by one edit. A ladder asks how
brittleness grows with the distance: at step d the paraphrase says d words of the caption by their
synonyms, and the foil does so with d - 1 of the same words and says a false word in place of one.
So both are equally far from the caption, and the paraphrase is one word away from the foil.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.language.foils import Atom
from generator.language.form import Form
from generator.language.phrases import Place, Wording
from generator.language.wording import synonyms, words_of

MOST_EDITS = 4
"""Captions name two objects with three attributes each, so eight words. Words that the two share
are not edited, which leaves five or six in most scenes."""
_TEMPLATES = ("a-and-a", "there-is", "there-is-each", "that-is", "clauses", "there-is-that")


class Ladder(Protocol):
    """Triples of a caption c, a paraphrase p and a foil n at the same distance from the caption.

    A kind is a distance: `1-edit`, `2-edits` and so on. In half of the items the caption has the
    synonyms and the paraphrase the usual words, so that synonyms do not tell which text is true.
    """

    name = "ladder"
    kinds: tuple[str, ...] = tuple(f"{d}-edit{'s' * (d > 1)}" for d in range(1, MOST_EDITS + 1))

    def __init__(self, captioner: Captioner, kinds: Sequence[str] | None = None):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            kinds: the distances to write; by default all. A family without enough synonyms has
                fewer.
        """
        super().__init__(captioner)
        self.recipes = {
            kind: Recipe(_draw_all_attributes, partial(self._write_triple, kind, n_edits))
            for n_edits, kind in enumerate(self.kinds, 1)
        }
        self.select(kinds)

    def _write_triple(self, kind: str, n_edits: int, draft: Draft, form: Form) -> Iterator[Item]:
        """Write the item of a caption with a paraphrase and a foil `n_edits` away."""
        false_word = _draw_false_word(draft, form)
        template = draft.captioner.draw_template([form], draft.stream, _TEMPLATES)
        if false_word is None or template is None:
            return
        others = _draw_synonyms(draft, form, number=n_edits - 1, without=false_word.place)
        if others is None:
            return
        reworded: Wording = ((false_word.place, false_word.true_synonym), *others)
        reworded_foil: Wording = ((false_word.place, false_word.false_synonym), *others)
        if draft.stream.below(2):
            caption = Text(form, template)
            paraphrase = Text(form, template, reworded)
            foil = Text(false_word.form, template, reworded_foil)
        else:
            # The caption has the synonyms; paraphrase and foil have the usual words.
            caption = Text(form, template, reworded)
            paraphrase = Text(form, template)
            foil = Text(false_word.form, template)
        # Paraphrase and foil are equally far from the caption; one word of the foil is false.
        candidates = (
            Candidate(caption, "c", True),
            Candidate(foil, "n", False, "matched", false_word.changed, caption),
            Candidate(paraphrase, "p", True),
        )
        yield Item(self.name, kind, "attribute", candidates)


class FalseWord(NamedTuple):
    """A word of a caption that its foil replaces by a false one; both have a synonym."""

    place: Place
    """Its place in the form."""
    true_synonym: str
    """A synonym of the true word."""
    false_synonym: str
    """A synonym of the false word."""
    form: Form
    """The form of the foil."""
    changed: tuple[str, ...]
    """The two names, as a foil's `changed`."""


def _draw_all_attributes(draft: Draft) -> Form | None:
    """Draw two objects with their values of every attribute kind that has several values."""
    form = draft.draw_tested_pair()
    if form is None:
        return None
    objects = []
    for mention in form.objects:
        # Captions name unique objects, so the category finds the object.
        obj = draft.facts.categories.index(str(mention.category))
        for kind, known_values in draft.vocabulary.attributes.items():
            if len(known_values) > 1:
                mention = mention.with_value(kind, draft.facts.values[obj][kind])
        objects.append(mention)
    return form._replace(objects=tuple(objects))


def _draw_false_word(draft: Draft, form: Form) -> FalseWord | None:
    """A random word of the caption, and a false one in its place; None if no foil is as familiar as
    the caption."""
    options: list[tuple[Atom, str]] = []
    for atom in draft.substitutes.atoms(form):
        used = {mention.values.get(atom.kind) for mention in form.objects}
        for value in draft.substitutes.alternatives(form, atom, draft.facts):
            # A value of the other object would make the foil an exchange, which is a kind of its
            # own.
            if value not in used and synonyms(atom.kind, value, draft.vocabulary):
                options.append((atom, value))
    words = {word.place: word for word in words_of(form, draft.vocabulary)}
    for atom, value in draft.stream.shuffled(options):
        place = (atom.place, atom.kind)
        if place not in words or place not in _single_places(draft, form):
            continue
        word = words[place]
        true_synonym = draft.pick(synonyms(word.kind, word.name, draft.vocabulary))
        false_synonym = draft.pick(synonyms(atom.kind, value, draft.vocabulary))
        foil = draft.foils.replace_atom(form, atom, value)
        if true_synonym and false_synonym and draft.accepts(foil.form, form):
            return FalseWord(place, true_synonym, false_synonym, foil.form, foil.changed)
    return None


def _draw_synonyms(
    draft: Draft, form: Form, *, number: int, without: Place
) -> list[tuple[Place, str]] | None:
    """Synonyms for `number` random words, none of them at the place `without`; None if too few
    words have one."""
    places = [place for place in _single_places(draft, form) if place != without]
    if len(places) < number:
        return None
    words = {word.place: word for word in words_of(form, draft.vocabulary)}
    wording = []
    for place in draft.stream.sample(places, number):
        word = words[place]
        synonym = draft.pick(synonyms(word.kind, word.name, draft.vocabulary))
        wording.append((place, synonym or word.name))
    return wording


def _single_places(draft: Draft, form: Form) -> list[Place]:
    """The places of words that have a synonym and occur once: a caption calls one thing by one
    name, so a word that occurs twice would be two edits."""
    places_of: dict[tuple[str, str], list[Place]] = {}
    for word in words_of(form, draft.vocabulary):
        if synonyms(word.kind, word.name, draft.vocabulary):
            places_of.setdefault((word.kind, word.name), []).append(word.place)
    single = []
    for _, places in sorted(places_of.items()):
        if len(places) == 1:
            single += places
    return single
