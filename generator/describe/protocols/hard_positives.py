"""Hard positives: another true way of saying a caption, and a foil (Hard Positives, 2024; protocols.md, section 5)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound, related_pair, tested_pair
from generator.language.foils import Atom
from generator.language.form import Form, Link
from generator.language.grammar import Place

KINDS = ("replace", "swap", "converse", "swap-matched", "converse-matched", "replace+swap", "replace+converse")
_PLAIN = ("a-and-a", "there-is", "there-is-each", "that-is", "clauses", "there-is-that")
Wording = tuple[tuple[Place, str], ...]


class HardPositives:
    """Triples: a caption c, a hard positive p and a foil n.

    `replace`: one word becomes a synonym; `swap`: two phrases change place; `converse`: a relation is said from its
    other end; and combinations. In `swap` and `converse` the foil is the published one (attributes exchanged, relation
    flipped); in all others it is as many edits from the caption as the hard positive is, a word or phrase of the
    vocabulary counting as one. Which of c and p has the synonym, and whether n has one of its own, is drawn by chance,
    so that a synonym says nothing about the truth.
    """

    name = "hard_positives"

    def __init__(self, language: Language, kinds: Sequence[str] = KINDS):
        self._language, self._kinds = language, kinds
        self._category = language.vocabulary.category

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        for kind in self._kinds:
            asked: list[tuple[str, str]] = [(kind, "relation" if "converse" in kind else "attribute")]
            if kind == "replace":
                asked = [(kind, skill) for skill in ("object", "attribute", "relation")]
            for _, skill in asked:
                made = self._make(kind, skill, subject, stream)
                yield from self._language.kept(f"{self.name} {kind} {skill}", made)

    def _make(self, kind: str, skill: str, subject: Subject, stream: Stream) -> Item | None:
        form = self._caption(skill, subject, stream)
        if form is None:
            return None
        wording: Wording = ()
        if "replace" in kind:
            found = self._synonym(form, "object" if kind != "replace" and skill == "relation" else skill, stream)
            if found is None:
                return None
            wording = found
        said, other = (wording, ()) if stream.below(2) else ((), wording)
        positive, turned = self._rearranged(form, other, kind)
        style = self._language.style([form, positive], stream, _PLAIN)
        if style is None:
            return None
        texts = Text(form, style, said), Text(positive, style, turned)
        if kind in ("swap", "converse"):
            foil = self._published(texts, kind, subject)
        else:
            places = self._rearranged(form, wording, kind)[1]
            foil = self._matched(texts, {place for place, _ in places}, subject, stream)
        if foil is None:
            return None
        p = Candidate(texts[1], "p", True)
        return Item(self.name, kind, skill, (Candidate(texts[0], "c", True), foil, p))

    def _caption(self, skill: str, subject: Subject, stream: Stream) -> Form | None:
        tested = self._language.holdout.kind
        if skill == "relation":
            return related_pair(self._language, subject, stream)
        pair = tested_pair(subject, tested, stream)
        if pair is None:
            return None
        return bound(subject, pair if stream.below(2) else pair[::-1], (tested,))

    def _synonym(self, form: Form, skill: str, stream: Stream) -> Wording | None:
        """One word of the form in another wording."""
        vocabulary, options = self._language.vocabulary, []
        for i, mention in enumerate(form.objects):
            if skill == "object" and mention.category is not None:
                options += [((i, self._category), word) for word in vocabulary.objects[mention.category].synonyms]
            if skill == "attribute":
                for kind, value in mention.attributes:
                    options += [((i, kind), word) for word in vocabulary.attributes[kind][value].synonyms]
        if skill == "relation":
            for k, link in enumerate(form.relations):
                options += [((k, "relation"), word) for word in vocabulary.relations[link.relation].synonyms]
        return (options[stream.below(len(options))],) if options else None

    def _rearranged(self, form: Form, wording: Wording, kind: str) -> tuple[Form, Wording]:
        """The form with its two objects in the other order, or its relation said from the other end; synonyms go along."""
        if "swap" not in kind and "converse" not in kind:
            return form, wording
        back = tuple(((1 - place, name), word) for (place, name), word in wording)
        turned = replace(form, objects=form.objects[::-1])
        if "converse" in kind:
            converse = self._language.vocabulary.relations[form.relations[0].relation].converse
            turned = replace(turned, relations=(Link(0, converse, 1),))
        return turned, back

    def _published(self, texts: tuple[Text, Text], kind: str, subject: Subject) -> Candidate | None:
        caption = texts[0]
        if kind == "swap":
            foil = self._language.foils.exchanged(caption.form, self._language.holdout.kind)
        else:
            foil = self._language.foils.flipped(caption.form, 0)
        if not self._language.admits(caption.form, foil.form, subject):
            return None
        return Candidate(Text(foil.form, caption.template), "n", False, foil.kind, foil.changed, caption)

    def _matched(
        self, texts: tuple[Text, Text], places: set[Place], subject: Subject, stream: Stream
    ) -> Candidate | None:
        """The hard positive with one of its words falsified, so that it is as far from the caption.

        Where a synonym was used the falsified word is that one, and the foil comes from the values that have synonyms
        too: in the changed scene it could be the truth.
        """
        language, (caption, positive) = self._language, texts
        said = self._tokens(caption)
        distance = word_edits(said, self._tokens(positive))
        atoms = [
            atom for atom in language.foils.atoms(positive.form) if not places or (atom.place, atom.kind) in places
        ]
        options = [
            (atom, value) for atom in atoms for value in self._values(atom, positive.form, subject, bool(places))
        ]
        for atom, value in stream.shuffled(options):
            foil = language.foils.with_atom(positive.form, atom, value)
            place = (atom.place, atom.kind)
            kept = tuple(pair for pair in positive.wording if pair[0] != place)
            words = self._synonyms(atom, value)
            if places and stream.below(2):
                kept += ((place, words[stream.below(len(words))]),)
            text = Text(foil.form, positive.template, kept)
            if word_edits(said, self._tokens(text)) == distance and language.admits(caption.form, foil.form, subject):
                return Candidate(text, "n", False, "matched", foil.changed, caption)
        return None

    def _values(self, atom: Atom, form: Form, subject: Subject, with_synonyms: bool) -> list[str]:
        """Values to falsify an atom with; none that another object of the caption has, since captions repeat none."""
        values = self._language.foils.substitutes(form, atom, subject.facts, ())
        taken = {mention.values.get(atom.kind) for i, mention in enumerate(form.objects) if i != atom.place}
        return [
            value
            for value in values
            if (self._synonyms(atom, value) or not with_synonyms) and (atom.type != "attribute" or value not in taken)
        ]

    def _synonyms(self, atom: Atom, value: str) -> tuple[str, ...]:
        vocabulary = self._language.vocabulary
        if atom.type == "relation":
            return vocabulary.relations[value].synonyms
        return (
            vocabulary.objects[value] if atom.type == "object" else vocabulary.attributes[atom.kind][value]
        ).synonyms

    def _tokens(self, text: Text) -> list[str]:
        return tokens(self._language, text)


def tokens(language: Language, text: Text) -> list[str]:
    """A text cut into words, a phrase of the vocabulary being one, and "an" being "a"."""
    words = language.grammar.realise(text.form, text.template, dict(text.wording))
    phrases = [word for _, word in text.wording]
    phrases += [language.vocabulary.relations[link.relation].phrase for link in text.form.relations]
    for phrase in phrases:
        words = words.replace(phrase, phrase.replace(" ", "_"))
    return ["a" if word.lower() in ("a", "an") else word for word in words.split()]


def word_edits(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein's distance between two sequences of words: insertions, deletions and substitutions.

    >>> word_edits("a red cube".split(), "a crimson cube".split())
    1
    """
    start, a, b = 0, list(first), list(second)
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a.pop()
        b.pop()
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, 1):
        row, above = [i], row
        for j, other in enumerate(b, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (word != other)))
    return row[-1]
