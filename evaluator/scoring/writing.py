"""The files of scores in a run's folder."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluator.protocols.items import NOT_A_NUMBER
from evaluator.scoring.needs import Pair
from generator.dataset.files import write_table
from generator.dataset.schema import SCORES


def write_scores(out: Path, pairs: Sequence[Pair], scores: np.ndarray, channels: Sequence[str]) -> None:
    """Write scores.parquet: a row for each channel and pair, of float32 scores (pairs, channels)."""
    columns: dict[str, pa.Array] = {}
    wrong = ~np.isfinite(scores)
    n = len(pairs)
    for i, name in enumerate(("image_id", "text_id")):
        columns[name] = pa.array([pair[i] for pair in pairs] * len(channels), pa.string())
    columns["channel"] = pa.array([channel for channel in channels for _ in range(n)], pa.string())
    columns["score"] = pa.array(scores.T.reshape(-1).astype(np.float32), mask=wrong.T.reshape(-1))
    columns["unscored"] = pa.array(
        [NOT_A_NUMBER if each else None for each in wrong.T.reshape(-1).tolist()], pa.string()
    )
    write_table(out / "scores.parquet", pa.table(columns, schema=SCORES), SCORES)


def write_pool(out: Path, pool: str, channel: str, place: int, matrix: np.ndarray) -> None:
    """Write pools/POOL.npy, float32 (images, texts); channels after the first as pools/POOL.CHANNEL.npy."""
    path = pool_path(out, pool, channel, place)
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        np.save(file, matrix.astype(np.float32))
    os.replace(draft, path)


def pool_path(out: Path, pool: str, channel: str, place: int) -> Path:
    """Where the scores of a pool are, by channel and its place among the channels."""
    return out / "pools" / (f"{pool}.npy" if place == 0 else f"{pool}.{channel}.npy")
