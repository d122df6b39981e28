"""Scores of pools, whole or in parts, against a matrix."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.metrics.ranking import CosineScores, MatrixScores, PoolScores


@pytest.mark.parametrize("mapped", [False, True])
def test_blocks_and_pairs_are_those_of_the_matrix(tmp_path: Path, mapped: bool) -> None:
    rng = np.random.default_rng(0)
    images, texts = (rng.normal(size=(n, 8)).astype(np.float32) for n in (9, 13))
    whole = images.astype(float) @ texts.T.astype(float)
    if mapped:
        for name, each in (("images", images), ("texts", texts)):
            np.save(tmp_path / f"{name}.npy", each)
        images, texts = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("images", "texts"))
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
    assert np.isfinite(scores.block(slice(0, 2), slice(0, 3))).tolist() == [[False, True, True], [False] * 3]
    assert np.isfinite(scores.of_pairs(np.array([[0, 1], [1, 1], [0, 0]]))).tolist() == [True, False, False]
