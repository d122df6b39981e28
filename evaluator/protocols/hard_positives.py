"""Hard positives: other words, the same meaning (protocols, section 5; Kamath et al. 2024)."""

import numpy as np

from evaluator.protocols.comparison import beats, best
from evaluator.protocols.items import Items
from evaluator.protocols.outcomes import Measured, Outcome, tabulate


def measure(items: Items) -> Measured:
    """Original and augmented accuracy, brittleness and mean scores, by kind; by skill too where a kind has several."""
    c, n, p = (best(items.scores, items.slot == slot) for slot in ("c", "n", "p"))
    total = len(items)
    outcomes = [
        _all("original accuracy", 1 / 2, (c, n)),
        _all("augmented accuracy", 1 / 3, (c, n), (p, n)),
        _either(_all("brittleness", 1 / 6, (c, n), (n, p)), _all("brittleness", 1 / 6, (p, n), (n, c))),
        *(
            Outcome(f"mean score {name}", scores.astype(float), np.zeros(total, dtype=bool), np.full(total, np.nan), "score")
            for name, scores in (("c", c), ("n", n), ("p", p))
        ),
    ]  # fmt: skip
    rows = tabulate(items, outcomes, ["kind"])
    for kind in sorted(set(items.kind.tolist())):
        inside = items.kind == kind
        if len(set(items.skill[inside])) > 1:
            rows += tabulate(items.take(inside), [o.take(inside) for o in outcomes], ["kind", "skill"], gaps=False)
    return Measured(items, outcomes, rows)


def _all(metric: str, chance: float, *pairs: tuple[np.ndarray, np.ndarray]) -> Outcome:
    """Whether the first of every pair of scores beats the second; a tie decides where none loses."""
    with np.errstate(invalid="ignore"):
        won = np.all([beats(a, b) for a, b in pairs], axis=0)
        lost = np.any([beats(b, a) for a, b in pairs], axis=0)
    return Outcome(metric, won.astype(float), ~won & ~lost, np.full(len(won), chance))


def _either(a: Outcome, b: Outcome) -> Outcome:
    """Whether either of two that exclude one another holds."""
    value = a.value + b.value
    return Outcome(a.metric, value, (a.tie | b.tie) & (value == 0), a.chance + b.chance)
