"""Find submissions that have each other's answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.submissions.checks import CheckedRun

_SAME_ANSWERS = 0.95
"""Correlation of right and wrong from which on answers count as copied. It is a choice, not a
measurement: an honest model that exceeds it gets its rank back by `score rerun`."""
_FEWEST = 20
"""With fewer right or wrong answers the correlation says nothing."""


def has_same_answers(first: Sequence[CheckedRun], second: Sequence[CheckedRun]) -> bool:
    """Whether two submissions are right and wrong on the same items, whatever was done to scores.

    Scores can be rescaled, moved item by item or given noise and keep all outcomes, so outcomes are
    compared, by their correlation (phi). The share of equal outcomes would not do: two models that
    are nearly always wrong agree nearly always.

    Args:
        first: The runs of one submission.
        second: Those of the other.

    Returns:
        Whether outcomes on the questions that both answer correlate. False with few right or few
        wrong answers, or without common questions.
    """
    outcomes_of_first: list[bool] = []
    outcomes_of_second: list[bool] = []
    for of_first, of_second in _pairs_of_runs(first, second):
        # Over all protocols together: a single one often has too few wrong answers.
        for protocol in sorted(of_first.wrong.keys() & of_second.wrong.keys()):
            wrong_first = of_first.wrong[protocol]
            wrong_second = of_second.wrong[protocol]
            for item in sorted(wrong_first.keys() & wrong_second.keys()):
                outcomes_of_first.append(wrong_first[item])
                outcomes_of_second.append(wrong_second[item])
    return correlation(outcomes_of_first, outcomes_of_second) >= _SAME_ANSWERS


def correlation(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Compute the correlation of two sequences of outcomes.

    Args:
        first: (n,) whether an answer is wrong.
        second: (n,) the same of another model.

    Returns:
        Phi in -1..1; 0 with fewer than 20 right or wrong answers of one model.

    Example:
        >>> mistakes = [True] * 30 + [False] * 30
        >>> round(correlation(mistakes, mistakes), 6), correlation([True] * 60, mistakes)
        (1.0, 0.0)
    """
    for outcomes in (first, second):
        n_wrong = sum(outcomes)
        if min(n_wrong, len(outcomes) - n_wrong) < _FEWEST:
            return 0.0
    correlations = np.corrcoef(np.array([first, second], dtype=float))
    return float(correlations[0, 1])


def _pairs_of_runs(
    first: Sequence[CheckedRun], second: Sequence[CheckedRun]
) -> list[tuple[CheckedRun, CheckedRun]]:
    """The runs of both that answer the same questions."""
    pairs = []
    for of_first in first:
        for of_second in second:
            if _questions_key(of_first) == _questions_key(of_second):
                pairs.append((of_first, of_second))
    return pairs


def _questions_key(run: CheckedRun) -> tuple[Any, ...]:
    """What runs that answer the same questions share."""
    return run.place, run.run.benchmark.digest, run.question_set
