"""COMPASS (protocols, section 4): composed captions against their atoms asked separately; negatives
that change one type of atom; and skill load (equation 4), the change of R@1 with each atom of a
caption."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from evaluator.metrics.comparison import best_score
from evaluator.metrics.questions import decomposed_recall
from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.outcomes import Outcome, difference, merge_samples, recall, right
from evaluator.protocols.records import by_key
from evaluator.protocols.results import Protocol, ProtocolResults, over_n, tabulate
from evaluator.protocols.scores import Scores
from evaluator.statistics.blocks import block_mean
from evaluator.statistics.difference import holm
from evaluator.statistics.intervals import Estimate
from evaluator.statistics.regression import clustered_least_squares

ERRORS = "clustered by image (CR1: G/(G-1) * (n-1)/(n-k)); t with G-1 degrees of freedom"
"""How the errors of a run's fits are computed."""
POOLED = (
    "of the items of several runs: crossed effects; without their items Student's t over blocks, "
    "and for one block the mean of the runs' intervals"
)
"""How the errors of pooled fits are computed."""
CORRECTION = "Holm (1979)"
"""How p-values are corrected for several tests."""
_STARS = ((0.001, "**"), (0.005, "*"))
"""Stars for p-values below a bound, as COMPASS has them."""
_LABELS = ("split", "level", "skill")
"""The entries that name a fit."""
_WHOLE_CAPTION_SLOTS = ("", "c", "n")
"""Slots that hold no decomposed caption."""
FromItems = Callable[[Sequence[int], Sequence["Fit"], str], Estimate | None]
"""Estimates a coefficient over runs from their items: the runs' indices, their fits, and the name
of the count. None if items are not at hand."""
Fit = dict[str, Any]
"""A linear fit on the items of a split, level and skill, or one of its coefficients, as
results.json has them."""


class Integration(Protocol):
    """R@1 composed and decomposed and their gap: by level and number of atoms n, and as unweighted
    mean over n."""

    name = "integration"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        has_decomposed = ~np.isin(items.slot, _WHOLE_CAPTION_SLOTS).all(axis=1)
        # The gap is of the same items: a caption that lacks one of both forms is in neither
        # accuracy.
        items = items.requiring(items.has_slots("n") & has_decomposed)
        composed = recall(items, items.false & (items.slot == "n"), "R@1 composed")
        decomposed = _decomposed(items)
        outcomes = [composed, decomposed, difference("integration gap", decomposed, composed)]
        rows = tabulate(items, outcomes, ["level"], gaps=False, over=over_n(items))
        rows += tabulate(items, outcomes, ["level", "n"], gaps=False)
        return ProtocolResults(items, outcomes, rows)


class Skill(Protocol):
    """R@1 by skill and level; the load of each count (`fits`); R@1 by combination of counts
    (`cells`)."""

    name = "skill"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        recall_at_1 = recall(items, items.false)
        rows = tabulate(items, [recall_at_1], ["skill", "level"])
        cells = tabulate(items, [recall_at_1], ["skill", "level", *COUNTS], gaps=False)
        # Several samples of an answer are one item to a regression: as items of their own they
        # would count as independent.
        merged, (majority, *_) = merge_samples(items, [recall_at_1])
        return ProtocolResults(items, [recall_at_1], rows, loads(merged, majority), cells)


def _decomposed(items: Items) -> Outcome:
    """Whether every decomposed caption beats its own negative; chance 2⁻ᴺ for N captions."""
    slots = sorted(set(items.slot.ravel().tolist()) - set(_WHOLE_CAPTION_SLOTS))
    shape = (len(items), len(slots))
    has_slot = np.zeros(shape, dtype=bool)
    true = np.zeros(shape)
    false = np.zeros(shape)
    for i, slot in enumerate(slots):
        in_slot = items.slot == slot
        has_slot[:, i] = in_slot.any(axis=1)
        true[:, i] = best_score(items.scores, in_slot & items.truth)
        false[:, i] = best_score(items.scores, in_slot & items.false)
    won = decomposed_recall(true, false, has_slot, items.rules.tolerance)
    n_captions = has_slot.sum(axis=1).astype(float)
    return right("R@1 decomposed", 0.5**n_captions, won)


def loads(items: Items, recall_at_1: Outcome) -> list[Fit]:
    """Skill load (COMPASS, equation 4): how R@1 changes with each count of a caption.

    `stars` follow COMPASS: from the p-value of each coefficient alone. `stars_corrected` use
    p-values corrected over all coefficients by Holm's method, which bounds the chance of any false
    star under any dependence of the tests: readers take each star as a separate claim, and the fits
    share images.

    Args:
        items: Items with the counts of their captions; unscored ones are left out.
        recall_at_1: Their outcome.

    Returns:
        For each split, level and skill, a least-squares fit of R@1 in percentage points on the
        counts that vary, and a constant.
    """
    keys = np.stack([items.split, items.level, items.skill], axis=1).astype(str)
    fits = []
    for key in np.unique(keys, axis=0).tolist():
        inside = (keys == key).all(axis=1) & items.scored
        split, level, skill = key
        labels = {"split": split, "level": level or None, "skill": skill or None}
        fits.append(_fit(items, recall_at_1, inside=inside, labels=labels))
    return _correct(fits)


def pooled_loads(
    fits: Sequence[Sequence[Fit]],
    blocks: Sequence[str],
    *,
    level: float,
    from_items: FromItems | None = None,
) -> list[Fit]:
    """Pool the loads of several runs by split, level and skill; coefficients are pooled as results
    are.

    Args:
        fits: The fits of each run.
        blocks: The block of each run.
        level: Level of the intervals, 0..1.
        from_items: Estimates a coefficient from the items of the runs; None: only coefficients are
            known.

    Returns:
        A fit for each split, level and skill. Coefficients that any run lacks are dropped; a fit
        without coefficients has the reason. `p` is None for a single block, as in pooled results.
    """
    labelled_fits = []
    for run, fits_of_run in enumerate(fits):
        for fit in fits_of_run:
            labels = tuple(fit[name] for name in _LABELS)
            labelled_fits.append((labels, (run, fit)))
    pooled = []
    for members in by_key(labelled_fits).values():
        pooled.append(_pool_fits(members, blocks, level=level, from_items=from_items))
    return _correct(pooled)


def clusters_of(members: Iterable[tuple[str, Any]]) -> int:
    """The total number of clusters of rows or fits. Runs of a block share their clusters.

    Args:
        members: Pairs of a block, and a row or fit.

    Returns:
        The sum over blocks.

    Example:
        >>> clusters_of([("a", {"clusters": 3}), ("a", {"clusters": 3}), ("b", {"clusters": 2})])
        5
    """
    clusters: dict[str, int] = {}
    for block, row in members:
        # Runs with a limit or with unscored items may have fewer.
        clusters[block] = max(clusters.get(block, 0), row["clusters"])
    return sum(clusters.values())


def _pool_fits(
    members: Sequence[tuple[int, Fit]],
    blocks: Sequence[str],
    *,
    level: float,
    from_items: FromItems | None,
) -> Fit:
    """One fit from those of several runs, each with the index of its run."""
    runs = [run for run, _ in members]
    fits = [fit for _, fit in members]
    coefficients = [fit["coefficients"] for fit in fits]
    pooled = {}
    for name, coefficient in coefficients[0].items():
        if not all(name in of_run for of_run in coefficients):
            continue
        # From the items if they are at hand, as other results are pooled; else from the runs' own
        # coefficients.
        estimate = None if from_items is None else from_items(runs, fits, name)
        if estimate is not None and np.isfinite(estimate.low):
            error = _error_of(estimate.low, estimate.high, level)
            load = _load_record(
                estimate.value, error, low=estimate.low, high=estimate.high, p=estimate.p
            )
        else:
            of_runs = [of_run[name] for of_run in coefficients]
            load = _pool_coefficient(of_runs, [blocks[run] for run in runs], level)
        pooled[name] = {**load, "load": coefficient["load"]}
    reason = None
    if not pooled:
        reasons = [fit["reason"] for fit in fits if fit["reason"]]
        reason = reasons[0] if reasons else "no count varies in every run"
    return {
        **fits[0],
        "errors": POOLED,
        "clusters": clusters_of([(blocks[run], fit) for run, fit in members]),
        "items": sum(fit["items"] for fit in fits),
        "df": None,
        "coefficients": pooled,
        "constant": None,
        "reason": reason,
    }


def _pool_coefficient(loads: Sequence[Fit], blocks: Sequence[str], level: float) -> Fit:
    mean = block_mean([load["beta"] for load in loads], blocks, level)
    if mean.freedom:
        return _load_record(mean.value, mean.error, low=mean.low, high=mean.high, p=mean.p(0.0))
    # One block tells nothing about other blocks. The interval holds it fixed, and there is no p.
    low = float(np.mean([load["low"] for load in loads]))
    high = float(np.mean([load["high"] for load in loads]))
    return _load_record(mean.value, _error_of(low, high, level), low=low, high=high, p=None)


def _error_of(low: float, high: float, level: float) -> float:
    """The standard error of a normal interval."""
    half_width = (high - low) / 2
    return half_width / float(stats.norm.ppf((1 + level) / 2))


def _correct(fits: list[Fit]) -> list[Fit]:
    """The fits, with p-values and stars corrected over all coefficients that have a p."""
    # All fits of a table are one family of tests.
    tested = []
    for fit in fits:
        for coefficient in fit["coefficients"].values():
            coefficient |= {"p_corrected": None, "stars_corrected": ""}
            if coefficient["p"] is not None:
                tested.append(coefficient)
    corrected = holm([coefficient["p"] for coefficient in tested])
    for coefficient, p in zip(tested, corrected, strict=True):
        coefficient |= {"p_corrected": p, "stars_corrected": _stars(p)}
    return fits


def _fit(items: Items, recall_at_1: Outcome, *, inside: np.ndarray, labels: Fit) -> Fit:
    """The fit on the items of a mask (n,). If the data determine no fit: no coefficients, but the
    reason."""
    counts = items.counts[inside]
    scenes = items.scene_id[inside].astype(str)
    # A count that does not vary cannot be told from the constant.
    varying = []
    for i in range(len(COUNTS)):
        if len(counts) and np.ptp(counts[:, i]):
            varying.append(i)
    common = {
        **labels,
        "errors": ERRORS,
        "correction": CORRECTION,
        "items": len(counts),
        "clusters": len(set(scenes)),
    }
    constant = np.ones(len(counts))
    x = np.column_stack([counts[:, varying], constant]).astype(float)
    points = 100 * recall_at_1.value[inside]
    try:
        if not varying:
            raise ValueError("no count varies")
        fit = clustered_least_squares(points, x, scenes)
    except ValueError as reason:
        return {**common, "df": None, "coefficients": {}, "constant": None, "reason": str(reason)}
    coefficients = {}
    for column, i in enumerate(varying):
        load = _coefficient(fit, column, items.rules.level)
        # A self load is that of the count that the skill is about.
        is_own = COUNTS[i] == f"n_{labels['skill'] or ''}s"
        coefficients[COUNTS[i]] = {**load, "load": "self" if is_own else "cross"}
    return {
        **common,
        "df": int(fit.df_resid_inference),
        "coefficients": coefficients,
        "constant": round(float(fit.params[-1]), 4),
        "reason": None,
    }


def _coefficient(fit: Any, column: int, level: float) -> Fit:
    """A coefficient of a fit of statsmodels, with its interval."""
    low, high = fit.conf_int(1 - level)[column]
    p = float(fit.pvalues[column])
    return _load_record(fit.params[column], fit.bse[column], low=low, high=high, p=p)


def _load_record(beta: float, error: float, *, low: float, high: float, p: float | None) -> Fit:
    """A coefficient as results.json has it. p: None if there is none."""
    numbers = {
        "beta": beta,
        "error": error,
        "t": beta / error if error else np.nan,
        "low": low,
        "high": high,
    }
    rounded = {}
    for name, number in numbers.items():
        rounded[name] = round(float(number), 4) + 0.0  # + 0.0 makes 0 of -0
    return {**rounded, "p": p, "stars": "" if p is None else _stars(p)}


def _stars(p: float) -> str:
    for bound, stars in _STARS:
        if p < bound:
            return stars
    return ""
