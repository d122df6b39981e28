"""The tie rule, and the protocols on top of it, against the definition in plain Python."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluator.metrics.comparison import beats, chance, recall_at_k, reciprocal_chance, tied
from tests.evaluator.protocols.plain import tie, wins

ROWS = 100


def _planted(rng: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """Numbers beside `base`: equal, just within the tolerance, just beyond it, or far, on either
    side."""
    steps = np.array([0, 0.5, 0.99, 1.01, 2, 1e4]) * 1e-5
    return base + rng.choice([-1, 1], base.shape) * rng.choice(steps, base.shape) * np.maximum(
        1, np.abs(base)
    )


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 100.0]),
    st.integers(2, 9),
    st.integers(1, 4),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_recall_follows_the_definition(
    seed: int, scale: float, size: int, k: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    n_true = data.draw(st.integers(1, size - 1))
    truth = np.zeros((ROWS, size), dtype=bool)
    for row in truth:
        row[rng.choice(size, n_true, replace=False)] = True
    top = rng.uniform(-scale, scale, ROWS)
    near, far = _planted(rng, np.repeat(top[:, None], size, 1)), top[:, None] - scale / 2
    scores = np.where(rng.random(truth.shape) < 0.6, near, far)
    won, lost_to_tie = recall_at_k(scores, truth, ~truth, k)
    for i in range(ROWS):
        true = max(s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if t)
        false = [s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if not t]
        assert won[i] == (sum(not wins(true, s) for s in false) < k)
        assert lost_to_tie[i] == (not won[i] and sum(wins(s, true) for s in false) < k)
    orders = (
        np.argsort(rng.random((4000, size)), axis=1) < n_true
    )  # which places of a random order are true
    expected = (np.argmax(orders, axis=1) < k).mean()
    assert chance(np.array([n_true]), np.array([size - n_true]), k)[0] == pytest.approx(
        expected, abs=0.04
    )


_ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(_ANY, _ANY)
@settings(max_examples=500)
@example(math.inf, math.inf)
@example(math.inf, -math.inf)
@example(math.nan, 0.0)
@example(0.0, math.nan)
@example(3.4e38, -3.4e38)
def test_any_two_numbers_never_both_win_and_nan_wins_nothing(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        one, other = np.array([a]), np.array([b])
        verdicts = [
            bool(verdict[0]) for verdict in (beats(one, other), beats(other, one), tied(one, other))
        ]
    assert sum(verdicts) <= 1
    if math.isnan(a) or math.isnan(b):
        assert not any(verdicts)
    if math.isinf(a) and (math.isfinite(b) or a == b):
        assert not verdicts[0]
    if math.isfinite(a) and math.isfinite(b):
        assert verdicts == [wins(a, b), wins(b, a), tie(a, b)]


def test_the_tolerance_decides_what_ties() -> None:
    a, b = np.array([0.5]), np.array([0.501])
    assert not tied(a, b).any()
    assert tied(a, b, 0.01).all()
    assert not beats(b, a, 0.01).any()
    near = np.array([0.5]), np.array([0.5 + 1e-9])
    assert tied(*near).all()
    assert beats(near[1], near[0], 0).all()
    scores, true = np.array([[0.501, 0.5]]), np.array([[True, False]])
    assert [recall.tolist() for recall in recall_at_k(scores, true, ~true, tolerance=0.01)] == [
        [False],
        [True],
    ]


@pytest.mark.parametrize(("n_true", "n_false"), [(1, 0), (1, 5), (2, 6), (4, 3), (0, 4)])
def test_reciprocal_chance_is_the_mean_over_all_orders(n_true: int, n_false: int) -> None:
    """Every choice of the true texts' ranks is equally likely."""
    first_ranks = []
    for true_ranks in combinations(range(1, n_true + n_false + 1), n_true):
        first_ranks.append(min(true_ranks, default=math.inf))
    mean = sum(1 / rank for rank in first_ranks) / len(first_ranks)
    numbers = (np.array([n_true, 1]), np.array([n_false, 1]))
    assert reciprocal_chance(*numbers) == pytest.approx([mean, 0.75])
