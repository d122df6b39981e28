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
    """The scores in a file that a benchmark's items need."""

    protocols: list[str]
    """Protocols with a scored item."""
    images: pa.Array
    """Image id of each scored candidate pair."""
    texts: pa.Array
    """Text id of each scored candidate pair."""
    scores: np.ndarray
    """Score of each scored candidate pair, float64 (pairs,)."""
    pools: dict[str, np.ndarray]
    """Scores of each pool, float32 (images, texts); a row is nan if the file lacks one of its
    texts."""
    raw_retrieval: list[str]
    """Protocols whose folds are complete."""
    left_out: list[str]
    """The other protocols that have folds."""


def dataset_scores(
    table: pa.Table,
    path: Path,
    *,
    benchmark: Benchmark,
    protocols: list[str],
    probabilities: bool,
) -> DatasetScores:
    """Select the scores that a benchmark's items need.

    Args:
        table: A table with the columns scene_id, text_id and score.
        path: Its file, for messages.
        benchmark: The benchmark whose ids the table uses.
        protocols: The protocols to measure, where the table has scores of their items.
        probabilities: Whether scores are probabilities, to be compared as log-odds.

    Raises:
        UserError: The benchmark does not have an id, a pair is repeated, or the table has no score
            of any item.
    """
    require(table, ["scene_id", "text_id", "score"], path)
    rows = pd.DataFrame({name: texts(table, name) for name in ("scene_id", "text_id")})
    _check_pairs(rows, path, benchmark)
    rows["score"] = scores(table, path, probabilities)

    # Protocols without any score are left out; they are not part of this file.
    scored = [name for name in protocols if _has_scores(rows, collect_needs(benchmark, [name]))]
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
    values, matrices = _look_up(rows, needs)

    complete, left_out = _drop_gaps(matrices, needs)
    needed = np.concatenate([values, *(matrix.ravel() for matrix in matrices.values())])
    missing = int(np.isnan(needed).sum())
    if missing:
        logger.info(
            f"{path.name} lacks {missing:,} of the {len(needed):,} scores that the items need; "
            f"their items are unscored."
        )
    scored_pairs = np.flatnonzero(~np.isnan(values))
    image_ids, text_ids = needs.ids(scored_pairs)
    return DatasetScores(
        protocols=scored,
        images=image_ids,
        texts=text_ids,
        scores=values[scored_pairs],
        pools=matrices,
        raw_retrieval=complete,
        left_out=left_out,
    )


def _drop_gaps(matrices: dict[str, np.ndarray], needs: Needs) -> tuple[list[str], list[str]]:
    """Drop what cannot be ranked, because the file lacks some of its scores.

    Args:
        matrices: Scores of each pool, nan where the file has none. Folds with a gap are removed,
            and in other pools each row with a gap becomes nan.
        needs: What the items need.

    Returns:
        The protocols whose folds are complete, and those with folds that are left out.
    """
    # Raw retrieval ranks all texts, so a fold with a gap is not measured.
    complete = []
    left_out = []
    for protocol, folds in needs.folds.items():
        if any(np.isnan(matrices[fold]).any() for fold in folds):
            left_out.append(protocol)
            for fold in folds:
                del matrices[fold]
        else:
            complete.append(protocol)

    # So is an image of another pool: its rank among some of the texts is not its rank.
    for matrix in matrices.values():
        matrix[np.isnan(matrix).any(axis=1)] = np.nan
    return complete, left_out


def _check_pairs(rows: pd.DataFrame, path: Path, benchmark: Benchmark) -> None:
    """Raise UserError for a repeated pair of ids, or an id that the benchmark does not have."""
    scene_ids = [
        *benchmark.splits["scene_id"].to_pylist(),
        *benchmark.candidates["scene_id"].to_pylist(),
    ]
    text_ids = benchmark.texts["text_id"].to_pylist()
    for name, known in (("scene_id", scene_ids), ("text_id", text_ids)):
        is_known = rows[name].isin(known)
        if not is_known.all():
            row = int(is_known.argmin())
            raise UserError(
                f"Row {row + 1} of {path} has {name} '{rows[name][row]}', which "
                f"{benchmark.folder} lacks; give the ids of its candidates.parquet."
            )
    is_repeated = rows.duplicated()
    if is_repeated.any():
        raise UserError(
            f"Row {int(is_repeated.argmax()) + 1} of {path} scores a pair that an earlier row "
            f"scores; keep one of them."
        )


def _look_up(rows: pd.DataFrame, needs: Needs) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The score of each candidate pair, float64, and the scores of all pairs of each pool, float32
    (images, texts); nan if missing."""
    image = _places(rows["scene_id"], needs.images)
    text = _places(rows["text_id"], needs.texts)
    is_needed = (image >= 0) & (text >= 0)
    needed_scores = rows["score"].to_numpy()[is_needed]
    keys_of_rows = needs.keys(image[is_needed], text[is_needed])
    score_of_key = pd.Series(needed_scores, keys_of_rows)

    def scores_of(keys: np.ndarray) -> np.ndarray:
        return score_of_key.reindex(keys.ravel()).to_numpy().reshape(keys.shape)

    pools = {}
    for pool in needs.pools:
        pool_scores = scores_of(needs.pool_keys(pool))
        pools[pool] = pool_scores.astype(np.float32)
    return scores_of(needs.keys(*needs.pairs)), pools


def _places(names: pd.Series, ids: pa.Array) -> np.ndarray:
    """The row of each name in the ids, int64; −1 if it is missing."""
    return positions(pa.chunked_array([names], pa.string()), pa.chunked_array([ids]))


def _has_scores(rows: pd.DataFrame, needs: Needs) -> bool:
    """Whether a candidate pair has a score, or some image has all its scores with a pool."""
    values, matrices = _look_up(rows, needs)
    if not np.isnan(values).all():
        return True
    folds = {fold for folds in needs.folds.values() for fold in folds}
    for name, matrix in matrices.items():
        is_complete = ~np.isnan(matrix).any(axis=1)
        if name not in folds and is_complete.any():
            return True
    return False
