"""The kinds of training captions (docs/language.md, Training texts)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.captions import name_objects
from generator.describe.complexity_quota import ComplexityQuota
from generator.describe.described_scene import DescribedScene
from generator.describe.training.denials import Caption, Denials
from generator.describe.training.least_used import LeastUsed
from generator.describe.training.negatives import Negatives
from generator.language.complexity import Cell
from generator.language.form import Form, Link, merge_equal_mentions

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
