"""Training texts: the items of the protocol `train`, over the scenes of the split `train`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, name_objects
from generator.describe.contrasts import NEGATIVES, POSITIVES, Negatives, Positives
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.describe.statistics import MeasuredCaptions, Statistics
from generator.language.complexity import Cell, ComplexityQuota, LeastUsed
from generator.language.foils import Atom, Foil, Foils, Substitutes
from generator.language.form import Form, Link, merge_equal_mentions
from generator.language.grammar import NATURAL, TEMPLATES
from generator.language.wording import Dialect
from generator.vocabulary.schema import Vocabulary

KINDS = ("plain", "relations", "graded", "synonyms")
"""The kinds of training captions that are written by default."""
STATISTICS = "statistics"
"""The kind of captions of known density, completeness and saliency."""
_NEGATED = "not-true"
_FIXED = ("a-and-a", "there-is", "clauses", "that-is", "photo", "this-photo", "in-image")
"""Templates that evaluation uses whichever is requested, beside that of a caption denied as a whole."""


class Caption(NamedTuple):
    """A caption, and the negative that differs from it by a denial; None where it has none."""

    form: Form
    neg: Foil | None = None


class TrainingTexts(Protocol):
    """One item for each caption (slot c), with its negatives (slot n) and its positives (slot p).

    Nothing that is held out is named in any of them, in any words; negatives may with `exposed_negatives`.
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
        """`cells` are the complexities of graded captions. With `statistics` captions that have them are written too."""
        super().__init__(captioner)
        self.kinds = (*kinds, *((STATISTICS,) if statistics else ()))
        self._with_neg = "neg" in negatives
        self._negatives = Negatives(captioner, negatives, exposed_negatives)
        self._captions = Captions(captioner, cells, self._negatives)
        self._measured = MeasuredCaptions(statistics, captioner.vocabulary) if statistics else None
        self._synonyms, self._templates = LeastUsed(), LeastUsed()
        self._positives = Positives(captioner.vocabulary, positives, self._synonyms)
        self._draw: dict[str, Callable[[DescribedScene, Stream], Iterator[Caption]]] = {
            "plain": self._captions.plain,
            "relations": self._captions.relations,
            "graded": self._captions.graded,
            "synonyms": self._captions.any,
            STATISTICS: self._of_statistics,
        }

    def report(self) -> Mapping[str, Any]:
        graded = {"graded": filled} if (filled := self._captions.filled()) else {}
        return {**graded, **(self._measured.mentioned.to_dict() if self._measured else {})}

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for kind in self.kinds:
            made = [self._item(kind, caption, scene, stream) for caption in self._draw[kind](scene, stream)]
            if not made:
                self.captioner.dropped[f"{self.name} {kind}"] += 1
            yield from made

    def _of_statistics(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        if self._measured is not None:
            yield Caption(self._measured.draw(scene, stream))

    def _item(self, kind: str, caption: Caption, scene: DescribedScene, stream: Stream) -> Item:
        foils = list(self._negatives.of(caption.form, scene, stream))
        if caption.neg is not None and self._with_neg:
            foils.append(caption.neg)
        dialect = Dialect(self.captioner.vocabulary, self._synonyms, stream) if kind == "synonyms" else None
        template = self._template(kind, [caption.form, *(foil.form for foil in foils)], stream)

        def text(form: Form) -> Text:
            return Text(form, _NEGATED if form.negated else template, dialect.wording(form) if dialect else ())

        true = text(caption.form)
        candidates = [Candidate(true, "c", True)]
        candidates += [Candidate(text(foil.form), "n", False, foil.kind, foil.changed, true) for foil in foils]
        for way, positive in self._positives.of(true, dialect, stream):
            if (
                TEMPLATES[positive.template].fits(positive.form)
                and scene.decide(positive.form) is True
                and positive != true
            ):
                candidates.append(Candidate(positive, "p", True, way, (), true))
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


_WAYS = ("asserted", "denied", "asserted whole", "denied whole")


class Captions:
    """Draws the captions of a scene, by kind."""

    def __init__(self, captioner: Captioner, cells: Sequence[Cell], negatives: Negatives):
        self._captioner, self._negatives = captioner, negatives
        self._quota, self._used = ComplexityQuota(cells), LeastUsed()
        self._environments: set[str] = set()
        self._denials = Denials(captioner.vocabulary, negatives.substitutes, negatives.foils)
        vocabulary = captioner.vocabulary
        self._opposites = {name: relation.opposite for name, relation in vocabulary.relations.items()}

    def filled(self) -> dict[str, Any]:
        """How often each cell of complexity was filled."""
        return self._quota.to_dict()

    def plain(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """All objects with their tested values, in both orders."""
        places = range(len(scene.facts))
        forms = (name_objects(scene, order, (self._captioner.holdout.kind,)) for order in (places, places[::-1]))
        yield from map(Caption, dict.fromkeys(map(merge_equal_mentions, forms)))

    def relations(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """Two objects and a relation between them, every relation of the family about equally often.

        A relation is left out where its opposite is impossible between the two, since its text alone would tell the truth.
        """
        facts, unique = scene.facts, scene.unique_objects
        pairs = [(i, j) for i in unique for j in unique if i != j]
        holding: dict[str, list[tuple[int, int]]] = {}
        for name, opposite in self._opposites.items():
            found = [(i, j) for i, j in pairs if facts.holds[name][i][j] and self._possible(scene, i, opposite, j)]
            if found:
                holding[name] = found
        if holding:
            name = self._used.pick(list(holding), stream)
            i, j = holding[name][stream.below(len(holding[name]))]
            yield Caption(_related(scene, i, name, j))

    def graded(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """A random walk of the least filled complexity: asserted, or with a true denial of an atom or of the whole.

        Half of those without a denial of the whole name the environment, and each environment is named as soon as it is shown.
        """
        for caption in self._walked(scene, stream):
            yield self._varied(caption.form, scene, stream)

    def _varied(self, form: Form, scene: DescribedScene, stream: Stream) -> Caption:
        environment = scene.facts.environment
        new = environment is not None and environment not in self._environments
        way = self._used.pick(_WAYS[:2] if new else _WAYS, stream)
        if environment is not None and way in _WAYS[:2] and (new or stream.below(2)):
            self._environments.add(environment)
            form = replace(form, environment=environment)
        denials = self._denials
        ways = {
            "denied": denials.denied,
            "asserted whole": denials.asserted_whole,
            "denied whole": denials.denied_whole,
        }
        for make in (ways.get(way, denials.asserted), denials.asserted):
            for caption in make(form, scene, stream):
                if self._may_stand(caption, scene):
                    return caption
        return Caption(form)

    def any(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """A caption of one of these kinds without denials: what is said in synonyms."""
        ways = {"any plain": self.plain, "any relation": self.relations, "any graded": self._walked}
        for make in (ways[self._used.pick(list(ways), stream)], self.plain):
            for caption in make(scene, stream):
                yield caption
                return

    def _walked(self, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        yield from map(Caption, self._captioner.fill_cell(scene, self._quota, stream, self._walk))

    def _walk(self, scene: DescribedScene, cell: Cell, stream: Stream) -> list[Form]:
        found = self._captioner.walker.walk(scene.facts, cell, scene.unique_objects, stream)
        return [] if found is None else [found.form]

    def _possible(self, scene: DescribedScene, i: int, relation: str, j: int) -> bool:
        return self._negatives.foils.possible(_related(scene, i, relation, j))

    def _may_stand(self, caption: Caption, scene: DescribedScene) -> bool:
        """Whether a caption is true, its negative false, and both may be shown."""
        return (
            caption.neg is not None
            and scene.decide(caption.form) is True
            and self._negatives.may_be_shown(caption.form, truth=True)
            and self._negatives.foils.possible(caption.form)
            and self._negatives.accepts(caption.neg, scene)
        )


def _related(scene: DescribedScene, i: int, relation: str, j: int) -> Form:
    return replace(name_objects(scene, (i, j), ()), relations=(Link(0, relation, 1),))


_WHOLE = "caption:denied"


class Denials:
    """Denies atoms of true forms, or all of a false one."""

    def __init__(self, vocabulary: Vocabulary, substitutes: Substitutes, foils: Foils):
        self._vocabulary, self._substitutes, self._foils = vocabulary, substitutes, foils

    def asserted(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form itself; the negative denies an atom."""
        for atom in stream.shuffled(self._deniable(form)):
            change = _change(atom, self._substitutes.value(form, atom), denied=False)
            yield Caption(form, Foil(self._foils.deny(form, atom), (change,), "neg"))

    def denied(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """A false atom denied; the negative asserts it."""
        for atom, value in self._false(self._deniable(form), form, scene, stream):
            base = self._foils.replace_atom(form, atom, value).form
            yield Caption(self._foils.deny(base, atom), Foil(base, (_change(atom, value, denied=True),), "neg"))

    def asserted_whole(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form itself; the negative denies all of it."""
        yield Caption(form, Foil(replace(form, negated=True), (_WHOLE,), "neg"))

    def denied_whole(self, form: Form, scene: DescribedScene, stream: Stream) -> Iterator[Caption]:
        """The form with a false atom, denied as a whole; the negative asserts it."""
        for atom, value in self._false(self._substitutes.atoms(form), form, scene, stream):
            base = self._foils.replace_atom(form, atom, value).form
            yield Caption(replace(base, negated=True), Foil(base, (_WHOLE,), "neg"))

    def _deniable(self, form: Form) -> list[Atom]:
        """The atoms that can be denied; an object only at the end, where "and no cube" has one reading."""
        last = len(form.objects) - 1
        return [atom for atom in self._foils.deniable(form) if atom.type != "object" or atom.place == last]

    def _false(
        self, atoms: list[Atom], form: Form, scene: DescribedScene, stream: Stream
    ) -> Iterator[tuple[Atom, str]]:
        """Atoms in random order, each with a random value that is not its own."""
        for atom in stream.shuffled(atoms):
            if atom.type == "relation":
                yield atom, self._vocabulary.relations[form.relations[atom.place].relation].opposite
            elif values := self._substitutes.of(form, atom, scene.facts):
                yield atom, values[stream.below(len(values))]


def _change(atom: Atom, value: str, denied: bool) -> str:
    before, after = (f"not {value}", value) if denied else (value, f"not {value}")
    return f"{atom.place}:{atom.kind}:{before}>{after}"
