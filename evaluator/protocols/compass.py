"""COMPASS (protocols, section 4): composed captions against their atoms asked separately; negatives
that change one type of atom; and skill load (equation 4), the change of R@1 with each atom of a
caption."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import decomposed_recall
from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.records import by_key
from evaluator.protocols.results import (
    Outcome,
    Protocol,
    ProtocolResults,
    difference,
    over_n,
    per_item,
    recall,
    right,
    tabulate,
)
from evaluator.protocols.scores import Scores
from evaluator.statistics.blocks import block_mean
from evaluator.statistics.difference import holm
from evaluator.statistics.regression import clustered_least_squares

ERRORS = "clustered by image (CR1: G/(G-1) * (n-1)/(n-k)); t with G-1 degrees of freedom"
POOLED = (
    "of the fits of several runs: Student's t over blocks; for one block the mean of the runs' "
    "intervals"
)
CORRECTION = "Holm (1979)"
_STARS = ((0.001, "**"), (0.005, "*"))
_LABELS = ("split", "level", "skill")
_OF_THE_WHOLE = ("", "c", "n")
"""Slots that hold no decomposed caption."""
Fit = dict[str, Any]
"""A linear fit on the items of a split, level and skill, or one of its coefficients, as
results.json has them."""


class Integration(Protocol):
    """R@1 composed and decomposed and their gap: by level and number of atoms n, and as unweighted
    mean over n."""

    name = "integration"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.requiring(
            items.has_slots("n") & ~np.isin(items.slot, _OF_THE_WHOLE).all(axis=1)
        )
        composed = recall(items, items.false & (items.slot == "n"), "R@1 composed")
        decomposed = _decomposed(items)
        outcomes = [composed, decomposed, difference("integration gap", decomposed, composed)]
        rows = tabulate(items, outcomes, ["level"], gaps=False, over=over_n(items))
        return ProtocolResults(
            items, outcomes, rows + tabulate(items, outcomes, ["level", "n"], gaps=False)
        )


class Skill(Protocol):
    """R@1 by skill and level; the load of each count (`fits`); R@1 by combination of counts
    (`cells`)."""

    name = "skill"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["skill", "level"])
        cells = tabulate(items, [first], ["skill", "level", *COUNTS], gaps=False)
        whole, (majority, *_) = per_item(items, [first])
        return ProtocolResults(items, [first], rows, loads(whole, majority), cells)


def _decomposed(items: Items) -> Outcome:
    """Whether every decomposed caption beats its own negative; chance 2⁻ᴺ."""
    masks = [
        items.slot == slot for slot in sorted(set(items.slot.ravel().tolist()) - set(_OF_THE_WHOLE))
    ]
    asked, true, false = np.zeros((3, len(items), len(masks)))
    for i, mask in enumerate(masks):
        asked[:, i] = mask.any(axis=1)
        true[:, i], false[:, i] = (
            best_score(items.scores, mask & of) for of in (items.truth, items.false)
        )
    won = decomposed_recall(true, false, asked.astype(bool), items.tolerance)
    return right("R@1 decomposed", 0.5 ** asked.sum(axis=1), won)


def loads(items: Items, first: Outcome) -> list[Fit]:
    """One fit for each split, level and skill: R@1 in percentage points on the counts that vary,
    and a constant.

    `stars` follow COMPASS: from the p-value of each coefficient alone. `stars_corrected` use
    p-values corrected over
    all coefficients by Holm's method, which bounds the chance of any false star under any
    dependence of the tests:
    readers take each star as a separate claim, and the fits share images.
    """
    keys = np.stack([items.split, items.level, items.skill], axis=1).astype(str)
    fits = [
        _load(items, first, (keys == key).all(axis=1) & items.scored, *key)
        for key in np.unique(keys, axis=0).tolist()
    ]
    return _corrected(fits)


def pooled_loads(fits: Sequence[Sequence[Fit]], blocks: Sequence[str], level: float) -> list[Fit]:
    """Pool the loads of several runs by split, level and skill; coefficients are pooled as results
    are.

    fits: of each run. blocks: the block of each run. level: of the intervals. Drops coefficients
        that any run lacks; a
    fit without coefficients has the reason. `p` is None for a single block, as in pooled results.
    """
    groups = by_key(
        (tuple(fit[name] for name in _LABELS), (block, fit))
        for block, of_run in zip(blocks, fits, strict=True)
        for fit in of_run
    )
    return _corrected([_pooled(members, level) for members in groups.values()])


def clusters_of(members: Sequence[tuple[str, Any]]) -> int:
    """The total number of clusters of rows or fits: the sum over blocks, since runs of a block
    share their clusters.

    members: pairs of block and row or fit.
    """
    found: dict[str, int] = {}
    for block, each in members:
        found[block] = max(found.get(block, 0), each["clusters"])
    return sum(found.values())


def _pooled(members: Sequence[tuple[str, Fit]], level: float) -> Fit:
    blocks, fits = zip(*members, strict=True)
    first, each = fits[0], [fit["coefficients"] for fit in fits]
    shared = {name: one for name, one in each[0].items() if all(name in other for other in each)}
    found = {
        name: {**_pooled_load([other[name] for other in each], blocks, level), "load": one["load"]}
        for name, one in shared.items()
    }
    reason = (
        None
        if found
        else next((fit["reason"] for fit in fits if fit["reason"]), "no count varies in every run")
    )
    return {
        **first,
        "errors": POOLED,
        "clusters": clusters_of(members),
        "items": sum(fit["items"] for fit in fits),
        "df": None,
        "coefficients": found,
        "constant": None,
        "reason": reason,
    }


def _pooled_load(loads: Sequence[Fit], blocks: Sequence[str], level: float) -> Fit:
    beta, low, high = ([load[name] for load in loads] for name in ("beta", "low", "high"))
    mean = block_mean(beta, blocks, level)
    if mean.freedom:
        return _load_of(mean.value, mean.error, mean.low, mean.high, mean.p(0.0))
    # One block tells nothing about other blocks. The interval holds it fixed, and there is no p.
    ends = float(np.mean(low)), float(np.mean(high))
    error = (ends[1] - ends[0]) / 2 / float(stats.norm.ppf((1 + level) / 2))
    return _load_of(mean.value, error, *ends, None)


def _corrected(fits: list[Fit]) -> list[Fit]:
    """The fits, with p-values and stars corrected over all coefficients that have a p."""
    coefficients = [coefficient for fit in fits for coefficient in fit["coefficients"].values()]
    for coefficient in coefficients:
        coefficient |= {"p_corrected": None, "stars_corrected": ""}
    tested = [each for each in coefficients if each["p"] is not None]
    for coefficient, p in zip(tested, holm([each["p"] for each in tested]), strict=True):
        coefficient |= {"p_corrected": p, "stars_corrected": _stars(p)}
    return fits


def _load(
    items: Items, first: Outcome, inside: np.ndarray, split: str, level: str, skill: str
) -> Fit:
    """The fit on the items of a mask (n,). If the data determine no fit: no coefficients, but the
    reason."""
    counts, scenes = items.counts[inside], items.scene_id[inside].astype(str)
    varying = [i for i in range(len(COUNTS)) if len(counts) and np.ptp(counts[:, i])]
    labels = {
        "split": split,
        "level": level or None,
        "skill": skill or None,
        "errors": ERRORS,
        "correction": CORRECTION,
        "items": len(counts),
        "clusters": len(set(scenes)),
    }
    x = np.column_stack([counts[:, varying], np.ones(len(counts))]).astype(float)
    try:
        if not varying:
            raise ValueError("no count varies")
        fit = clustered_least_squares(100 * first.value[inside], x, scenes)
    except ValueError as reason:
        return {**labels, "df": None, "coefficients": {}, "constant": None, "reason": str(reason)}
    return {
        **labels,
        "df": int(fit.df_resid_inference),
        "coefficients": {
            COUNTS[i]: _coefficient(fit, j, COUNTS[i], skill, items.confidence)
            for j, i in enumerate(varying)
        },
        "constant": round(float(fit.params[-1]), 4),
        "reason": None,
    }


def _coefficient(fit: Any, j: int, count: str, skill: str, level: float) -> Fit:
    low, high = fit.conf_int(1 - level)[j]
    found = _load_of(fit.params[j], fit.bse[j], low, high, float(fit.pvalues[j]))
    return {**found, "load": "self" if count == f"n_{skill}s" else "cross"}


def _load_of(beta: float, error: float, low: float, high: float, p: float | None) -> Fit:
    numbers = {
        "beta": beta,
        "error": error,
        "t": beta / error if error else np.nan,
        "low": low,
        "high": high,
    }
    said = {
        name: round(float(number), 4) + 0.0 for name, number in numbers.items()
    }  # + 0.0: never −0.0
    return {**said, "p": p, "stars": "" if p is None else _stars(p)}


def _stars(p: float) -> str:
    return next((stars for most, stars in _STARS if p < most), "")
