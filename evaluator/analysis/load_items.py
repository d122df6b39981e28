"""Skill loads over many runs from the items of all runs, as other results are pooled.

A load is a coefficient of least squares, and so a weighted sum of the outcomes. Each item has an
influence on it: how far the coefficient moves with the item's residual (Hampel 1974). The mean of
the influences is the coefficient, so the crossed effects of evaluator.statistics.runs apply to
them: what the names, images and trainings of items share makes their influences alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluator.analysis.run_items import ItemTable
from evaluator.protocols.items import COUNTS
from evaluator.statistics.intervals import Estimate
from evaluator.statistics.runs import RunItems, mean_over_runs

_PERCENT = 100
"""Loads are in percentage points, outcomes in 0..1."""
_ROUNDING = 1e-3
"""How far a coefficient of the results may be from that of the items: results have four
decimals."""


def load_over_runs(
    tables: Sequence[ItemTable], fits: Sequence[Mapping[str, Any]], *, count: str, level: float
) -> Estimate | None:
    """The mean over blocks and runs of a coefficient of a fit, from the items of all runs.

    Args:
        tables: (r,) the items of each run.
        fits: (r,) the fit of each run, as results.json has it, with a coefficient for `count`.
        count: One of COUNTS.
        level: Level of the interval, 0..1.

    Returns:
        The coefficient in points for each atom, with its intervals; None if the items of some run
        do not give the coefficient of its results.
    """
    runs = []
    for table, fit in zip(tables, fits, strict=True):
        influences = load_influences(table, fit, count)
        # The page must not show an interval about another number than the one in the results, as
        # when the results were computed from other items.
        if (
            influences is None
            or abs(influences.mean - fit["coefficients"][count]["beta"]) > _ROUNDING
        ):
            return None
        runs.append(influences)
    return mean_over_runs(runs, level=level, share=False, null=0.0)


def load_influences(table: ItemTable, fit: Mapping[str, Any], count: str) -> RunItems | None:
    """The influence of each item of a run on a coefficient.

    Args:
        table: The items of the run.
        fit: The labels of the fit (protocol, split, level, skill) and its coefficients by count.
        count: The count whose coefficient it is.

    Returns:
        The items, with influences as outcomes, whose mean is the coefficient in points; None if
        there are no items, or the counts of the items determine no fit.
    """
    # COMPASS fits loads to R@1 (equation 4).
    mask = table.mask({"metric": "R@1", **fit}, fit["split"])
    if not mask.any():
        return None
    items = table.take(mask)
    names = [name for name in COUNTS if name in fit["coefficients"]]
    counts = table.counts[mask][:, [COUNTS.index(name) for name in names]]
    constant = np.ones(len(counts))
    regressors = np.column_stack([counts, constant]).astype(float)
    # Counts that do not vary apart from one another have no effects of their own.
    if np.linalg.matrix_rank(regressors) < regressors.shape[1]:
        return None
    outcomes = _PERCENT * items.outcome
    # The rows of the pseudo-inverse turn outcomes into coefficients of least squares.
    weights = np.linalg.pinv(regressors)  # (k, n): the coefficients are weights @ outcomes
    coefficients = weights @ outcomes
    residuals = outcomes - regressors @ coefficients
    own = names.index(count)
    # Residuals are orthogonal to the weights, so the second term has the mean 0.
    influences = coefficients[own] + len(outcomes) * weights[own] * residuals
    return replace(items, outcome=influences)
