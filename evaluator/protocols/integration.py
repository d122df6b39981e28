"""Integration: one composed caption against the same atoms one by one (protocols, section 4; COMPASS)."""

import numpy as np

from evaluator.protocols.comparison import beats, best_score
from evaluator.protocols.items import Items
from evaluator.protocols.protocol import BY_SPLIT, Protocol, lazy
from evaluator.protocols.results import Outcome, ProtocolResults, difference, recall, tabulate, tabulate_over_n
from evaluator.protocols.scores import Scores


class Integration(Protocol):
    """R@1 composed and decomposed and their gap, by level and number of atoms n, and the unweighted mean over n."""

    name = "integration"
    figures = (lazy("evaluator.report.figures:by_complexity"), BY_SPLIT)
    tables = (
        lazy(
            "evaluator.report.tables.of_protocol:pivot",
            lines=["level", "split"],
            columns=["metric"],
            chance="chance of the gap",
        ),
    )

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        composed = recall(items, items.false & (items.slot == "n"), "R@1 composed")
        decomposed = _decomposed(items)
        outcomes = [composed, decomposed, difference("integration gap", decomposed, composed)]
        rows = tabulate_over_n(items, outcomes, ["level"]) + tabulate(items, outcomes, ["level", "n"], gaps=False)
        return ProtocolResults(items, outcomes, rows)


def _decomposed(items: Items) -> Outcome:
    """Whether every decomposed caption beats its own negative; chance 2⁻ᴺ."""
    won, never_lost = np.ones((2, len(items)), dtype=bool)
    pairs = np.zeros(len(items))
    for slot in sorted(set(items.slot.ravel().tolist()) - {"", "c", "n"}):
        inside = items.slot == slot
        true, false = best_score(items.scores, inside & items.truth), best_score(items.scores, inside & items.false)
        has_slot = inside.any(axis=1)
        with np.errstate(invalid="ignore"):
            won &= beats(true, false, items.tolerance) | ~has_slot
            never_lost &= ~beats(false, true, items.tolerance) | ~has_slot
        pairs += has_slot
    return Outcome("R@1 decomposed", won.astype(float), never_lost & ~won, 0.5**pairs)
