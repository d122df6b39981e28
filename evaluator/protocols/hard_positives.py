"""Hard positives: captions with other words and the same meaning (protocols, section 5; Kamath et
al. 2024)."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import all_won, augmented_accuracy, brittleness
from evaluator.protocols.outcomes import Outcome, difference, right
from evaluator.protocols.results import (
    Protocol,
    ProtocolResults,
    category_means,
    kinds_and_skills,
    tabulate,
)
from evaluator.protocols.scores import Scores

REPLACE, OBJECT = "replace", "object"
"""A kind of items, and the skill of those of them that get a kind of their own."""
BRITTLENESS = "brittleness"
"""A metric of which less is better."""


class HardPositives(Protocol):
    """Original and augmented accuracy and their difference, brittleness and mean scores, by kind;
    also by skill if a kind has several.

    `replace` is the mean over items of attributes and relations, as published. Replaced objects are
    a separate kind, `replace object`. If the benchmark's authors average over categories: also over
    all kinds and over categories.
    """

    name = "hard_positives"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.requiring(items.has_slots("c", "n", "p"))
        is_replaced_object = (items.kind == REPLACE) & (items.skill == OBJECT)
        kinds = np.where(is_replaced_object, f"{REPLACE} {OBJECT}", items.kind)
        items = replace(items, kind=kinds)

        # Scores of the caption c, its negative n and its hard positive p.
        c = best_score(items.scores, items.slot == "c")
        n = best_score(items.scores, items.slot == "n")
        p = best_score(items.scores, items.slot == "p")
        tolerance = items.rules.tolerance
        original = right("original accuracy", 1 / 2, all_won([(c, n)], tolerance))
        augmented = right("augmented accuracy", 1 / 3, augmented_accuracy(c, n, p, tolerance))
        outcomes = [
            original,
            augmented,
            difference("augmented - original", augmented, original),
            right(BRITTLENESS, 1 / 3, brittleness(c, n, p, tolerance)),
        ]
        # Answers in words have no scores to average.
        if items.graded:
            for slot, slot_scores in (("c", c), ("n", n), ("p", p)):
                outcomes.append(_mean_score(slot, slot_scores))

        rows = tabulate(items, outcomes, ["kind"])
        for kind in sorted(set(items.kind.tolist())):
            is_kind = items.kind == kind
            if len(set(items.skill[is_kind])) > 1:
                rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False, where=is_kind)
        if scores.averages_categories:
            rows += tabulate(items, outcomes)
            rows += category_means(items, outcomes, kinds_and_skills(items))
        return ProtocolResults(items, outcomes, rows)


def _mean_score(slot: str, scores: np.ndarray) -> Outcome:
    """The outcome of the scores (n,) of a slot: any numbers, without ties or chance."""
    n = len(scores)
    return Outcome(
        f"mean score {slot}",
        value=scores.astype(float),
        tie=np.zeros(n, dtype=bool),
        chance=np.full(n, np.nan),
        unit="score",
    )
