"""Training texts: the items of the protocol `train` over the scenes of the split `train`
(docs/language.md), with negatives, denials, and positives of the same meaning.

"Not" is equally frequent in true and in false texts: a caption without a denial has a negative with
a denial, and a caption with a denial has a negative without it. The denial is of one atom or of the
whole caption. All four cases are equally frequent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any, NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.statistics import MeasuredCaptions, Statistics
from generator.language.complexity import Cell, LeastUsed, Quota
from generator.language.foils import WHOLE, Atom, Foil, denial_of
from generator.language.form import Form, merge_equal_mentions
from generator.language.grammar import NEGATED
from generator.language.wording import Dialect, conversely, rephrased
from generator.vocabulary.schema import Vocabulary

NEGATIVES = ("swap", "replace", "flip", "neg")
"""The kinds of negatives. `neg` belongs to captions that may deny something."""
POSITIVES = ("swap", "replace", "converse")
"""The kinds of positives."""


def swaps(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-SWAP: values or categories of two objects exchanged, or an attribute moved."""
    for i, j in draft.stream.shuffled([*combinations(draft.foils.exchangeable(form), 2)]):
        yield from draft.stream.shuffled([*draft.foils.pair_swaps(form, i, j)])


def replacements(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-ATOM: one atom replaced; a relation never by its opposite, which is a flip.

    A category that several objects have is not replaced: its substitute is not in the scene, so
    negatives would repeat fewer categories than captions.
    """
    for atom in draft.stream.shuffled(draft.substitutes.atoms(form)):
        own = draft.substitutes.value(form, atom)
        if atom.type == "object" and draft.facts.categories.count(own) > 1:
            continue
        for value in draft.stream.shuffled(draft.substitutes.of(form, atom, draft.facts)):
            if atom.type != "relation" or value != draft.vocabulary.relations[own].opposite:
                yield draft.foils.replace_atom(form, atom, value, "replace")


def flips(draft: Draft, form: Form) -> Iterator[Foil]:
    """A relation becomes its opposite."""
    for k in draft.stream.shuffled([k for k, link in enumerate(form.relations) if link.holds]):
        yield draft.foils.flip_relation(form, k)


MAKE: dict[str, Callable[[Draft, Form], Iterator[Foil]]] = {
    "swap": swaps,
    "replace": replacements,
    "flip": flips,
}
"""By kind of negative, the function that yields candidates in random order."""


class Caption(NamedTuple):
    """A caption, and the negative that differs from it by a denial, or None."""

    form: Form
    neg: Foil | None = None


def asserted(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies an atom."""
    for atom in draft.stream.shuffled(_deniable(draft, form)):
        change = denial_of(atom, draft.substitutes.value(form, atom), False)
        yield Caption(form, Foil(draft.foils.deny(form, atom), (change,), "neg"))


def denied(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form with a false atom that is denied; the negative asserts this atom."""
    for atom, value, false in _falsified(draft, form, _deniable(draft, form)):
        yield Caption(
            draft.foils.deny(false, atom), Foil(false, (denial_of(atom, value, True),), "neg")
        )


def asserted_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies all of it."""
    yield Caption(form, Foil(form._replace(negated=True), (WHOLE,), "neg"))


def denied_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form with a false atom, denied as a whole; the negative asserts the whole."""
    for _, _, false in _falsified(draft, form, draft.substitutes.atoms(form)):
        yield Caption(false._replace(negated=True), Foil(false, (WHOLE,), "neg"))


def _deniable(draft: Draft, form: Form) -> list[Atom]:
    """The atoms that can be denied; an object only if it is the last, because elsewhere "and no
    cube" is ambiguous."""
    last = len(form.objects) - 1
    return [
        atom for atom in draft.foils.deniable(form) if atom.type != "object" or atom.place == last
    ]


def _falsified(draft: Draft, form: Form, atoms: list[Atom]) -> Iterator[tuple[Atom, str, Form]]:
    """Atoms in random order, each with a false value and the form with this value."""
    for atom in draft.stream.shuffled(atoms):
        if value := draft.false_value(form, atom):
            yield atom, value, draft.foils.replace_atom(form, atom, value).form


def positive(
    kind: str,
    caption: Text,
    vocabulary: Vocabulary,
    dialect: Dialect | None,
    used: LeastUsed,
    stream: Stream,
) -> Text | None:
    """Paraphrase a caption in its template: exchange two phrases (`swap`), replace a word by a
    synonym (`replace`), or replace a relation by its converse (`converse`); None if that is not
    possible.

    `dialect` is the dialect of the caption; `used` counts synonyms.
    """
    form = caption.form
    if kind == "replace":
        wording = rephrased(form, caption.wording, vocabulary, used, stream)
        return None if wording is None else caption._replace(wording=wording)
    if kind == "swap":
        there = [
            i for i, mention in enumerate(form.objects) if mention.count
        ]  # "and no cube" stays at the end
        pairs = [*combinations(there, 2)]
        if form.relations or not pairs:
            return None
        other = form.reordered(*pairs[stream.below(len(pairs))])
    else:
        if not form.relations:
            return None
        other = conversely(form, stream.below(len(form.relations)), vocabulary)
    return Text(other, caption.template, dialect.wording(other) if dialect else ())


KINDS = ("plain", "relations", "graded", "synonyms")
"""The kinds of training captions that are written by default."""
STATISTICS = "statistics"
"""The kind of captions with requested density, completeness and saliency."""
_FIXED = ("a-and-a", "there-is", "clauses", "that-is", "photo", "this-photo", "in-image")
"""Templates that evaluation uses regardless of the requested template, in addition to NEGATED."""
_WAYS: dict[str, Callable[[Draft, Form], Iterator[Caption]]] = {
    "asserted": asserted,
    "denied": denied,
    "asserted whole": asserted_whole,
    "denied whole": denied_whole,
}


class TrainingTexts(Protocol):
    """One item for each caption (slot c), with its negatives (slot n) and its positives (slot p).

    `plain`: all objects with their tested values, in both orders. `relations`: two objects and a
    relation between them.
    `graded`: a random walk of the least filled complexity, asserted, or with a true denial of an
    atom or of the whole.
    `synonyms`: a caption of these kinds without denials, with synonyms. No text names anything that
    is held out, not
    even by synonyms; with `exposed_negatives`, negatives may.
    """

    name = "train"

    def __init__(
        self,
        captioner: Captioner,
        cells: Sequence[Cell],
        kinds: Sequence[str] = KINDS,
        statistics: Statistics | None = None,
        negatives: Sequence[str] = NEGATIVES,
        positives: Sequence[str] = POSITIVES,
        exposed_negatives: bool = False,
    ):
        """`cells` are the complexities of graded captions. With `statistics`, captions with these
        statistics are written too."""
        own = replace(
            captioner,
            equal_familiarity=True,
            training=True,
            exposed=exposed_negatives,
            refused=Counter(),
        )
        super().__init__(own)
        self.kinds = (*kinds, *((STATISTICS,) if statistics else ()))
        self._negatives, self._positives = negatives, positives
        self._quota = Quota(cells)
        self._ways, self._synonyms, self._templates = LeastUsed(), LeastUsed(), LeastUsed()
        self._environments: set[str] = set()
        self._measured = MeasuredCaptions(statistics, captioner.vocabulary) if statistics else None
        draw = {
            "plain": self._plain,
            "relations": self._relation,
            "graded": self._graded,
            "synonyms": self._any,
            STATISTICS: self._of_statistics,
        }
        self.recipes = {kind: Recipe(draw[kind], self._writer(kind)) for kind in self.kinds}

    def report(self) -> Mapping[str, Any]:
        graded = {"graded": filled} if (filled := self._quota.to_dict()) else {}
        return {**graded, **(self._measured.report() if self._measured else {})}

    def _plain(self, draft: Draft) -> list[Caption]:
        places = range(len(draft.facts))
        forms = (draft.name_objects(order, (draft.tested,)) for order in (places, places[::-1]))
        return [Caption(form) for form in dict.fromkeys(map(merge_equal_mentions, forms))]

    def _relation(self, draft: Draft) -> list[Caption]:
        """Two objects and a relation between them: of the relations that hold in the scene, the
        least used.

        Skips a relation if its opposite is impossible between the two objects, because the text
        alone would reveal the truth.
        """
        holding: dict[str, list[tuple[int, int]]] = {}
        for name, relation in draft.vocabulary.pair_relations.items():
            holds = draft.facts.holds[name]
            found = [
                (i, j)
                for i, j in permutations(draft.scene.unique_objects, 2)
                if holds[i][j] and draft.foils.possible(draft.related(i, relation.opposite, j))
            ]
            if found:
                holding[name] = found
        if not holding:
            return []
        name = self._ways.pick([*holding], draft.stream)
        i, j = holding[name][draft.stream.below(len(holding[name]))]
        return [Caption(draft.related(i, name, j))]

    def _walk(self, draft: Draft) -> list[Caption]:
        def make(cell: Cell) -> list[Caption]:
            form = draft.walk(cell)
            return [Caption(form)] if form else []

        return self._quota.fill(len(draft.scene.unique_objects), make)

    def _graded(self, draft: Draft) -> list[Caption]:
        """All four ways are equally frequent. Half of the captions `asserted` and `denied` name the
        environment; a new environment is always named."""
        walked = self._walk(draft)
        if not walked:
            return []
        form, environment = walked[0].form, draft.facts.environment
        new = environment is not None and environment not in self._environments
        ways = [*_WAYS][:2]
        way = self._ways.pick(ways if new else [*_WAYS], draft.stream)
        if environment is not None and way in ways and (new or draft.stream.below(2)):
            self._environments.add(environment)
            form = form._replace(environment=environment)
        captions = (caption for make in (_WAYS[way], asserted) for caption in make(draft, form))
        return [
            next(
                (caption for caption in captions if self._may_stand(draft, caption)), Caption(form)
            )
        ]

    def _may_stand(self, draft: Draft, caption: Caption) -> bool:
        """Whether a caption is true, its negative false, and training may show both."""
        form, neg = caption
        return (
            neg is not None
            and draft.scene.decide(form) is True
            and self.captioner.may_be_shown(form)
            and draft.foils.possible(form)
            and draft.accepts(neg.form, form)
        )

    def _any(self, draft: Draft) -> list[Caption]:
        draws = {"any plain": self._plain, "any relation": self._relation, "any graded": self._walk}
        way = self._ways.pick([*draws], draft.stream)
        return (draws[way](draft) or self._plain(draft))[:1]

    def _of_statistics(self, draft: Draft) -> list[Caption]:
        return [Caption(self._measured.draw(draft.scene, draft.stream))] if self._measured else []

    def _writer(self, kind: str) -> Callable[[Draft, list[Caption]], Iterator[Item]]:
        return lambda draft, captions: (self._item(kind, draft, caption) for caption in captions)

    def _item(self, kind: str, draft: Draft, caption: Caption) -> Item:
        form, neg = caption
        made = (
            draft.accepted(MAKE[each](draft, form), form)
            for each in self._negatives
            if each in MAKE and not form.negated
        )
        foils = [foil for found in made for foil in found]
        if neg is not None and "neg" in self._negatives:
            foils.append(neg)
        dialect = (
            Dialect(draft.vocabulary, self._synonyms, draft.stream) if kind == "synonyms" else None
        )
        template = self._template(kind, [form, *(foil.form for foil in foils)], draft.stream)

        def text(form: Form) -> Text:
            return Text(
                form,
                NEGATED if form.negated else template,
                dialect.wording(form) if dialect else (),
            )

        true = text(form)
        candidates = [Candidate(true, "c", True)]
        candidates += [
            Candidate(text(foil.form), "n", False, foil.kind, foil.changed, true) for foil in foils
        ]
        for way in self._positives:
            said = positive(way, true, draft.vocabulary, dialect, self._synonyms, draft.stream)
            if (
                said
                and said != true
                and self.captioner.grammar.fits(said.template, said.form)
                and draft.scene.decide(said.form)
            ):
                candidates.append(Candidate(said, "p", True, way, (), true))
        return Item(self.name, kind, None, tuple(candidates))

    def _template(self, kind: str, forms: Sequence[Form], stream: Stream) -> str:
        """The template of an item: the requested one or one of `natural`, for graded captions also
        one of _FIXED.

        Graded captions take the least used template that can say all forms, others a random one. If
        the requested template cannot say them, `natural` is used.
        """
        grammar = self.captioner.grammar
        requested = (self.captioner.template,) if self.captioner.template else ()
        among = (*(requested or grammar.natural), *(_FIXED if kind == "graded" else ()))
        told = [form for form in forms if not form.negated]
        for names in (among, grammar.natural):
            if fitting := [
                name
                for name in dict.fromkeys(names)
                if all(grammar.fits(name, form) for form in told)
            ]:
                return (
                    self._templates.pick(fitting, stream)
                    if kind == "graded"
                    else fitting[stream.below(len(fitting))]
                )
        raise AssertionError(f"no template says {told}")
