"""Skills: negatives that change atoms of one type only, and the load of each count (protocols, section 4; COMPASS)."""

from typing import Any

import numpy as np

from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.protocol import BY_SPLIT, Protocol, lazy
from evaluator.protocols.results import Outcome, ProtocolResults, Row, recall, tabulate
from evaluator.protocols.scores import Scores
from evaluator.statistics.multiple import holm
from evaluator.statistics.regression import clustered_least_squares

ERRORS = "clustered by image (CR1: G/(G-1) * (n-1)/(n-k)); t with G-1 degrees of freedom"
CORRECTION = "Holm (1979)"
_STARS = ((0.001, "**"), (0.005, "*"))


class Skill(Protocol):
    """R@1 by skill and level; the load of each count (fits); R@1 of every combination of counts (cells)."""

    name = "skill"
    figures = (lazy("evaluator.report.figures:by_count"), BY_SPLIT)
    tables = (lazy("evaluator.tables.of_protocol:by_split"), lazy("evaluator.tables.of_protocol:loads"))

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["skill", "level"])
        cells = tabulate(items, [first], ["skill", "level", *COUNTS], gaps=False)
        return ProtocolResults(items, [first], rows, _loads(items, first), cells)


def _loads(items: Items, first: Outcome) -> list[Row]:
    """One fit for each split, level and skill: R@1 in percentage points on the counts that vary, and a constant.

    `stars` are COMPASS's, of the p-value of each coefficient alone; `stars_corrected` are of p-values corrected over all
    coefficients. A reader takes each star as a claim of its own, and the fits share images, so the correction is Holm's: it
    bounds the chance of any false star, however the tests depend on one another.
    """
    keys = np.stack([items.split, items.level, items.skill], axis=1).astype(str)
    fits = [
        _load(items, first, (keys == key).all(axis=1) & items.scored, *key) for key in np.unique(keys, axis=0).tolist()
    ]
    coefficients = [coefficient for fit in fits for coefficient in fit["coefficients"].values()]
    for coefficient, p in zip(coefficients, holm([each["p"] for each in coefficients]), strict=True):
        coefficient |= {"p_corrected": p, "stars_corrected": _stars(p)}
    return fits


def _load(items: Items, first: Outcome, inside: np.ndarray, split: str, level: str, skill: str) -> Row:
    """The fit on the items of a mask (n,); without coefficients, and with the reason, where the data determine none."""
    counts, scenes = items.counts[inside], items.scene_id[inside].astype(str)
    varying = [i for i in range(len(COUNTS)) if len(counts) and np.ptp(counts[:, i])]
    labels = {
        "split": split, "level": level or None, "skill": skill or None, "errors": ERRORS, "correction": CORRECTION,
        "items": len(counts), "clusters": len(set(scenes)),
    }  # fmt: skip
    x = np.column_stack([counts[:, varying], np.ones(len(counts))]).astype(float)
    try:
        if not varying:
            raise ValueError("no count varies")
        fit = clustered_least_squares(100 * first.value[inside], x, scenes)
    except ValueError as reason:
        return {**labels, "df": None, "coefficients": {}, "constant": None, "reason": str(reason)}
    return {
        **labels, "df": int(fit.df_resid_inference),
        "coefficients": {
            COUNTS[i]: _coefficient(fit, j, COUNTS[i], skill, items.confidence) for j, i in enumerate(varying)
        },
        "constant": round(float(fit.params[-1]), 4), "reason": None,
    }  # fmt: skip


def _coefficient(fit: Any, j: int, count: str, skill: str, level: float) -> Row:
    p, (low, high) = float(fit.pvalues[j]), fit.conf_int(1 - level)[j]
    numbers = {"beta": fit.params[j], "error": fit.bse[j], "t": fit.tvalues[j], "low": low, "high": high}
    return {
        **{name: round(float(number), 4) + 0.0 for name, number in numbers.items()}, "p": p,  # + 0.0: never −0.0
        "stars": _stars(p),
        "load": "self" if count == f"n_{skill}s" else "cross",
    }  # fmt: skip


def _stars(p: float) -> str:
    return next((stars for most, stars in _STARS if p < most), "")
