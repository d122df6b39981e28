"""Training texts: the items of the protocol `train`, over the scenes of the split `train` (docs/language.md)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.contrasts import (
    MAKE,
    NEGATIVES,
    POSITIVES,
    Caption,
    asserted,
    asserted_whole,
    denied,
    denied_whole,
    positive,
)
from generator.describe.protocol import Protocol, Recipe
from generator.describe.statistics import MeasuredCaptions, Statistics
from generator.language.complexity import Cell, LeastUsed, Quota
from generator.language.form import Form, merge_equal_mentions
from generator.language.grammar import NATURAL, NEGATED, TEMPLATES
from generator.language.wording import Dialect

KINDS = ("plain", "relations", "graded", "synonyms")
"""The kinds of training captions that are written by default."""
STATISTICS = "statistics"
"""The kind of captions of known density, completeness and saliency."""
_FIXED = ("a-and-a", "there-is", "clauses", "that-is", "photo", "this-photo", "in-image")
"""Templates that evaluation uses whichever is requested, beside that of a caption denied as a whole."""
_WAYS: dict[str, Callable[[Draft, Form], Iterator[Caption]]] = {
    "asserted": asserted,
    "denied": denied,
    "asserted whole": asserted_whole,
    "denied whole": denied_whole,
}


class TrainingTexts(Protocol):
    """One item for each caption (slot c), with its negatives (slot n) and its positives (slot p).

    `plain`: all objects with their tested values, in both orders. `relations`: two objects and a relation between them.
    `graded`: a random walk of the least filled complexity, asserted, or with a true denial of an atom or of the whole.
    `synonyms`: one of these without denials, said in synonyms. Nothing that is held out is named in any of them, in any
    words; negatives may with `exposed_negatives`.
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
        """`cells` are the complexities of graded captions. With `statistics` captions that have them are written
        too."""
        own = replace(captioner, equal_familiarity=True, training=True, exposed=exposed_negatives, refused=Counter())
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
        """Every relation of the family about equally often.

        A relation is left out where its opposite is impossible between the two, since its text alone would tell the
        truth.
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
        """Each way is as frequent as the others, and half of the captions without a denial of the whole name the
        environment. Each environment is named as soon as it is shown."""
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
        return [next((caption for caption in captions if self._may_stand(draft, caption)), Caption(form))]

    def _may_stand(self, draft: Draft, caption: Caption) -> bool:
        """Whether a caption is true, its negative false, and both may be shown."""
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
        dialect = Dialect(draft.vocabulary, self._synonyms, draft.stream) if kind == "synonyms" else None
        template = self._template(kind, [form, *(foil.form for foil in foils)], draft.stream)

        def text(form: Form) -> Text:
            return Text(form, NEGATED if form.negated else template, dialect.wording(form) if dialect else ())

        true = text(form)
        candidates = [Candidate(true, "c", True)]
        candidates += [Candidate(text(foil.form), "n", False, foil.kind, foil.changed, true) for foil in foils]
        for way in self._positives:
            said = positive(way, true, draft.vocabulary, dialect, self._synonyms, draft.stream)
            if said and said != true and TEMPLATES[said.template].fits(said.form) and draft.scene.decide(said.form):
                candidates.append(Candidate(said, "p", True, way, (), true))
        return Item(self.name, kind, None, tuple(candidates))

    def _template(self, kind: str, forms: Sequence[Form], stream: Stream) -> str:
        """The template of an item: the requested one, else for graded captions the least used, else a random one.

        Where the requested one cannot say the forms, another is drawn.
        """
        requested = (self.captioner.template,) if self.captioner.template else ()
        among = (*(requested or NATURAL), *(_FIXED if kind == "graded" else ()))
        told = [form for form in forms if not form.negated]
        for names in (among, NATURAL):
            if fitting := [name for name in dict.fromkeys(names) if all(TEMPLATES[name].fits(form) for form in told)]:
                return (
                    self._templates.pick(fitting, stream) if kind == "graded" else fitting[stream.below(len(fitting))]
                )
        raise AssertionError(f"no template says {told}")
