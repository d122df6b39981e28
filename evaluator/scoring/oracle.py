"""Write the scores of the oracle: truths are looked up, image by image, so pools of any size are
scored whole."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluator.metrics.ranking import PoolScores
from evaluator.models.oracle import Oracle
from evaluator.protocols.items import positions
from evaluator.scoring.needs import Needs
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.dataset.reader import Benchmark


def score_oracle(oracle: Oracle, benchmark: Benchmark, *, needs: Needs, out: Path) -> None:
    """Write scores.parquet and pools/*.npy of the oracle, as `score` does for other models.

    Args:
        oracle: An oracle that has opened the benchmark.
        benchmark: The benchmark.
        needs: The scores that are needed.
        out: The folder of the run.
    """
    row_of_text = positions(pa.chunked_array([needs.texts]), benchmark.texts["text_id"])
    image_ids = needs.images.to_pylist()

    # The candidate pairs.
    pair_images, pair_texts = needs.pairs
    pair_scenes = [image_ids[image] for image in pair_images]
    scores = scores_of_pairs(oracle, pair_scenes, row_of_text[pair_texts])
    written_images, written_texts = needs.ids()
    write_scores(
        out, written_images, written_texts, scores=scores[:, None], channels=oracle.channels
    )
    # The pools, each a whole matrix.
    for name, (pool_images, pool_texts) in needs.pools.items():
        scene_ids = [image_ids[image] for image in pool_images]
        pool = OracleScores(oracle, scene_ids, row_of_text[pool_texts])
        path = pool_path(out, name, channel=oracle.channels[0])
        write_matrix(path, pool.block(slice(None), slice(None)))


class OracleScores(PoolScores):
    """The oracle's scores of a pool, looked up when they are read.

    Args:
        oracle: an oracle that has opened the benchmark.
        scene_ids: the n images of the pool.
        text_rows: rows in texts.parquet of the m texts of the pool, int64 (m,).
    """

    def __init__(self, oracle: Oracle, scene_ids: list[str], text_rows: np.ndarray):
        self._oracle = oracle
        self._scene_ids = scene_ids
        self._text_rows = text_rows
        self._shape = (len(scene_ids), len(text_rows))

    @property
    def shape(self) -> tuple[int, int]:
        """As PoolScores.shape."""
        return self._shape

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """As PoolScores.block."""
        texts = self._text_rows[columns]
        scenes = np.arange(len(self._scene_ids))[rows]
        block = np.empty((len(scenes), len(texts)), np.float32)
        for row, scene in enumerate(scenes):
            scores_of_scene = self._oracle.scores_of_texts(self._scene_ids[scene])
            block[row] = scores_of_scene[texts]
        return block

    def of_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """As PoolScores.of_pairs."""
        scene_ids = [self._scene_ids[scene] for scene in pairs[:, 0]]
        return scores_of_pairs(self._oracle, scene_ids, self._text_rows[pairs[:, 1]])


def scores_of_pairs(oracle: Oracle, scene_ids: Sequence[str], text_rows: np.ndarray) -> np.ndarray:
    """Score pairs of a scene and a text.

    Args:
        oracle: an oracle that has opened the benchmark.
        scene_ids: the scene of each of k pairs.
        text_rows: the row in texts.parquet of the text of each pair, int64 (k,).

    Returns:
        float32 (k,).
    """
    pairs_of_scene: dict[str, list[int]] = defaultdict(list)
    for pair, scene_id in enumerate(scene_ids):
        pairs_of_scene[scene_id].append(pair)
    # Scene by scene, since the oracle judges all texts of a scene at once.
    scores = np.empty(len(scene_ids), np.float32)
    for scene_id, pairs in pairs_of_scene.items():
        scores_of_scene = oracle.scores_of_texts(scene_id)
        scores[pairs] = scores_of_scene[text_rows[pairs]]
    return scores
