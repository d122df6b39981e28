"""Training texts: the items of the protocol `train`, over the scenes of the split `train`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocols.protocol import Protocol
from generator.describe.training.captions import Captions
from generator.describe.training.denials import Caption
from generator.describe.training.least_used import LeastUsed
from generator.describe.training.negatives import NEGATIVES, Negatives
from generator.describe.training.positives import POSITIVES, Positives
from generator.describe.training.statistics import MeasuredCaptions, Statistics
from generator.describe.training.wording import Dialect
from generator.language.complexity import Cell
from generator.language.form import Form
from generator.language.grammar import NATURAL, TEMPLATES

KINDS = ("plain", "relations", "graded", "synonyms")
"""The kinds of training captions that are written by default."""
STATISTICS = "statistics"
"""The kind of captions of known density, completeness and saliency."""
_NEGATED = "not-true"
_FIXED = ("a-and-a", "there-is", "clauses", "that-is", "photo", "this-photo", "in-image")
"""Templates that evaluation uses whichever is requested, beside that of a caption denied as a whole."""


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
