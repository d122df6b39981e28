"""The sign-flip test against all changes of sign."""

import itertools

import numpy as np
import pytest

from evaluator.audits.significance import p_above


def test_p_is_that_of_all_changes_of_sign() -> None:
    rng = np.random.default_rng(0)
    outcomes, clusters = rng.random(30) < 0.65, np.repeat(np.arange(10), 3)
    excess = np.bincount(clusters, outcomes - 0.5)
    every = np.abs(np.array(list(itertools.product([-1, 1], repeat=10))) @ excess) >= excess.sum() - 1e-9
    assert p_above(outcomes.astype(float), clusters, 0.5) == pytest.approx(every.mean(), abs=0.015)
    assert p_above(1.0 - outcomes, clusters, 0.5) == 1
    assert p_above(np.ones(400), np.arange(400), 0.5) == pytest.approx(2 * np.exp(-200))
    uneven = np.repeat(np.arange(20), np.arange(20) ** 3 + 1)
    assert p_above(np.ones(len(uneven)), uneven, 0.5) < 0.001
