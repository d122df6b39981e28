"""Convert a table of scores, which names pairs by a dataset's ids, into the scores of a run."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from evaluator.benchmarks.tables import require, scores, texts
from evaluator.protocols.items import positions
from evaluator.scoring.needs import Needs, collect_needs
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DatasetScores:
    """The scores in a file that a benchmark's items need.

    protocols: protocols with a scored item. images, texts: ids of the scored candidate pairs;
        scores: their scores
    (pairs,). pools: {pool: scores, float32 (images, texts)}; a row is nan if the file lacks one of
    its texts.
    raw_retrieval: protocols whose folds are complete. left_out: the other protocols that have
        folds.
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

    Raises UserError for an id that the benchmark does not have, a repeated pair, or a table that
    has no score of any item.
    """
    require(table, ["scene_id", "text_id", "score"], path)
    given = pd.DataFrame({name: texts(table, name) for name in ("scene_id", "text_id")})
    _check_pairs(given, path, benchmark)
    given["score"] = scores(table, path, probabilities)
    scored = [name for name in protocols if _has_scores(given, collect_needs(benchmark, [name]))]
    if not scored:
        raise UserError(
            f"{path} has no score that an item of {benchmark.name} needs; candidates.parquet and "
            f"pools.parquet name the pairs."
        )
    absent = [name for name in protocols if name not in scored]
    if absent:
        logger.info(
            f"Not measured, because {path.name} has no score of their items: {', '.join(absent)}."
        )
    needs = collect_needs(benchmark, scored)
    values, matrices = _needed(given, needs)
    folds = {
        name: names
        for name, names in needs.folds.items()
        if not any(np.isnan(matrices[f]).any() for f in names)
    }
    left_out = [name for name in needs.folds if name not in folds]
    for fold in (fold for name in left_out for fold in needs.folds[name]):
        del matrices[fold]
    for matrix in matrices.values():
        matrix[np.isnan(matrix).any(axis=1)] = np.nan
    every = np.concatenate([values, *(matrix.ravel() for matrix in matrices.values())])
    if missing := int(np.isnan(every).sum()):
        logger.info(
            f"{path.name} lacks {missing:,} of the {len(every):,} scores that the items need; "
            f"their items are unscored."
        )
    there = np.flatnonzero(~np.isnan(values))
    return DatasetScores(scored, *needs.ids(there), values[there], matrices, list(folds), left_out)


def _check_pairs(given: pd.DataFrame, path: Path, benchmark: Benchmark) -> None:
    """Raise UserError for a repeated pair of ids, or an id that the benchmark does not have."""
    scenes = [
        *benchmark.splits["scene_id"].to_pylist(),
        *benchmark.candidates["scene_id"].to_pylist(),
    ]
    for name, known in (("scene_id", scenes), ("text_id", benchmark.texts["text_id"].to_pylist())):
        if not (there := given[name].isin(known)).all():
            row = int(there.argmin())
            raise UserError(
                f"Row {row + 1} of {path} has {name} '{given[name][row]}', which "
                f"{benchmark.folder} lacks; give the ids of its candidates.parquet."
            )
    if (twice := given.duplicated()).any():
        raise UserError(
            f"Row {int(twice.argmax()) + 1} of {path} scores a pair that an earlier row scores; "
            f"keep one of them."
        )


def _needed(given: pd.DataFrame, needs: Needs) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The score of each candidate pair, float64, and {pool: scores of all its pairs, float32
    (images, texts)}; nan if missing."""
    image, text = (
        positions(pa.chunked_array([given[name]], pa.string()), pa.chunked_array([ids]))
        for name, ids in (("scene_id", needs.images), ("text_id", needs.texts))
    )
    inside = (image >= 0) & (text >= 0)
    known = pd.Series(given["score"].to_numpy()[inside], needs.keys(image[inside], text[inside]))

    def of(keys: np.ndarray) -> np.ndarray:
        return known.reindex(keys.ravel()).to_numpy().reshape(keys.shape)

    return of(needs.keys(*needs.pairs)), {
        p: of(needs.pool_keys(p)).astype(np.float32) for p in needs.pools
    }


def _has_scores(given: pd.DataFrame, needs: Needs) -> bool:
    """Whether a candidate pair has a score, or some image has all its scores with a pool."""
    values, matrices = _needed(given, needs)
    for fold in (fold for folds in needs.folds.values() for fold in folds):
        del matrices[fold]
    return not np.isnan(values).all() or any(
        not np.isnan(each).any(axis=1).all() for each in matrices.values()
    )
