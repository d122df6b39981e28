"""Hard positives: captions with other words and the same meaning (protocols, section 5; Kamath et
al. 2024)."""

from dataclasses import replace

import numpy as np

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import all_won, augmented_accuracy, brittleness
from evaluator.protocols.results import (
    Outcome,
    Protocol,
    ProtocolResults,
    category_means,
    difference,
    kinds_and_skills,
    right,
    tabulate,
)
from evaluator.protocols.scores import Scores

REPLACE, OBJECT = "replace", "object"
BRITTLENESS = "brittleness"


class HardPositives(Protocol):
    """Original and augmented accuracy and their difference, brittleness and mean scores, by kind;
    also by skill if a kind has several.

    `replace` is the mean over items of attributes and relations, as published. Replaced objects are
    a separate kind,
    `replace object`. If the benchmark's authors average over categories: also over all kinds and
    over categories.
    """

    name = "hard_positives"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.requiring(items.has_slots("c", "n", "p"))
        apart = (items.kind == REPLACE) & (items.skill == OBJECT)
        items = replace(items, kind=np.where(apart, f"{REPLACE} {OBJECT}", items.kind))
        c, n, p = (best_score(items.scores, items.slot == slot) for slot in ("c", "n", "p"))
        original = right("original accuracy", 1 / 2, all_won([(c, n)], items.tolerance))
        augmented = right("augmented accuracy", 1 / 3, augmented_accuracy(c, n, p, items.tolerance))
        outcomes = [
            original,
            augmented,
            difference("augmented - original", augmented, original),
            right(BRITTLENESS, 1 / 3, brittleness(c, n, p, items.tolerance)),
        ]
        if items.graded:
            outcomes += [
                _score(f"mean score {slot}", score)
                for slot, score in (("c", c), ("n", n), ("p", p))
            ]
        rows = tabulate(items, outcomes, ["kind"])
        for kind in sorted(set(items.kind.tolist())):
            inside = items.kind == kind
            if len(set(items.skill[inside])) > 1:
                rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False, where=inside)
        if scores.averages_categories:
            rows += tabulate(items, outcomes) + category_means(
                items, outcomes, kinds_and_skills(items)
            )
        return ProtocolResults(items, outcomes, rows)


def _score(metric: str, scores: np.ndarray) -> Outcome:
    """The outcome of scores (n,): any numbers, without ties or chance."""
    n = len(scores)
    return Outcome(
        metric, scores.astype(float), np.zeros(n, dtype=bool), np.full(n, np.nan), "score"
    )
