"""The scores that protocols measure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evaluator.protocols.candidates import Candidates
from evaluator.protocols.comparison import TOLERANCE
from evaluator.protocols.items import Items
from evaluator.protocols.pool_scores import PoolScores
from evaluator.protocols.pools import Fold, Pool
from evaluator.statistics.intervals import LEVEL
from generator.dataset.reader import Benchmark


@dataclass(frozen=True)
class Scores:
    """The scores of one channel of a run.

    indistinct: text_id → the earlier text_id that the model reads it as. candidates: of the items without a pool. pools:
    of the items that have one. folds: of raw retrieval, by protocol, where the run scored them. matrix: reads the scores
    of a pool or fold, by parts; nan where a sampled pool has none. tolerance: how close scores tie. shown:
    the bindings of each scene, joined by ";". confidence: the level of intervals, 0..1. between_images: the scores of
    another channel, where images are compared by that. partitioned: the splits are partitions by familiarity.
    averages_categories: the authors of the benchmark average over categories.
    """

    benchmark: Benchmark
    indistinct: Mapping[str, str]
    candidates: Candidates
    pools: Sequence[Pool]
    folds: Mapping[str, Sequence[Fold]]
    matrix: Callable[[Pool], PoolScores]
    tolerance: float = TOLERANCE
    shown: Mapping[str, str] = field(default_factory=dict)
    confidence: float = LEVEL
    between_images: "Scores | None" = None
    partitioned: bool = False
    averages_categories: bool = False

    def items(self, protocol: str) -> Items:
        """The items of a protocol with the scores of their candidates."""
        return self.for_intervals(self.candidates.items(protocol))

    def for_intervals(self, items: Items) -> Items:
        """The items with what rows need: the bindings of their scenes, the level, and whether splits are partitions."""
        names = np.array([self.shown.get(scene, "") for scene in items.scene_id], dtype=object)
        return replace(items, bindings=names, confidence=self.confidence, partitioned=self.partitioned)
