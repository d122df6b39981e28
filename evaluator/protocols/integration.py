"""Integration: one composed caption against the same atoms one by one (protocols, section 4; COMPASS)."""

import numpy as np

from evaluator.protocols.comparison import beats, best
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, Outcome, difference, recall, tabulate, tabulate_over_n


def measure(items: Items) -> Measured:
    """R@1 composed and decomposed and their gap, by level and number of atoms n, then the unweighted mean over n."""
    composed = recall(items, items.false & (items.slot == "n"), "R@1 composed")
    decomposed = _decomposed(items)
    outcomes = [composed, decomposed, difference("integration gap", decomposed, composed)]
    rows = tabulate_over_n(items, outcomes, ["level"]) + tabulate(items, outcomes, ["level", "n"], gaps=False)
    return Measured(items, outcomes, rows)


def _decomposed(items: Items) -> Outcome:
    """Whether every decomposed caption beats its own negative; chance 2⁻ᴺ."""
    won, not_lost = np.ones((2, len(items)), dtype=bool)
    pairs = np.zeros(len(items))
    for slot in sorted(set(items.slot.ravel().tolist()) - {"", "c", "n"}):
        inside = items.slot == slot
        true, false = best(items.scores, inside & items.truth), best(items.scores, inside & items.false)
        asked = inside.any(axis=1)
        with np.errstate(invalid="ignore"):
            won &= beats(true, false) | ~asked
            not_lost &= ~beats(false, true) | ~asked
        pairs += asked
    return Outcome("R@1 decomposed", won.astype(float), not_lost & ~won, 0.5**pairs)
