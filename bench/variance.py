"""Variance components of a table of learners by forms, and bounds of the spread between forms.

Each learner has one score on each form:

    y_lf = mean + learner_l + form_f + (learner x form)_lf

The last term also holds the chance of single images and trainings. Mean squares of the two-way
analysis of variance give the components (Searle, Casella and McCulloch 1992): the variance of forms
is (MS_form - MS_rest) / learners. Its bounds are those of Williams (1962), which hold approximately
for normal effects.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as fisher

LEVEL = 0.99
"""Level of each bound of the spread, one-sided."""


@dataclass(frozen=True)
class FormSpread:
    """Standard deviations between learners, forms, and learners within forms."""

    learners: float
    """Standard deviation between learners, in the unit of the scores."""
    forms: float
    """Standard deviation between forms: how much harder one form is for all learners."""
    rest: float
    """Standard deviation of learner x form, with the chance of single images and trainings."""
    low: float
    """Lower one-sided bound of `forms` at LEVEL."""
    high: float
    """Upper one-sided bound of `forms` at LEVEL."""


def form_spread(scores: np.ndarray) -> FormSpread:
    """Estimate the variance components of scores.

    Args:
        scores: (learners, forms), at least two of each.

    Returns:
        The components and the bounds, in the unit of the scores.

    Example:
        >>> spread = form_spread(np.array([[60.0, 62.0, 64.0], [70.0, 72.0, 74.0]]))
        >>> spread.rest, round(spread.forms, 6)
        (0.0, 2.0)
    """
    n_learners, n_forms = scores.shape
    mean = scores.mean()
    of_learners, of_forms = scores.mean(axis=1), scores.mean(axis=0)
    # One score a cell, so the interaction and chance cannot be told apart.
    rest = scores - of_learners[:, None] - of_forms[None, :] + mean

    forms_freedom, rest_freedom = n_forms - 1, (n_learners - 1) * (n_forms - 1)
    ss_forms = n_learners * float(np.square(of_forms - mean).sum())
    ms_learners = n_forms * float(np.square(of_learners - mean).sum()) / (n_learners - 1)
    ms_forms = ss_forms / forms_freedom
    ms_rest = float(np.square(rest).sum()) / rest_freedom

    bounds = []
    for tail in (1 - LEVEL, LEVEL):
        # isf(tail): the value that a draw exceeds with this probability.
        least = float(fisher.isf(tail, forms_freedom, rest_freedom)) * ms_rest / n_learners
        excess = ss_forms / n_learners - forms_freedom * least
        bounds.append(_root(excess / float(chi2.isf(tail, forms_freedom))))
    return FormSpread(
        learners=_root((ms_learners - ms_rest) / n_forms),
        forms=_root((ms_forms - ms_rest) / n_learners),
        rest=sqrt(ms_rest),
        low=bounds[0],
        high=bounds[1],
    )


def _root(variance: float) -> float:
    """The standard deviation; 0 for an estimate below 0."""
    return sqrt(max(0.0, variance))
