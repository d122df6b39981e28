"""Two images, two captions (protocols, section 6; Winoground, Thrush et al. 2022)."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.comparison import best_score
from evaluator.protocols.items import INCOMPLETE
from evaluator.protocols.protocol import Protocol
from evaluator.protocols.results import ProtocolResults, all_won, tabulate
from evaluator.protocols.scores import Scores


class Pairs(Protocol):
    """Text, image and group scores by kind, and over all kinds where there are several. Chance 1/4, 1/4, 1/6.

    Slot k holds caption k: with its own image k (true) and with the other image (false).
    """

    name = "pairs"
    compares_images = True

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        masks = [[(items.slot == k) & mask for k in "01"] for mask in (items.truth, items.false)]
        complete = np.all([mask.any(axis=1) for of_truth in masks for mask in of_truth], axis=0)
        items = replace(items, unscored=np.where(complete | ~items.scored, items.unscored, INCOMPLETE))
        own, other = ([best_score(items.scores, mask) for mask in of_truth] for of_truth in masks)
        text = [(own[0], other[1]), (own[1], other[0])]  # of one image, its caption against the other's
        image = [(own[0], other[0]), (own[1], other[1])]  # of one caption, its image against the other
        scored = (("text", 1 / 4, text), ("image", 1 / 4, image), ("group", 1 / 6, text + image))
        outcomes = [all_won(*each, items.tolerance) for each in scored]
        rows = tabulate(items, outcomes) if len(set(items.kind)) > 1 else []
        return ProtocolResults(items, outcomes, rows + tabulate(items, outcomes, ["kind"]))
