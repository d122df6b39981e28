"""Training texts: the items of the protocol `train` over the scenes of the split `train`
(docs/language.md), with negatives, denials, and positives of the same meaning.

"Not" is equally frequent in true and in false texts: a caption without a denial has a negative with
a denial, and a caption with a denial has a negative without it. The denial is of one atom or of the
whole caption. All four cases are equally frequent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.describe.statistics import CaptionStatistics, MeasuredCaptions
from generator.language.complexity import Cell, LeastUsed, Quota
from generator.language.foils import WHOLE, Atom, Foil, denial_of
from generator.language.form import Form, merge_equal_mentions
from generator.language.templates import NEGATED
from generator.language.wording import Dialect, rephrase, use_converse
from generator.vocabulary.schema import Vocabulary

NEGATIVES = ("swap", "replace", "flip", "neg")
"""The kinds of negatives. `neg` belongs to captions that may deny something."""
POSITIVES = ("swap", "replace", "converse")
"""The kinds of positives."""


def swaps(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-SWAP: exchange values or categories of two objects, or move an attribute."""
    pairs = list(combinations(draft.foils.exchangeable(form), 2))
    for i, j in draft.stream.shuffled(pairs):
        swaps_of_pair = list(draft.foils.pair_swaps(form, i, j))
        yield from draft.stream.shuffled(swaps_of_pair)


def replacements(draft: Draft, form: Form) -> Iterator[Foil]:
    """HN-ATOM: replace one atom; a relation never by its opposite, which is a flip.

    A category that several objects have is not replaced: its substitute is not in the scene, so
    negatives would repeat fewer categories than captions.
    """
    for atom in draft.stream.shuffled(draft.substitutes.atoms(form)):
        own = draft.substitutes.value(form, atom)
        if atom.type == "object" and draft.facts.categories.count(own) > 1:
            continue
        opposite = None
        if atom.type == "relation":
            opposite = draft.vocabulary.relations[own].opposite
        values = draft.substitutes.alternatives(form, atom, draft.facts)
        for value in draft.stream.shuffled(values):
            if value != opposite:
                yield draft.foils.replace_atom(form, atom, value, "replace")


def flips(draft: Draft, form: Form) -> Iterator[Foil]:
    """Replace a relation by its opposite."""
    asserted_places = [place for place, link in enumerate(form.relations) if link.holds]
    for place in draft.stream.shuffled(asserted_places):
        yield draft.foils.flip_relation(form, place)


FOILS_BY_KIND: dict[str, Callable[[Draft, Form], Iterator[Foil]]] = {
    "swap": swaps,
    "replace": replacements,
    "flip": flips,
}
"""By kind of negative, the function that yields candidates in random order."""


class Caption(NamedTuple):
    """A caption of a training item."""

    form: Form
    """Its meaning."""
    denial: Foil | None = None
    """The negative that differs from it by a denial (kind `neg`); None for captions that get
    none."""


def asserted(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies an atom."""
    for atom in draft.stream.shuffled(_deniable(draft, form)):
        value = draft.substitutes.value(form, atom)
        change = denial_of(atom, value, taken_back=False)
        denial = Foil(draft.foils.deny(form, atom), (change,), "neg")
        yield Caption(form, denial)


def denied(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form with a false atom that is denied; the negative asserts this atom."""
    for atom, value, false_form in _falsify(draft, form, _deniable(draft, form)):
        change = denial_of(atom, value, taken_back=True)
        assertion = Foil(false_form, (change,), "neg")
        yield Caption(draft.foils.deny(false_form, atom), assertion)


def asserted_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form itself; the negative denies all of it."""
    denial = Foil(form._replace(negated=True), (WHOLE,), "neg")
    yield Caption(form, denial)


def denied_whole(draft: Draft, form: Form) -> Iterator[Caption]:
    """The form with a false atom, denied as a whole; the negative asserts the whole."""
    for _, _, false_form in _falsify(draft, form, draft.substitutes.atoms(form)):
        assertion = Foil(false_form, (WHOLE,), "neg")
        yield Caption(false_form._replace(negated=True), assertion)


def _deniable(draft: Draft, form: Form) -> list[Atom]:
    """The atoms that can be denied; an object only if it is the last, because elsewhere "and no
    cube" is ambiguous."""
    last = len(form.objects) - 1
    deniable = []
    for atom in draft.foils.deniable(form):
        if atom.type != "object" or atom.place == last:
            deniable.append(atom)
    return deniable


def _falsify(draft: Draft, form: Form, atoms: list[Atom]) -> Iterator[tuple[Atom, str, Form]]:
    """Yield atoms in random order, each with a false value and the form with this value."""
    for atom in draft.stream.shuffled(atoms):
        value = draft.draw_false_value(form, atom)
        if value:
            yield atom, value, draft.foils.replace_atom(form, atom, value).form


def paraphrase(
    kind: str,
    caption: Text,
    vocabulary: Vocabulary,
    *,
    dialect: Dialect | None,
    used: LeastUsed,
    stream: Stream,
) -> Text | None:
    """Say the same as a caption in other words, in its template.

    Args:
        kind: exchange two phrases (`swap`), replace a word by a synonym (`replace`), or replace a
            relation by its converse (`converse`).
        caption: the caption.
        vocabulary: of the world.
        dialect: the dialect of the caption; None for the usual words.
        used: counts synonyms over all items.
        stream: the random numbers.

    Returns:
        The text; None if that is not possible.
    """
    form = caption.form
    if kind == "replace":
        wording = rephrase(form, caption.wording, vocabulary=vocabulary, used=used, stream=stream)
        return None if wording is None else caption._replace(wording=wording)
    if kind == "swap":
        # A denied object such as "and no cube" stays at the end.
        present = [place for place, mention in enumerate(form.objects) if mention.count]
        pairs = list(combinations(present, 2))
        if form.relations or not pairs:
            return None
        first, second = pairs[stream.below(len(pairs))]
        other_form = form.reordered(first, second)
    else:
        reversible = []
        for place, link in enumerate(form.relations):
            if vocabulary.relations[link.relation].converse is not None:
                reversible.append(place)
        if not reversible:
            return None
        place = reversible[stream.below(len(reversible))]
        other_form = use_converse(form, place, vocabulary)
    wording = dialect.wording(other_form) if dialect else ()
    return Text(other_form, caption.template, wording)


KINDS = ("plain", "relations", "graded", "synonyms")
"""The kinds of training captions that are written by default."""
STATISTICS = "statistics"
"""The kind of captions with requested density, completeness and saliency."""
_EVALUATION_TEMPLATES = (
    "a-and-a",
    "there-is",
    "clauses",
    "that-is",
    "photo",
    "this-photo",
    "in-image",
)
"""Templates that evaluation uses regardless of the requested template, in addition to NEGATED."""
_CAPTIONS_BY_WAY: dict[str, Callable[[Draft, Form], Iterator[Caption]]] = {
    "asserted": asserted,
    "denied": denied,
    "asserted whole": asserted_whole,
    "denied whole": denied_whole,
}
"""By way of denying, the function that yields captions with their denials in random order."""
_WAYS_OF_ATOMS = ("asserted", "denied")
"""The ways of which the denial is of one atom; only these name an environment."""


class TrainingTexts(Protocol):
    """One item for each caption (slot c), with its negatives (slot n) and its positives (slot p).

    `plain`: all objects with their tested values, in both orders. `relations`: two objects and a
    relation between them. `graded`: a random walk of the least filled complexity, asserted, or with
    a true denial of an atom or of the whole. `synonyms`: a caption of these kinds without denials,
    with synonyms. No text names anything that is held out, not even by synonyms; with
    `exposed_negatives`, negatives may.
    """

    name = "train"

    def __init__(
        self,
        captioner: Captioner,
        cells: Sequence[Cell],
        *,
        kinds: Sequence[str] = KINDS,
        statistics: CaptionStatistics | None = None,
        negatives: Sequence[str] = NEGATIVES,
        positives: Sequence[str] = POSITIVES,
        exposed_negatives: bool = False,
    ):
        """Begin the training texts of a benchmark.

        Args:
            captioner: the language of the benchmark.
            cells: the complexities of graded captions.
            kinds: the kinds of captions.
            statistics: also write captions with these statistics.
            negatives: the kinds of negatives that captions get.
            positives: the kinds of positives that captions get.
            exposed_negatives: whether negatives may name held-out combinations.
        """
        # Foils of training have rules of their own, and are not counted among those of evaluation.
        own_captioner = replace(
            captioner,
            equal_familiarity=True,
            training=True,
            exposed=exposed_negatives,
            refused=Counter(),
        )
        super().__init__(own_captioner)
        self.kinds = (*kinds, STATISTICS) if statistics else tuple(kinds)
        self._negatives = negatives
        self._positives = positives
        self._quota = Quota(cells)
        self._used_ways = LeastUsed()
        self._used_synonyms = LeastUsed()
        self._used_templates = LeastUsed()
        self._named_environments: set[str] = set()
        self._measured = MeasuredCaptions(statistics, captioner.vocabulary) if statistics else None
        draw_by_kind = {
            "plain": self._draw_plain,
            "relations": self._draw_relation,
            "graded": self._draw_graded,
            "synonyms": self._draw_any,
            STATISTICS: self._draw_with_statistics,
        }
        self.recipes = {
            kind: Recipe(draw_by_kind[kind], partial(self._write_items, kind))
            for kind in self.kinds
        }

    def report(self) -> Mapping[str, Any]:
        """How often each complexity of graded captions was filled, and the statistics of captions
        with requested ones."""
        report: dict[str, Any] = {}
        filled_cells = self._quota.to_dict()
        if filled_cells:
            report["graded"] = filled_cells
        if self._measured:
            report |= self._measured.report()
        return report

    def _draw_plain(self, draft: Draft) -> list[Caption]:
        """All objects with their tested values, from left to right and from right to left; one
        caption if both are equal."""
        objects = range(len(draft.facts))
        forms = []
        # Evaluation mentions objects in either order.
        for order in (objects, objects[::-1]):
            form = merge_equal_mentions(draft.name_objects(order, (draft.tested,)))
            if form not in forms:
                forms.append(form)
        return [Caption(form) for form in forms]

    def _draw_relation(self, draft: Draft) -> list[Caption]:
        """Two objects and a relation between them: of the relations that hold in the scene, the
        least used.

        Skips a relation if its opposite is impossible between the two objects, because the text
        alone would reveal the truth.
        """
        pairs_of: dict[str, list[tuple[int, int]]] = {}
        for name, relation in draft.vocabulary.pair_relations.items():
            for i, j in permutations(draft.scene.unique_objects, 2):
                opposite = draft.name_related_pair(i, relation.opposite, j)
                if draft.facts.holds[name][i][j] and draft.foils.is_possible(opposite):
                    pairs_of.setdefault(name, []).append((i, j))
        if not pairs_of:
            return []
        # Relations differ in how often they hold, but each is named equally often.
        name = self._used_ways.pick(list(pairs_of), draft.stream)
        pairs = pairs_of[name]
        i, j = pairs[draft.stream.below(len(pairs))]
        return [Caption(draft.name_related_pair(i, name, j))]

    def _draw_walk(self, draft: Draft) -> list[Caption]:
        """A random walk of the least filled complexity."""

        def draw_caption_of_cell(cell: Cell) -> list[Caption]:
            form = draft.walk(cell)
            return [Caption(form)] if form else []

        return self._quota.fill(len(draft.scene.unique_objects), draw_caption_of_cell)

    def _draw_graded(self, draft: Draft) -> list[Caption]:
        """A random walk in one of four ways, which are equally frequent. Half of the captions
        `asserted` and `denied` name the environment; a new environment is always named."""
        walked = self._draw_walk(draft)
        if not walked:
            return []
        form = walked[0].form
        environment = draft.facts.environment
        is_new = environment is not None and environment not in self._named_environments
        ways = _WAYS_OF_ATOMS if is_new else tuple(_CAPTIONS_BY_WAY)
        way = self._used_ways.pick(ways, draft.stream)
        may_name_environment = environment is not None and way in _WAYS_OF_ATOMS
        # Nothing is drawn where the environment is named in any case, or in none.
        if may_name_environment and (is_new or draft.stream.below(2)):
            self._named_environments.add(str(environment))
            form = form._replace(environment=environment)

        # Not every caption can be denied in every way: it is then asserted with a denial as its
        # negative, or else without one.
        for captions_of_way in (_CAPTIONS_BY_WAY[way], asserted):
            for caption in captions_of_way(draft, form):
                if self._may_be_written(draft, caption):
                    return [caption]
        return [Caption(form)]

    def _may_be_written(self, draft: Draft, caption: Caption) -> bool:
        """Whether a caption is true, its denial false, and training may show both."""
        form, denial = caption
        return (
            denial is not None
            and draft.scene.decide(form) is True
            and self.captioner.may_be_shown(form)
            and draft.foils.is_possible(form)
            and draft.accepts(denial.form, form)
        )

    def _draw_any(self, draft: Draft) -> list[Caption]:
        """A caption of one of the other kinds, without denials."""
        draw_by_way = {
            "any plain": self._draw_plain,
            "any relation": self._draw_relation,
            "any graded": self._draw_walk,
        }
        way = self._used_ways.pick(list(draw_by_way), draft.stream)
        captions = draw_by_way[way](draft) or self._draw_plain(draft)
        return captions[:1]

    def _draw_with_statistics(self, draft: Draft) -> list[Caption]:
        if self._measured is None:
            return []
        return [Caption(self._measured.draw(draft.scene, draft.stream))]

    def _write_items(self, kind: str, draft: Draft, captions: list[Caption]) -> Iterator[Item]:
        for caption in captions:
            yield self._make_item(kind, draft, caption)

    def _make_item(self, kind: str, draft: Draft, caption: Caption) -> Item:
        """Make the item of a caption, with its negatives and positives."""
        form, denial = caption

        # What the negatives say.
        foils: list[Foil] = []
        for negative in self._negatives:
            # A caption that is denied as a whole has the denial as its only negative.
            if negative in FOILS_BY_KIND and not form.negated:
                possible = FOILS_BY_KIND[negative](draft, form)
                foils += draft.select_foils(possible, form)
        if denial is not None and "neg" in self._negatives:
            foils.append(denial)

        # One template and one dialect for all texts of the item, so that words do not tell which is
        # true.
        dialect = None
        if kind == "synonyms":
            dialect = Dialect(draft.vocabulary, self._used_synonyms, draft.stream)
        forms = [form, *(foil.form for foil in foils)]
        template = self._draw_template(kind, forms, draft.stream)

        def make_text(of_form: Form) -> Text:
            wording = dialect.wording(of_form) if dialect else ()
            template_of_form = NEGATED if of_form.negated else template
            return Text(of_form, template_of_form, wording)

        true_text = make_text(form)
        candidates = [Candidate(true_text, "c", True)]
        for foil in foils:
            text = make_text(foil.form)
            candidates.append(Candidate(text, "n", False, foil.kind, foil.changed, true_text))
        for positive in self._positives:
            other = paraphrase(
                positive,
                true_text,
                draft.vocabulary,
                dialect=dialect,
                used=self._used_synonyms,
                stream=draft.stream,
            )
            if other is not None and self._is_positive(other, true_text, draft):
                candidates.append(Candidate(other, "p", True, positive, (), true_text))
        return Item(self.name, kind, None, tuple(candidates))

    def _is_positive(self, other: Text, caption: Text, draft: Draft) -> bool:
        """Whether a paraphrase differs from its caption, can be said, and is true."""
        return (
            other != caption
            and self.captioner.grammar.fits(other.template, other.form)
            and draft.scene.decide(other.form) is True
        )

    def _draw_template(self, kind: str, forms: Sequence[Form], stream: Stream) -> str:
        """Draw the template of an item.

        Args:
            kind: the kind of caption. Graded captions take the least used template that can say all
                forms, others a random one.
            forms: the forms of the item.
            stream: the random numbers.

        Returns:
            The requested template or one of `natural`; for graded captions also one that evaluation
            uses. If the requested template cannot say the forms, one of `natural`.
        """
        grammar = self.captioner.grammar
        names = list(grammar.natural)
        if self.captioner.template:
            names = [self.captioner.template]
        if kind == "graded":
            names += _EVALUATION_TEMPLATES
        # A form that is denied as a whole has the template NEGATED.
        undenied = [form for form in forms if not form.negated]
        for among in (names, grammar.natural):
            fitting = []
            for name in dict.fromkeys(among):
                if all(grammar.fits(name, form) for form in undenied):
                    fitting.append(name)
            if fitting and kind == "graded":
                return self._used_templates.pick(fitting, stream)
            if fitting:
                return fitting[stream.below(len(fitting))]
        raise AssertionError(f"no template says {undenied}")
