"""Hard positives: another true way of saying a caption, and a foil (Hard Positives, 2024; protocols.md, section 5)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, draw_related_pair, draw_tested_pair, name_objects
from generator.describe.items import Candidate, Item, Text, Wording
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.language.foils import Atom
from generator.language.form import Form, Link
from generator.language.grammar import Place

_TEMPLATES = ("a-and-a", "there-is", "there-is-each", "that-is", "clauses", "there-is-that")


class HardPositives(Protocol):
    """Triples of a caption c, a hard positive p and a foil n.

    In `replace` a word becomes a synonym; in `swap` two phrases change places; in `converse` a relation is said from
    its other end. The foil of `swap` and `converse` is the published one (attributes exchanged, relation flipped). The
    foils of all other kinds are as many edits from the caption as the hard positive is; a word or phrase of the
    vocabulary counts as one.

    `synonym` says which of the two true texts has the synonym. "either": c or p by chance, and n may have one too, so
    that a synonym says nothing about the truth. "positive": p alone, as published; c and n are in usual words.
    """

    name = "hard_positives"
    kinds: tuple[str, ...] = (
        "replace",
        "swap",
        "converse",
        "swap-matched",
        "converse-matched",
        "replace+swap",
        "replace+converse",
    )

    def __init__(
        self,
        captioner: Captioner,
        kinds: Sequence[str] | None = None,
        synonym: Literal["either", "positive"] = "either",
    ):
        """`kinds` selects from all kinds; by default all are written."""
        super().__init__(captioner)
        self.kinds = self.chosen_kinds(kinds)
        self._published = synonym == "positive"

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for kind in self.kinds:
            skills = ["relation" if "converse" in kind else "attribute"]
            if kind == "replace":
                skills = ["object", "attribute", "relation"]
            for skill in skills:
                made = self._make(kind, skill, scene, stream)
                yield from self.captioner.item_or_drop(f"{self.name} {kind} {skill}", made)

    def _make(self, kind: str, skill: str, scene: DescribedScene, stream: Stream) -> Item | None:
        form = self._caption(skill, scene, stream)
        if form is None:
            return None
        wording: Wording = ()
        if "replace" in kind:
            found = self._synonym(form, "object" if kind != "replace" and skill == "relation" else skill, stream)
            if found is None:
                return None
            wording = found
        caption_wording, other = ((), wording) if self._published or not stream.below(2) else (wording, ())
        positive, positive_wording = self._rearranged(form, other, kind)
        template = self.captioner.draw_template([form, positive], stream, _TEMPLATES)
        if template is None:
            return None
        texts = Text(form, template, caption_wording), Text(positive, template, positive_wording)
        if kind in ("swap", "converse"):
            foil = self._usual_foil(texts, kind, scene)
        else:
            places = self._rearranged(form, wording, kind)[1]
            foil = self._matched(texts, {place for place, _ in places}, scene, stream)
        if foil is None:
            return None
        p = Candidate(texts[1], "p", True)
        return Item(self.name, kind, skill, (Candidate(texts[0], "c", True), foil, p))

    def _caption(self, skill: str, scene: DescribedScene, stream: Stream) -> Form | None:
        tested = self.captioner.holdout.kind
        if skill == "relation":
            return draw_related_pair(self.captioner, scene, stream)
        pair = draw_tested_pair(scene, tested, stream)
        if pair is None:
            return None
        return name_objects(scene, pair if stream.below(2) else pair[::-1], (tested,))

    def _synonym(self, form: Form, skill: str, stream: Stream) -> Wording | None:
        """A synonym for one random word of the form; None if no word has one."""
        vocabulary, options = self.captioner.vocabulary, []
        for i, mention in enumerate(form.objects):
            if skill == "object" and mention.category is not None:
                options += [
                    ((i, self.captioner.vocabulary.category), word)
                    for word in vocabulary.objects[mention.category].synonyms
                ]
            if skill == "attribute":
                for kind, value in mention.attributes:
                    options += [((i, kind), word) for word in vocabulary.attributes[kind][value].synonyms]
        if skill == "relation":
            for k, link in enumerate(form.relations):
                options += [((k, "relation"), word) for word in vocabulary.relations[link.relation].synonyms]
        return (options[stream.below(len(options))],) if options else None

    def _rearranged(self, form: Form, wording: Wording, kind: str) -> tuple[Form, Wording]:
        """The form with its objects in the other order, or its relation said from the other end, and its synonyms' new places."""
        if "swap" not in kind and "converse" not in kind:
            return form, wording
        back = tuple(((1 - place, name), word) for (place, name), word in wording)
        turned = replace(form, objects=form.objects[::-1])
        if "converse" in kind:
            converse = self.captioner.vocabulary.relations[form.relations[0].relation].converse
            turned = replace(turned, relations=(Link(0, converse, 1),))
        return turned, back

    def _usual_foil(self, texts: tuple[Text, Text], kind: str, scene: DescribedScene) -> Candidate | None:
        caption = texts[0]
        if kind == "swap":
            foil = self.captioner.foils.exchange_values(caption.form, self.captioner.holdout.kind)
        else:
            foil = self.captioner.foils.flip_relation(caption.form, 0)
        if not self.captioner.accepts(foil.form, caption.form, scene):
            return None
        return Candidate(Text(foil.form, caption.template), "n", False, foil.kind, foil.changed, caption)

    def _matched(
        self, texts: tuple[Text, Text], places: set[Place], scene: DescribedScene, stream: Stream
    ) -> Candidate | None:
        """The hard positive with one word replaced by a false one, so that it is equally far from the caption.

        If a synonym was used, its word is the one that is replaced. Where either true text may have it, the foil has a
        value with synonyms too, said in any of its words: in the changed scene the foil could be the truth.
        """
        captioner, (caption, positive) = self.captioner, texts
        words = self._tokens(caption)
        distance = word_edits(words, self._tokens(positive))
        atoms = [
            atom
            for atom in captioner.substitutes.atoms(positive.form)
            if not places or (atom.place, atom.kind) in places
        ]
        reworded = bool(places) and not self._published
        options = [(atom, value) for atom in atoms for value in self._values(atom, positive.form, scene, reworded)]
        for atom, value in stream.shuffled(options):
            foil = captioner.foils.replace_atom(positive.form, atom, value)
            place = (atom.place, atom.kind)
            wording = tuple(pair for pair in positive.wording if pair[0] != place)
            synonyms = self._synonyms(atom, value)
            if reworded and stream.below(2):
                wording += ((place, synonyms[stream.below(len(synonyms))]),)
            text = Text(foil.form, positive.template, wording)
            if word_edits(words, self._tokens(text)) == distance and captioner.accepts(foil.form, caption.form, scene):
                return Candidate(text, "n", False, "matched", foil.changed, caption)
        return None

    def _values(self, atom: Atom, form: Form, scene: DescribedScene, with_synonyms: bool) -> list[str]:
        """False values for an atom, without those of other objects of the caption, because captions repeat none."""
        values = self.captioner.substitutes.of(form, atom, scene.facts)
        taken = {mention.values.get(atom.kind) for i, mention in enumerate(form.objects) if i != atom.place}
        return [
            value
            for value in values
            if (self._synonyms(atom, value) or not with_synonyms) and (atom.type != "attribute" or value not in taken)
        ]

    def _synonyms(self, atom: Atom, value: str) -> tuple[str, ...]:
        vocabulary = self.captioner.vocabulary
        if atom.type == "relation":
            return vocabulary.relations[value].synonyms
        return (
            vocabulary.objects[value] if atom.type == "object" else vocabulary.attributes[atom.kind][value]
        ).synonyms

    def _tokens(self, text: Text) -> list[str]:
        return tokens(self.captioner, text)


def tokens(captioner: Captioner, text: Text) -> list[str]:
    """The words of a text; a phrase of the vocabulary is one word, and "an" counts as "a"."""
    words = captioner.grammar.realise(text.form, text.template, dict(text.wording))
    phrases = [word for _, word in text.wording]
    phrases += [captioner.vocabulary.relations[link.relation].phrase for link in text.form.relations]
    for phrase in phrases:
        words = words.replace(phrase, phrase.replace(" ", "_"))
    return ["a" if word.lower() in ("a", "an") else word for word in words.split()]


def word_edits(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein distance between two sequences of words: insertions, deletions and substitutions.

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
