"""Matching: which preferences cancel, what ties, and what a plain loop over the sums gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evaluator.metrics.questions import image_score, matching_score, text_score
from tests.evaluator.protocols.plain import tie, wins

TEXTS = arrays.arrays(np.float32, (2,), elements=st.floats(-1e6, 1e6, width=32))


def tables(low: float = -5, high: float = 5) -> st.SearchStrategy[np.ndarray]:
    """Scores (n, 2, 2) of pairs."""
    return st.integers(1, 20).flatmap(
        lambda n: arrays.arrays(np.float32, (n, 2, 2), elements=st.floats(low, high, width=32))
    )


@given(tables())
def test_it_compares_the_sums_of_both_assignments(scores: np.ndarray) -> None:
    won, lost_to_tie = matching_score(scores)
    for i, table in enumerate(scores.astype(float).tolist()):
        true, exchanged = table[0][0] + table[1][1], table[0][1] + table[1][0]
        assert won[i] == wins(true, exchanged)
        assert lost_to_tie[i] == tie(true, exchanged)


@given(st.integers(1, 20), TEXTS)
def test_a_model_that_reads_the_texts_alone_ties_on_every_pair(n: int, of_text: np.ndarray) -> None:
    scores = np.broadcast_to(of_text, (n, 2, 2))
    won, lost_to_tie = matching_score(scores)
    assert not won.any()
    assert lost_to_tie.all()


@given(st.integers(1, 20), TEXTS)
def test_a_model_that_sees_the_images_alone_ties_on_every_pair(
    n: int, of_image: np.ndarray
) -> None:
    scores = np.broadcast_to(of_image[:, None], (n, 2, 2))
    won, lost_to_tie = matching_score(scores)
    assert not won.any()
    assert lost_to_tie.all()


QUARTERS = st.integers(-20, 20).map(lambda n: n / 4)


@given(
    arrays.arrays(np.float64, (10, 2, 2), elements=QUARTERS),
    arrays.arrays(np.float64, (2,), elements=QUARTERS),
    arrays.arrays(np.float64, (2,), elements=QUARTERS),
)
def test_a_preference_for_a_text_or_an_image_changes_no_answer(
    scores: np.ndarray, of_text: np.ndarray, of_image: np.ndarray
) -> None:
    """Quarters are exact in floating point, and further apart than the tolerance."""
    preferring = scores + of_text + of_image[:, None]
    for own, changed in zip(matching_score(scores), matching_score(preferring), strict=True):
        assert (own == changed).all()


def test_a_strong_preference_for_one_text_hides_skill_from_the_text_score_alone() -> None:
    scores = np.array([[[0.3, 0.2], [0.2, 0.3]]])
    preferring = scores + np.array([5.0, 0.0])
    assert text_score(scores)[0].all()
    assert not text_score(preferring)[0].any()
    assert matching_score(preferring)[0].all()


@given(tables())
def test_whoever_has_the_text_or_the_image_score_has_matching(scores: np.ndarray) -> None:
    """Two margins above the tolerance add up to one above it, where scores are below 1/2."""
    small = scores / np.float32(10)
    matched = matching_score(small)[0]
    for score in (text_score, image_score):
        assert (matched | ~score(small)[0]).all()


def test_a_missing_score_is_never_right() -> None:
    scores = np.array([[[0.9, 0.1], [0.1, np.nan]]])
    won, lost_to_tie = matching_score(scores)
    assert not won.any()
    assert lost_to_tie.all()  # no sum beats another; the protocol counts such pairs as unscored


def test_random_scores_are_right_in_half_of_the_pairs() -> None:
    scores = np.random.default_rng(0).normal(size=(100_000, 2, 2))
    assert matching_score(scores)[0].mean() == pytest.approx(1 / 2, abs=0.006)
