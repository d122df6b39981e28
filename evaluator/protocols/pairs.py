"""Two images, two captions (protocols, section 6; Winoground, Thrush et al. 2022)."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import group_score, image_score, text_score
from evaluator.protocols.items import INCOMPLETE
from evaluator.protocols.results import Protocol, ProtocolResults, right, tabulate
from evaluator.protocols.scores import Scores

_METRICS = (("text", 1 / 4, text_score), ("image", 1 / 4, image_score), ("group", 1 / 6, group_score))


class Pairs(Protocol):
    """Text, image and group scores by kind, and over all kinds where there are several. Chance 1/4, 1/4, 1/6.

    Slot k holds caption k: with its own image k (true) and with the other image (false).
    """

    name = "pairs"
    compares_images = True

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        table, complete = np.full((len(items), 2, 2), np.nan, items.scores.dtype), np.ones(len(items), dtype=bool)
        for caption in (0, 1):
            for image in (0, 1):
                mask = (items.slot == str(caption)) & (items.truth if image == caption else items.false)
                table[:, image, caption] = best_score(items.scores, mask)
                complete &= mask.any(axis=1)
        items = replace(items, unscored=np.where(complete | ~items.scored, items.unscored, INCOMPLETE))
        outcomes = [right(name, by_chance, of(table, items.tolerance)) for name, by_chance, of in _METRICS]
        rows = tabulate(items, outcomes) if len(set(items.kind)) > 1 else []
        return ProtocolResults(items, outcomes, rows + tabulate(items, outcomes, ["kind"]))
