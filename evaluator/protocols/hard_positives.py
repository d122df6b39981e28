"""Hard positives: other words, the same meaning (protocols, section 5; Kamath et al. 2024)."""

import numpy as np

from evaluator.protocols.categories import category_means, kinds_and_skills
from evaluator.protocols.comparison import best_score
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.results import Outcome, ProtocolResults, all_won, difference, tabulate
from evaluator.protocols.scores import Scores

REPLACE, OBJECT = "replace", "object"


class HardPositives(Protocol):
    """Original and augmented accuracy and their difference, brittleness and mean scores, by kind; by skill too where a kind has several.

    `replace` is the mean over items of attributes and relations, as published. Objects replaced have rows of their own. Of
    benchmarks whose authors average over categories, over all kinds too, and over categories.
    """

    name = "hard_positives"
    tables = (lazy("evaluator.report.tables.of_protocol:pivot", lines=["kind", "skill", "split"], columns=["metric"]),)

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        c, n, p = (best_score(items.scores, items.slot == slot) for slot in ("c", "n", "p"))
        tolerance = items.tolerance
        between = [all_won("brittleness", 1 / 6, pairs, tolerance) for pairs in ([(c, n), (n, p)], [(p, n), (n, c)])]
        original = all_won("original accuracy", 1 / 2, [(c, n)], tolerance)
        augmented = all_won("augmented accuracy", 1 / 3, [(c, n), (p, n)], tolerance)
        outcomes = [
            original, augmented, difference("augmented - original", augmented, original), _either(*between),
            *(_score(f"mean score {slot}", score) for slot, score in (("c", c), ("n", n), ("p", p))),
        ]  # fmt: skip
        apart = (items.kind == REPLACE) & (items.skill == OBJECT)
        rows = tabulate(items.take(~apart), [outcome.take(~apart) for outcome in outcomes], ["kind"])
        for kind in sorted(set(items.kind.tolist())):
            inside = items.kind == kind
            if len(set(items.skill[inside])) > 1 or apart[inside].any():
                part = [outcome.take(inside) for outcome in outcomes]
                rows += tabulate(items.take(inside), part, ["kind", "skill"], gaps=False)
        if scores.averages_categories:
            rows += tabulate(items, outcomes) + category_means(items, outcomes, kinds_and_skills(items))
        return ProtocolResults(items, outcomes, rows)


def _either(a: Outcome, b: Outcome) -> Outcome:
    """Whether either of two outcomes holds that exclude one another."""
    value = a.value + b.value
    return Outcome(a.metric, value, (a.tie | b.tie) & (value == 0), a.chance + b.chance)


def _score(metric: str, scores: np.ndarray) -> Outcome:
    """A mean score (n,): any number, without ties or chance."""
    n = len(scores)
    return Outcome(metric, scores.astype(float), np.zeros(n, dtype=bool), np.full(n, np.nan), "score")
