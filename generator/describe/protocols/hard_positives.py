"""Hard positives: a true paraphrase of a caption, and a foil (Hard Positives, 2024; protocols.md,
section 5)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.language.complexity import LeastUsed
from generator.language.foils import Atom
from generator.language.form import Form
from generator.language.grammar import Wording
from generator.language.wording import conversely, synonyms, words_of

_TEMPLATES = ("a-and-a", "there-is", "there-is-each", "that-is", "clauses", "there-is-that")


class HardPositives(Protocol):
    """Triples of a caption c, a hard positive p and a foil n.

    `replace`: a word becomes a synonym; attribute kinds are equally frequent. `swap`: two phrases
    change places.
    `converse`: a relation becomes its converse. The foil of `swap` and `converse` is the published
    one (attributes
    exchanged, relation flipped). Foils of all other kinds have the same number of edits from the
    caption as the hard
    positive; a word or phrase of the vocabulary counts as one edit.

    `synonym` sets which true text has the synonym. "either": c or p at random, and n may have a
    synonym too, so that
    synonyms do not reveal the truth. "positive": only p, as published; c and n have the usual
    words.
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
        asked += [
            (kind, "relation" if "converse" in kind else "attribute") for kind in self.kinds[1:]
        ]
        vocabulary = captioner.vocabulary
        self._kinds = [
            kind
            for kind, values in vocabulary.attributes.items()
            if len(values) > 1 and any(synonyms(kind, value, vocabulary) for value in values)
        ]
        self._used = LeastUsed()
        self.recipes = {
            f"{kind} {skill}": Recipe(self._draw(kind, skill), partial(self._triple, kind, skill))
            for kind, skill in asked
        }
        self.select(kinds)

    def _draw(self, kind: str, skill: str) -> Callable[[Draft], Form | None]:
        if skill == "relation":
            return Draft.related_pair
        return (
            self._with_attribute
            if (kind, skill) == ("replace", "attribute") and self._kinds
            else Draft.tested_pair
        )

    def _with_attribute(self, draft: Draft) -> Form | None:
        """Two objects with their tested values; one of them also with its value of the least used
        kind."""
        form = draft.tested_pair()
        if form is None:
            return None
        kind = self._used.pick(self._kinds, draft.stream)
        if kind == draft.tested:
            return form
        place = draft.stream.below(2)
        mention = form.objects[place]
        value = draft.facts.values[draft.facts.categories.index(str(mention.category))][kind]
        objects = list(form.objects)
        objects[place] = mention.with_value(kind, value)
        return form._replace(objects=tuple(objects))

    def _triple(self, kind: str, skill: str, draft: Draft, form: Form) -> Iterator[Item]:
        wording: Wording = ()
        if "replace" in kind:
            wording = _synonym(draft, form, "object" if kind == "replace+converse" else skill)
            if not wording:
                return
        caption_wording, other = (
            ((), wording) if self._published or not draft.stream.below(2) else (wording, ())
        )
        positive = form
        if kind != "replace":
            positive = (
                conversely(form, 0, draft.vocabulary) if form.relations else form.reordered(0, 1)
            )
            other = _turned(other) if "+" in kind else other
        template = draft.captioner.draw_template([form, positive], draft.stream, _TEMPLATES)
        if template is None:
            return
        caption, other_way = Text(form, template, caption_wording), Text(positive, template, other)
        if kind in ("swap", "converse"):
            foil = _usual_foil(draft, caption, kind)
        else:
            foil = self._matched(
                draft, caption, other_way, _turned(wording) if "+" in kind else wording
            )
        if foil is not None:
            candidates = (Candidate(caption, "c", True), foil, Candidate(other_way, "p", True))
            yield Item(self.name, kind, skill, candidates)

    def _matched(
        self, draft: Draft, caption: Text, positive: Text, wording: Wording
    ) -> Candidate | None:
        """A foil: the hard positive with one word replaced by a false word that the caption lacks.

        It has as many edits from the caption as the hard positive. If a synonym was used
        (`wording`), the word with the
        synonym is replaced. If either true text may have it, the false value has synonyms too and
        is said by any of its
        words: in the changed scene the foil could be the true text.
        """
        form, places = positive.form, [place for place, _ in wording]
        reworded = bool(wording) and not self._published
        told = [link.relation for link in caption.form.relations]
        options = [
            (atom, value)
            for atom in draft.substitutes.atoms(form)
            if (
                (atom.place, atom.kind) in places
                if places
                else draft.substitutes.value(form, atom) not in told
            )
            for value in _values(draft, atom, form, reworded)
            if value not in told
        ]
        for atom, value in draft.stream.shuffled(options):
            foil, place = draft.foils.replace_atom(form, atom, value), (atom.place, atom.kind)
            said = tuple(pair for pair in positive.wording if pair[0] != place)
            if reworded and draft.stream.below(2):
                said += (
                    (place, draft.pick(synonyms(atom.kind, value, draft.vocabulary)) or value),
                )
            if draft.accepts(foil.form, caption.form):
                text = Text(foil.form, positive.template, said)
                return Candidate(text, "n", False, "matched", foil.changed, caption)
        return None


def _turned(wording: Wording) -> Wording:
    """The wording of a form with two objects after these are mentioned in the other order."""
    return tuple(((1 - place, name), word) for (place, name), word in wording)


def _synonym(draft: Draft, form: Form, skill: str) -> Wording:
    """A synonym for one random word of the form; empty if no word has a synonym. If the form has
    attributes of another kind than the tested one, tested values get none."""
    types = {draft.vocabulary.category: "object", "relation": "relation"}
    told = {kind for mention in form.objects for kind, _ in mention.attributes}
    if len(told) > 1:
        types[draft.tested] = "tested"
    option = draft.pick(
        [
            (place, word)
            for place, kind, name in words_of(form, draft.vocabulary)
            if types.get(kind, "attribute") == skill
            for word in synonyms(kind, name, draft.vocabulary)
        ]
    )
    return (option,) if option else ()


def _usual_foil(draft: Draft, caption: Text, kind: str) -> Candidate | None:
    """The foil as published: attributes exchanged, or the relation flipped."""
    exchanged = kind == "swap"
    foils, form = draft.foils, caption.form
    foil = foils.exchange_values(form, draft.tested) if exchanged else foils.flip_relation(form, 0)
    if not draft.accepts(foil.form, form):
        return None
    return Candidate(
        Text(foil.form, caption.template), "n", False, foil.kind, foil.changed, caption
    )


def _values(draft: Draft, atom: Atom, form: Form, with_synonyms: bool) -> list[str]:
    """False values for an atom, without values of the caption's other objects, because captions
    repeat no value."""
    taken = {
        mention.values.get(atom.kind) for i, mention in enumerate(form.objects) if i != atom.place
    }
    return [
        value
        for value in draft.substitutes.of(form, atom, draft.facts)
        if (atom.type != "attribute" or value not in taken)
        and (synonyms(atom.kind, value, draft.vocabulary) or not with_synonyms)
    ]
