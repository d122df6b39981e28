"""Hard positives: another true way of saying a caption, and a foil (Hard Positives, 2024; protocols.md, section 5)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from generator.describe.captioner import Captioner, Draft
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.language.foils import Atom
from generator.language.form import Form, Link
from generator.language.grammar import Place
from generator.language.wording import Wording, synonyms, words_of

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
        self._published = synonym == "positive"
        asked = [("replace", skill) for skill in ("object", "attribute", "relation")]
        asked += [(kind, "relation" if "converse" in kind else "attribute") for kind in self.kinds[1:]]
        self.recipes = {
            f"{kind} {skill}": Recipe(
                Draft.related_pair if skill == "relation" else Draft.tested_pair, partial(self._triple, kind, skill)
            )
            for kind, skill in asked
        }
        self.select(kinds)

    def _triple(self, kind: str, skill: str, draft: Draft, form: Form) -> Iterator[Item]:
        wording: Wording = ()
        if "replace" in kind:
            wording = _synonym(draft, form, "object" if kind == "replace+converse" else skill)
            if not wording:
                return
        caption_wording, other = ((), wording) if self._published or not draft.stream.below(2) else (wording, ())
        positive, positive_wording = _rearranged(draft, form, other, kind)
        template = draft.captioner.draw_template([form, positive], draft.stream, _TEMPLATES)
        if template is None:
            return
        caption, other_way = Text(form, template, caption_wording), Text(positive, template, positive_wording)
        if kind in ("swap", "converse"):
            foil = _usual_foil(draft, caption, kind)
        else:
            places = {place for place, _ in _rearranged(draft, form, wording, kind)[1]}
            foil = self._matched(draft, caption, other_way, places)
        if foil is not None:
            candidates = (Candidate(caption, "c", True), foil, Candidate(other_way, "p", True))
            yield Item(self.name, kind, skill, candidates)

    def _matched(self, draft: Draft, caption: Text, positive: Text, places: set[Place]) -> Candidate | None:
        """The hard positive with one word replaced by a false one, so that it is equally far from the caption.

        If a synonym was used, its word is the one that is replaced. Where either true text may have it, the foil has a
        value with synonyms too, said in any of its words: in the changed scene the foil could be the truth.
        """
        form, reworded = positive.form, bool(places) and not self._published
        words = tokens(draft.captioner, caption)
        distance = word_edits(words, tokens(draft.captioner, positive))
        atoms = [a for a in draft.substitutes.atoms(form) if not places or (a.place, a.kind) in places]
        options = [(atom, value) for atom in atoms for value in _values(draft, atom, form, reworded)]
        for atom, value in draft.stream.shuffled(options):
            foil, place = draft.foils.replace_atom(form, atom, value), (atom.place, atom.kind)
            wording = tuple(pair for pair in positive.wording if pair[0] != place)
            if reworded and draft.stream.below(2):
                wording += ((place, draft.pick(synonyms(atom.kind, value, draft.vocabulary)) or value),)
            text = Text(foil.form, positive.template, wording)
            if word_edits(words, tokens(draft.captioner, text)) == distance and draft.accepts(foil.form, caption.form):
                return Candidate(text, "n", False, "matched", foil.changed, caption)
        return None


def _synonym(draft: Draft, form: Form, skill: str) -> Wording:
    """A synonym for one random word of the form; empty if no word has one."""
    types = {draft.vocabulary.category: "object", "relation": "relation"}
    option = draft.pick(
        [
            (place, word)
            for place, kind, name in words_of(form, draft.vocabulary)
            if types.get(kind, "attribute") == skill
            for word in synonyms(kind, name, draft.vocabulary)
        ]
    )
    return (option,) if option else ()


def _rearranged(draft: Draft, form: Form, wording: Wording, kind: str) -> tuple[Form, Wording]:
    """The form with its objects in the other order, or its relation said from the other end, and its synonyms' new
    places."""
    if "swap" not in kind and "converse" not in kind:
        return form, wording
    turned = replace(form, objects=form.objects[::-1])
    if "converse" in kind:
        relation = draft.vocabulary.relations[form.relations[0].relation]
        turned = replace(turned, relations=(Link(0, relation.converse, 1),))
    return turned, tuple(((1 - place, name), word) for (place, name), word in wording)


def _usual_foil(draft: Draft, caption: Text, kind: str) -> Candidate | None:
    """The foil as published: attributes exchanged, or the relation flipped."""
    exchanged = kind == "swap"
    foils, form = draft.foils, caption.form
    foil = foils.exchange_values(form, draft.tested) if exchanged else foils.flip_relation(form, 0)
    if not draft.accepts(foil.form, form):
        return None
    return Candidate(Text(foil.form, caption.template), "n", False, foil.kind, foil.changed, caption)


def _values(draft: Draft, atom: Atom, form: Form, with_synonyms: bool) -> list[str]:
    """False values for an atom, without those of other objects of the caption, because captions repeat none."""
    taken = {mention.values.get(atom.kind) for i, mention in enumerate(form.objects) if i != atom.place}
    return [
        value
        for value in draft.substitutes.of(form, atom, draft.facts)
        if (atom.type != "attribute" or value not in taken)
        and (synonyms(atom.kind, value, draft.vocabulary) or not with_synonyms)
    ]


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
    row = list(range(len(second) + 1))
    for i, word in enumerate(first, 1):
        row, above = [i], row
        for j, other in enumerate(second, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (word != other)))
    return row[-1]
