"""Two images, two captions (protocols, section 6; Winoground, Thrush et al. 2022)."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.comparison import beats, best
from evaluator.protocols.items import INCOMPLETE, Items
from evaluator.protocols.outcomes import Measured, Outcome, tabulate

Comparison = tuple[np.ndarray, np.ndarray]


def measure(items: Items) -> Measured:
    """Text, image and group scores by kind. Chance 1/4, 1/4, 1/6.

    Slot k holds caption k: with its own image k (true) and with the other image (false).
    """
    masks = [[(items.slot == k) & mask for k in "01"] for mask in (items.truth, items.false)]
    whole = np.all([mask.any(axis=1) for of_truth in masks for mask in of_truth], axis=0)
    items = replace(items, unscored=np.where(whole | ~items.scored, items.unscored, INCOMPLETE))
    own, other = ([best(items.scores, mask) for mask in of_truth] for of_truth in masks)
    text = [(own[0], other[1]), (own[1], other[0])]  # of one image, its caption against the other's
    image = [(own[0], other[0]), (own[1], other[1])]  # of one caption, its image against the other
    outcomes = [_all("text", 1 / 4, text), _all("image", 1 / 4, image), _all("group", 1 / 6, text + image)]
    return Measured(items, outcomes, tabulate(items, outcomes, ["kind"]))


def _all(metric: str, chance: float, pairs: list[Comparison]) -> Outcome:
    """Whether the first of every pair of scores beats the second; a tie decides where none loses."""
    with np.errstate(invalid="ignore"):
        won = np.all([beats(a, b) for a, b in pairs], axis=0)
        lost = np.any([beats(b, a) for a, b in pairs], axis=0)
    return Outcome(metric, won.astype(float), ~won & ~lost, np.full(len(won), chance))
