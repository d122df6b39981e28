"""Ranks by blocks, against the rule applied to whole rows and columns of the matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics import ranking
from evaluator.metrics.comparison import recall_at_k
from evaluator.metrics.ranking import CosineScores, MatrixScores, ranks
from tests.evaluator.synthetic import planted


def _check(matrix: np.ndarray, truth: np.ndarray, tolerance: float) -> None:
    mask = np.zeros(matrix.shape, dtype=bool)
    mask[tuple(truth.T)] = True
    for found, scores, true in zip(
        ranks(MatrixScores(matrix), truth, tolerance), (matrix, matrix.T), (mask, mask.T), strict=True
    ):
        scored = true.any(axis=1) & np.isfinite(scores).all(axis=1)
        assert ((found.at_or_above >= 0) == scored).all()
        for k in (1, 2, 5):
            right, tie = recall_at_k(scores, true, ~true, k, tolerance)
            assert (found.recall(k) == (right & scored)).all()
            assert (found.lost_to_ties(k) == (tie & scored)).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 50), st.sampled_from([1e-5, 0.0, 0.3]), st.booleans())
def test_recall_is_its_definition_on_rows_and_columns(
    seed: int, n: int, m: int, tolerance: float, broken: bool
) -> None:
    """Scores tie within and just beyond the tolerance; some queries have several true candidates, some none."""
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


def test_embeddings_rank_as_their_cosines_do() -> None:
    rng = np.random.default_rng(0)
    images, texts = (rng.normal(size=(n, 16)).astype(np.float32) for n in (70, 90))
    images, texts = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (images, texts))
    truth = np.stack([np.arange(70), rng.permutation(90)[:70]], axis=1)
    for found, plain in zip(
        ranks(CosineScores(images, texts), truth), ranks(MatrixScores(images @ texts.T), truth), strict=True
    ):
        assert (found.at_or_above == plain.at_or_above).all()
