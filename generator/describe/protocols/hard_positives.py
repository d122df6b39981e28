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
from generator.language.phrases import Wording
from generator.language.wording import synonyms, use_converse, words_of

_TEMPLATES = ("a-and-a", "there-is", "there-is-each", "that-is", "clauses", "there-is-that")


class HardPositives(Protocol):
    """Triples of a caption c, a hard positive p and a foil n.

    `replace`: a word becomes a synonym; attribute kinds are equally frequent. `swap`: two phrases
    change places. `converse`: a relation becomes its converse. The foil of `swap` and `converse` is
    the published one (attributes exchanged, relation flipped). Foils of all other kinds have the
    same number of edits from the caption as the hard positive; a word or phrase of the vocabulary
    counts as one edit.

    `synonym` sets which true text has the synonym. "either": c or p at random, and n may have a
    synonym too, so that synonyms do not reveal the truth. "positive": only p, as published; c and n
    have the usual words.
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
    """The kinds that can be requested."""

    def __init__(
        self,
        captioner: Captioner,
        kinds: Sequence[str] | None = None,
        synonym: Literal["either", "positive"] = "either",
    ):
        """Begin the protocol.

        Args:
            captioner: the language of the benchmark.
            kinds: the kinds to write; by default all.
            synonym: which true text has the synonym.
        """
        super().__init__(captioner)
        self._only_positive = synonym == "positive"
        vocabulary = captioner.vocabulary
        self._kinds_with_synonyms = []
        for kind, values in vocabulary.attributes.items():
            has_synonyms = any(synonyms(kind, value, vocabulary) for value in values)
            if len(values) > 1 and has_synonyms:
                self._kinds_with_synonyms.append(kind)
        """Attribute kinds that captions can tell apart in words and say by synonyms."""
        self._used_kinds = LeastUsed()
        # A word of each type can be replaced; the other kinds change relations or attributes.
        questions = [("replace", skill) for skill in ("object", "attribute", "relation")]
        for kind in self.kinds[1:]:
            questions.append((kind, "relation" if "converse" in kind else "attribute"))
        self.recipes = {}
        for kind, skill in questions:
            draw = self._choose_draw(kind, skill)
            write = partial(self._write_triple, kind, skill)
            self.recipes[f"{kind} {skill}"] = Recipe(draw, write)
        self.select(kinds)

    def _choose_draw(self, kind: str, skill: str) -> Callable[[Draft], Form | None]:
        """The function that draws the captions of a kind and skill."""
        if skill == "relation":
            return Draft.draw_related_pair
        if kind == "replace" and skill == "attribute" and self._kinds_with_synonyms:
            return self._draw_pair_with_attribute
        return Draft.draw_tested_pair

    def _draw_pair_with_attribute(self, draft: Draft) -> Form | None:
        """Draw two objects with their tested values; one of them also with its value of the least
        used kind."""
        form = draft.draw_tested_pair()
        if form is None:
            return None
        kind = self._used_kinds.pick(self._kinds_with_synonyms, draft.stream)
        if kind == draft.tested:
            return form
        place = draft.stream.below(2)
        mention = form.objects[place]
        # Captions name unique objects, so the category finds the object.
        obj = draft.facts.categories.index(str(mention.category))
        objects = list(form.objects)
        objects[place] = mention.with_value(kind, draft.facts.values[obj][kind])
        return form._replace(objects=tuple(objects))

    def _write_triple(self, kind: str, skill: str, draft: Draft, form: Form) -> Iterator[Item]:
        """Write the item of a caption, its hard positive and its foil."""
        # Which text has the synonym.
        wording: Wording = ()
        if "replace" in kind:
            word_type = "object" if kind == "replace+converse" else skill
            wording = _draw_synonym(draft, form, word_type)
            if not wording:
                return
        caption_wording: Wording = ()
        positive_wording = wording
        # Always the hard positive, as published, or either: then synonyms do not mark true texts.
        if not self._only_positive and draft.stream.below(2):
            caption_wording, positive_wording = wording, ()

        # The meaning of the hard positive, said in another order.
        positive_form = form
        if kind != "replace" and form.relations:
            # "On the lion's own left" has no converse.
            if draft.vocabulary.relations[form.relations[0].relation].converse is None:
                return
            positive_form = use_converse(form, 0, draft.vocabulary)
        elif kind != "replace":
            positive_form = form.reordered(0, 1)
        in_other_order = "+" in kind
        if in_other_order:
            positive_wording = _turn_wording(positive_wording)

        template = draft.captioner.draw_template([form, positive_form], draft.stream, _TEMPLATES)
        if template is None:
            return
        caption = Text(form, template, caption_wording)
        positive = Text(positive_form, template, positive_wording)
        if kind in ("swap", "converse"):
            foil = _make_published_foil(draft, caption, kind)
        else:
            word_of_positive = _turn_wording(wording) if in_other_order else wording
            foil = self._draw_matched_foil(
                draft, caption, positive=positive, wording=word_of_positive
            )
        if foil is not None:
            candidates = (Candidate(caption, "c", True), foil, Candidate(positive, "p", True))
            yield Item(self.name, kind, skill, candidates)

    def _draw_matched_foil(
        self, draft: Draft, caption: Text, *, positive: Text, wording: Wording
    ) -> Candidate | None:
        """Draw a foil: the hard positive with one word replaced by a false word that the caption
        lacks.

        It has as many edits from the caption as the hard positive. If a synonym was used, the word
        with the synonym is replaced. If either true text may have it, the false value has synonyms
        too and is said by any of its words: in the changed scene the foil could be the true text.

        Args:
            draft: the work on the scene.
            caption: the caption.
            positive: its hard positive.
            wording: the synonym that one of the two has, with its place in the hard positive; empty
                if none has.

        Returns:
            The candidate; None if no foil is accepted.
        """
        form = positive.form
        synonym_places = [place for place, _ in wording]
        either_may_have_it = bool(wording) and not self._only_positive
        caption_relations = [link.relation for link in caption.form.relations]

        changes: list[tuple[Atom, str]] = []
        for atom in draft.substitutes.atoms(form):
            if synonym_places and (atom.place, atom.kind) not in synonym_places:
                continue
            if not synonym_places and draft.substitutes.value(form, atom) in caption_relations:
                continue
            for value in _false_values(draft, atom, form, with_synonyms=either_may_have_it):
                if value not in caption_relations:
                    changes.append((atom, value))

        # The first that is accepted, in random order.
        for atom, value in draft.stream.shuffled(changes):
            place = (atom.place, atom.kind)
            foil = draft.foils.replace_atom(form, atom, value)
            foil_wording = tuple(pair for pair in positive.wording if pair[0] != place)
            if either_may_have_it and draft.stream.below(2):
                word = draft.pick(synonyms(atom.kind, value, draft.vocabulary)) or value
                foil_wording += ((place, word),)
            if draft.accepts(foil.form, caption.form):
                text = Text(foil.form, positive.template, foil_wording)
                return Candidate(text, "n", False, "matched", foil.changed, caption)
        return None


def _turn_wording(wording: Wording) -> Wording:
    """The wording of a form with two objects after these are mentioned in the other order."""
    turned = []
    for (place, name), word in wording:
        turned.append(((1 - place, name), word))
    return tuple(turned)


def _draw_synonym(draft: Draft, form: Form, word_type: str) -> Wording:
    """Draw a synonym for one random word of the form.

    Args:
        draft: the work on the scene.
        form: the meaning of the caption.
        word_type: "object", "attribute" or "relation". If the form has attributes of another kind
            than the tested one, tested values are no attributes.

    Returns:
        The synonym with its place; empty if no word has a synonym.
    """
    type_of_kind = {draft.vocabulary.category: "object", "relation": "relation"}
    kinds = {kind for mention in form.objects for kind, _ in mention.attributes}
    if len(kinds) > 1:
        type_of_kind[draft.tested] = "tested"
    options = []
    for word in words_of(form, draft.vocabulary):
        if type_of_kind.get(word.kind, "attribute") == word_type:
            for synonym in synonyms(word.kind, word.name, draft.vocabulary):
                options.append((word.place, synonym))
    option = draft.pick(options)
    return (option,) if option else ()


def _make_published_foil(draft: Draft, caption: Text, kind: str) -> Candidate | None:
    """Make the foil as published: attributes exchanged, or the relation flipped; None if it is not
    accepted."""
    form = caption.form
    if kind == "swap":
        foil = draft.foils.exchange_values(form, draft.tested)
    else:
        foil = draft.foils.flip_relation(form, 0)
    if not draft.accepts(foil.form, form):
        return None
    text = Text(foil.form, caption.template)
    return Candidate(text, "n", False, foil.kind, foil.changed, caption)


def _false_values(draft: Draft, atom: Atom, form: Form, *, with_synonyms: bool) -> list[str]:
    """False values for an atom, without values of the caption's other objects, because captions
    repeat no value; `with_synonyms` keeps only values that have synonyms."""
    taken = {
        mention.values.get(atom.kind)
        for place, mention in enumerate(form.objects)
        if place != atom.place
    }
    values = []
    for value in draft.substitutes.alternatives(form, atom, draft.facts):
        if atom.type == "attribute" and value in taken:
            continue
        if with_synonyms and not synonyms(atom.kind, value, draft.vocabulary):
            continue
        values.append(value)
    return values
