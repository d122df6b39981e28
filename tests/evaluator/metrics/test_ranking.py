"""Scores of pools, whole or in parts, against a matrix; ranks by blocks, against the rule applied
to whole rows and columns of it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics import ranking
from evaluator.metrics.comparison import recall_at_k
from evaluator.metrics.ranking import CosineScores, MatrixScores, PoolScores, ranks
from tests.evaluator.synthetic import planted


def _check(matrix: np.ndarray, truth: np.ndarray, tolerance: float) -> None:
    mask = np.zeros(matrix.shape, dtype=bool)
    mask[tuple(truth.T)] = True
    for of_side, scores, true in zip(
        ranks(MatrixScores(matrix), truth, tolerance),
        (matrix, matrix.T),
        (mask, mask.T),
        strict=True,
    ):
        scored = true.any(axis=1) & np.isfinite(scores).all(axis=1)
        assert ((of_side.at_or_above >= 0) == scored).all()
        for k in (1, 2, 5):
            right, tie = recall_at_k(scores, true, ~true, k, tolerance)
            assert (of_side.recall(k) == (right & scored)).all()
            assert (of_side.lost_to_ties(k) == (tie & scored)).all()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 50),
    st.sampled_from([1e-5, 0.0, 0.3]),
    st.booleans(),
)
def test_recall_is_its_definition_on_rows_and_columns(
    seed: int, n: int, m: int, tolerance: float, broken: bool
) -> None:
    """Scores tie within and just beyond the tolerance; some queries have several true candidates,
    some none."""
    rng = np.random.default_rng(seed)
    matrix = (planted(rng, n * m) * rng.choice([-1, 1, 1], n * m)).astype(np.float32).reshape(n, m)
    if broken:
        matrix[rng.integers(n), rng.integers(m)] = rng.choice([np.nan, np.inf, -np.inf])
    truth = np.unique(np.stack([rng.integers(0, n, m), rng.integers(0, m, m)], axis=1), axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "ROWS", 7)
        patch.setattr(ranking, "COLUMNS", 11)
        _check(matrix, truth, tolerance)


def test_blocks_of_full_size_count_every_row() -> None:
    """More rows than a byte counts, all of them at or above the true one."""
    matrix = np.zeros((600, 3), np.float32)
    _, texts = ranks(MatrixScores(matrix), np.array([[5, 0], [6, 1]]))
    assert texts.at_or_above.tolist() == [599, 599, -1]
    assert texts.above.tolist() == [0, 0, -1]


@pytest.mark.parametrize("mapped", [False, True])
def test_blocks_and_pairs_are_those_of_the_matrix(tmp_path: Path, mapped: bool) -> None:
    rng = np.random.default_rng(0)
    images, texts = (rng.normal(size=(n, 8)).astype(np.float32) for n in (9, 13))
    whole = images.astype(float) @ texts.T.astype(float)
    if mapped:
        for name, embeddings in (("images", images), ("texts", texts)):
            np.save(tmp_path / f"{name}.npy", embeddings)
        images, texts = (
            np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("images", "texts")
        )
    pairs = np.stack([rng.integers(0, 9, 20), rng.integers(0, 13, 20)], axis=1)
    for scores in (CosineScores(images, texts), MatrixScores(whole.astype(np.float32))):
        of: PoolScores = scores
        assert of.shape == (9, 13)
        for rows in (slice(2, 5), slice(0, 9), np.array([7, 7, 0])):
            assert of.block(rows, slice(3, 11)) == pytest.approx(whole[rows, 3:11], abs=1e-5)
        assert of.of_pairs(pairs) == pytest.approx(whole[tuple(pairs.T)], abs=1e-5)


def test_an_embedding_that_is_no_number_makes_its_scores_none() -> None:
    images, texts = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)
    images[1, 2], texts[0, 0] = np.nan, np.inf
    scores = CosineScores(images, texts)
    assert np.isfinite(scores.block(slice(0, 2), slice(0, 3))).tolist() == [
        [False, True, True],
        [False] * 3,
    ]
    assert np.isfinite(scores.of_pairs(np.array([[0, 1], [1, 1], [0, 0]]))).tolist() == [
        True,
        False,
        False,
    ]
