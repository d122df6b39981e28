"""The tie rule, and the protocols on top of it, against the definition in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluator.metrics.comparison import beats, chance, recall_at_k, tied, wrong_choices

ROWS = 100


def _tie(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))


def _wins(a: float, b: float) -> bool:
    return a > b and not _tie(a, b)


def _planted(rng: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """Numbers beside `base`: equal, just within the tolerance, just beyond it, or far, on either side."""
    steps = np.array([0, 0.5, 0.99, 1.01, 2, 1e4]) * 1e-5
    return base + rng.choice([-1, 1], base.shape) * rng.choice(steps, base.shape) * np.maximum(1, np.abs(base))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 100.0]), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=150, deadline=None)
def test_two_scores_follow_the_definition(seed: int, scale: float, kind: type[np.floating]) -> None:
    rng = np.random.default_rng(seed)
    true = rng.uniform(-scale, scale, ROWS)
    scores = np.stack([true, _planted(rng, true)], axis=1).astype(kind)
    won, tie = recall_at_k(scores, np.tile([True, False], (ROWS, 1)), np.tile([False, True], (ROWS, 1)))
    for i, (a, b) in enumerate(scores.astype(float).tolist()):
        # within a float32 rounding of the tolerance itself either answer is right
        if kind is np.float32 and abs(abs(a - b) / (1e-5 * max(1, abs(a), abs(b))) - 1) < 1e-6:
            continue
        assert tie[i] == _tie(a, b)
        assert won[i] == _wins(a, b)
        assert not (tie[i] and won[i])


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_recall_follows_the_definition(seed: int, size: int, k: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    n_true = data.draw(st.integers(1, size - 1))
    truth = np.zeros((ROWS, size), dtype=bool)
    for row in truth:
        row[rng.choice(size, n_true, replace=False)] = True
    top = rng.uniform(-1, 1, ROWS)
    near, far = _planted(rng, np.repeat(top[:, None], size, 1)), top[:, None] - 0.5
    scores = np.where(rng.random(truth.shape) < 0.6, near, far)
    won, tie = recall_at_k(scores, truth, ~truth, k)
    for i in range(ROWS):
        true = max(s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if t)
        false = [s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if not t]
        assert won[i] == (sum(not _wins(true, s) for s in false) < k)
        assert tie[i] == (not won[i] and sum(_wins(s, true) for s in false) < k)
    orders = np.argsort(rng.random((4000, size)), axis=1) < n_true  # which places of a random order are true
    expected = (np.argmax(orders, axis=1) < k).mean()
    assert chance(np.array([n_true]), np.array([size - n_true]), k)[0] == pytest.approx(expected, abs=0.04)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.floats(-1, 1))
def test_ties_among_true_texts_do_not_matter(others: list[float], top: float) -> None:
    scores = np.array([[top, top, *(min(other, top - 1e-3) for other in others)]])
    truth = np.array([[True, True, *[False] * len(others)]])
    assert [column.tolist() for column in recall_at_k(scores, truth, ~truth)] == [[True], [False]]


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
        forth, back, tie = (
            beats(np.array([a]), np.array([b])),
            beats(np.array([b]), np.array([a])),
            tied(np.array([a]), np.array([b])),
        )
    assert int(forth[0]) + int(back[0]) + int(tie[0]) <= 1
    if math.isnan(a) or math.isnan(b):
        assert not any((forth[0], back[0], tie[0]))
    if math.isinf(a) and (math.isfinite(b) or a == b):
        assert not forth[0]
    if math.isfinite(a) and math.isfinite(b):
        assert (forth[0], back[0], tie[0]) == (_wins(a, b), _wins(b, a), _tie(a, b))


@given(st.lists(st.lists(st.sampled_from([0.1, 0.1000004, 0.2, 0.3]), min_size=5, max_size=5), min_size=1, max_size=6))
def test_a_wrong_choice_is_shared_by_the_false_texts_on_top(rows: list[list[float]]) -> None:
    scores = np.array(rows)
    true = np.tile([True, True, False, False, False], (len(rows), 1))
    shares, tie = wrong_choices(scores, true, ~true)
    for row, of, lost_to_tie in zip(rows, shares.tolist(), tie.tolist(), strict=True):
        best, top = max(row[:2]), max(row[2:])
        near = abs(best - top) <= 1e-5
        assert lost_to_tie == near
        winners = [i for i in range(2, 5) if abs(row[i] - top) <= 1e-5] if top > best and not near else []
        assert of == [1 / len(winners) if i in winners else 0.0 for i in range(5)]


def test_the_tolerance_decides_what_ties() -> None:
    a, b = np.array([0.5]), np.array([0.501])
    assert not tied(a, b).any()
    assert tied(a, b, 0.01).all()
    assert not beats(b, a, 0.01).any()
    near = np.array([0.5]), np.array([0.5 + 1e-9])
    assert tied(*near).all()
    assert beats(near[1], near[0], 0).all()
    scores, true = np.array([[0.501, 0.5]]), np.array([[True, False]])
    assert [found.tolist() for found in recall_at_k(scores, true, ~true, tolerance=0.01)] == [[False], [True]]
