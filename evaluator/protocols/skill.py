"""Skills: negatives that change atoms of one type only, and the load of each count (protocols, section 4; COMPASS)."""

import numpy as np

from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.outcomes import Measured, Outcome, Row, recall, tabulate
from evaluator.statistics import Fit, clustered_least_squares

ERRORS = "clustered by image (CR1: G/(G-1) * (n-1)/(n-k)); t with G-1 degrees of freedom"
_STARS = ((0.001, "**"), (0.005, "*"))


def measure(items: Items) -> Measured:
    """R@1 by skill and level; how it falls with each count (fits); and R@1 of every combination of counts (cells)."""
    first = recall(items, items.false)
    rows = tabulate(items, [first], ["skill", "level"])
    cells = tabulate(items, [first], ["skill", "level", *COUNTS], gaps=False)
    return Measured(items, [first], rows, _loads(items, first), cells)


def _loads(items: Items, first: Outcome) -> list[Row]:
    """One fit for each split, level and skill: R@1 in percentage points on the counts that vary, and a constant."""
    keys = np.stack([items.split, items.level, items.skill], axis=1).astype(str)
    loads = []
    for split, level, skill in np.unique(keys, axis=0).tolist():
        inside = (keys == [split, level, skill]).all(axis=1) & items.scored
        counts = items.counts[inside]
        varying = [i for i in range(len(COUNTS)) if len(counts) and np.ptp(counts[:, i])]
        labels = {"split": split, "level": level or None, "skill": skill or None, "errors": ERRORS}
        x = np.column_stack([counts[:, varying], np.ones(len(counts))]).astype(float)
        try:
            if not varying:
                raise ValueError("no count varies")
            fit = clustered_least_squares(100 * first.value[inside], x, items.scene_id[inside].astype(str))
        except ValueError as reason:
            loads.append({**labels, "items": len(counts), "clusters": len(set(items.scene_id[inside])), "df": None,
                          "coefficients": {}, "constant": None, "reason": str(reason)})  # fmt: skip
            continue
        loads.append({
            **labels, "items": fit.n_items, "clusters": fit.n_clusters, "df": fit.df,
            "coefficients": {COUNTS[i]: _coefficient(fit, j, COUNTS[i], skill) for j, i in enumerate(varying)},
            "constant": round(float(fit.coefficients[-1]), 4), "reason": None,
        })  # fmt: skip
    return loads


def _coefficient(fit: Fit, j: int, count: str, skill: str) -> Row:
    p = float(fit.p[j])
    return {
        "beta": round(float(fit.coefficients[j]), 4), "error": round(float(fit.errors[j]), 4), "t": round(float(fit.t[j]), 4), "p": p,
        "low": round(float(fit.low[j]), 4), "high": round(float(fit.high[j]), 4),
        "stars": next((stars for level, stars in _STARS if p < level), ""),
        "load": "self" if count == f"n_{skill}s" else "cross",
    }  # fmt: skip
