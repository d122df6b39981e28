"""Write the files of scores in a run's folder."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import NOT_A_NUMBER
from evaluator.run_folder import pool_path
from evaluator.scoring.needs import Pair
from generator.dataset.files import write_table
from generator.dataset.schema import SCORES


def write_scores(out: Path, pairs: Sequence[Pair], scores: np.ndarray, channels: Sequence[str]) -> None:
    """Write scores.parquet, one row per channel and pair, from scores, float32 (pairs, channels).

    Scores that are not finite are written as null, with the reason in the column `unscored`.
    """
    columns: dict[str, pa.Array] = {}
    unscored = ~np.isfinite(scores)
    n = len(pairs)
    for i, name in enumerate(("image_id", "text_id")):
        columns[name] = pa.array([pair[i] for pair in pairs] * len(channels), pa.string())
    columns["channel"] = pa.array([channel for channel in channels for _ in range(n)], pa.string())
    columns["score"] = pa.array(scores.T.reshape(-1).astype(np.float32), mask=unscored.T.reshape(-1))
    columns["unscored"] = pa.array(
        [NOT_A_NUMBER if each else None for each in unscored.T.reshape(-1).tolist()], pa.string()
    )
    write_table(out / "scores.parquet", pa.table(columns, schema=SCORES), SCORES)


def write_pool(out: Path, pool: str, channel: str, place: int, matrix: np.ndarray) -> None:
    """Write a pool's scores, float32 (images, texts), to `pool_path`."""
    path = pool_path(out, pool, channel, place)
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        np.save(file, matrix.astype(np.float32))
    os.replace(draft, path)
