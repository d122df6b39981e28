"""Scores of the pairs of a dataset, by its own ids, as the scores of a run."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.tables import require, scores, texts
from evaluator.protocols.items import positions
from evaluator.scoring.needs import Needs, collect_needs
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DatasetScores:
    """The scores that a benchmark's items need, as far as a file has them.

    protocols: those of which the file scores an item. images, texts: ids of the scored pairs of candidates, with scores
    (pairs,). pools: the scores of pools, float32 (images, texts), a row nan where the file lacks one of its texts.
    raw_retrieval: folds by protocol, of protocols whose folds are whole. left_out: the other protocols that have folds.
    """

    protocols: list[str]
    images: pa.Array
    texts: pa.Array
    scores: np.ndarray
    pools: dict[str, np.ndarray]
    raw_retrieval: list[str]
    left_out: list[str]


def dataset_scores(
    table: pa.Table, path: Path, benchmark: Benchmark, protocols: list[str], probabilities: bool
) -> DatasetScores:
    """The scores of a table with the columns scene_id, text_id and score.

    Raises UserError for an id that the benchmark does not have, a pair that is there twice, or a table without any
    score of an item.
    """
    require(table, ["scene_id", "text_id", "score"], path)
    known = _Known(table, path, benchmark, probabilities)
    per_protocol = {name: _found(known, collect_needs(benchmark, [name])) for name in protocols}
    scored = [name for name, found in per_protocol.items() if found]
    if not scored:
        raise UserError(
            f"{path} has no score that an item of {benchmark.name} needs; candidates.parquet and pools.parquet name "
            f"the pairs."
        )
    absent = [name for name in protocols if name not in scored]
    if absent:
        logger.info(f"Not measured, because {path.name} has no score of their items: {', '.join(absent)}.")
    needs = collect_needs(benchmark, scored)
    values = known.pairs(needs)
    there = np.flatnonzero(~np.isnan(values))
    matrices = {name: known.matrix(needs, name) for name in needs.pools}
    folds = {name: names for name, names in needs.folds.items() if not any(np.isnan(matrices[f]).any() for f in names)}
    for name in set(needs.folds) - set(folds):
        for fold in needs.folds[name]:
            del matrices[fold]
    for matrix in matrices.values():
        matrix[np.isnan(matrix).any(axis=1)] = np.nan
    wanted = len(values) + sum(matrix.size for matrix in matrices.values())
    missing = len(values) - len(there) + sum(int(np.isnan(matrix).sum()) for matrix in matrices.values())
    if missing:
        logger.info(
            f"{path.name} lacks {missing:,} of the {wanted:,} scores that the items need; their items are unscored."
        )
    left_out = [name for name in needs.folds if name not in folds]
    images, texts = needs.ids(there)
    return DatasetScores(scored, images, texts, values[there], matrices, list(folds), left_out)


class _Known:
    """The scores of a table by pair."""

    def __init__(self, table: pa.Table, path: Path, benchmark: Benchmark, probabilities: bool):
        named = (benchmark.splits["scene_id"], benchmark.candidates["scene_id"])
        self._images = pa.chunked_array(
            [pc.unique(pa.chunked_array([c for ids in named for c in ids.chunks], pa.string()))]
        )
        self._texts = benchmark.texts["text_id"]
        columns = {name: texts(table, name) for name in ("scene_id", "text_id")}
        image, text = self._places(*(pa.array(column, pa.string()) for column in columns.values()))
        keys = np.where((image < 0) | (text < 0), -1, image * len(self._texts) + text)
        if (keys < 0).any():
            row = int(np.flatnonzero(keys < 0)[0])
            pair = ", ".join(f"{name} '{column[row]}'" for name, column in columns.items())
            raise UserError(
                f"Row {row + 1} of {path} has {pair}, and {benchmark.folder} lacks one of them; give the ids of its "
                f"candidates.parquet."
            )
        self._scores = pd.Series(scores(table, path, probabilities), pd.Index(keys))
        if (twice := self._scores.index.duplicated()).any():
            row = int(twice.argmax())
            raise UserError(f"Row {row + 1} of {path} scores a pair that an earlier row scores; keep one of them.")

    def pairs(self, needs: Needs) -> np.ndarray:
        """The score of each pair of candidates, float64, nan where there is none."""
        image, text = self._places(needs.images, needs.texts)
        return self._of(image[needs.pairs[0]] * len(self._texts) + text[needs.pairs[1]])

    def matrix(self, needs: Needs, pool: str) -> np.ndarray:
        """The scores of every pair of a pool, float32 (images, texts), nan where there is none."""
        image, text = self._places(needs.images, needs.texts)
        images, texts = needs.pools[pool]
        return self._of(image[images][:, None] * len(self._texts) + text[texts]).astype(np.float32)

    def _places(self, images: pa.Array, texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The places of ids among those of the benchmark, −1 where it lacks one."""
        return positions(pa.chunked_array([images]), self._images), positions(pa.chunked_array([texts]), self._texts)

    def _of(self, keys: np.ndarray) -> np.ndarray:
        return self._scores.reindex(keys.ravel()).to_numpy().reshape(keys.shape)


def _found(known: _Known, needs: Needs) -> bool:
    """Whether there is a score of a pair of candidates, or all scores of an image with a pool."""
    folds = {name for names in needs.folds.values() for name in names}
    if not np.isnan(known.pairs(needs)).all():
        return True
    pools = (name for name in needs.pools if name not in folds)
    return any(not np.isnan(known.matrix(needs, name)).any(axis=1).all() for name in pools)
