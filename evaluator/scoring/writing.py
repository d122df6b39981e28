"""Write the files of scores in a run's folder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.protocols.items import NOT_A_NUMBER
from generator.base.files import draft_of
from generator.base.paths import check_name
from generator.base.tables import write_table
from generator.dataset.records import SCORES

WRITTEN_AT_ONCE = 4096
"""Rows of an array in one write."""


def write_scores(
    out: Path, images: pa.Array, texts: pa.Array, scores: np.ndarray, channels: Sequence[str]
) -> None:
    """Write scores.parquet, one row per channel and pair, from the ids of n pairs and scores,
    float32 (n, channels).

    Scores that are not finite are written as null, with the reason in the column `unscored`.
    """
    values = scores.T.reshape(-1).astype(np.float32)
    unscored = ~np.isfinite(values)
    columns = {
        "image_id": pa.chunked_array([images] * len(channels), pa.string()),
        "text_id": pa.chunked_array([texts] * len(channels), pa.string()),
        "channel": pa.chunked_array(
            [pa.repeat(pa.scalar(channel, pa.string()), len(images)) for channel in channels]
        ),
        "score": pa.array(values, mask=unscored),
        "unscored": pc.if_else(pa.array(unscored), NOT_A_NUMBER, pa.scalar(None, pa.string())),
    }
    write_table(out / "scores.parquet", pa.table(columns, schema=SCORES), SCORES)


def write_matrix(path: Path, array: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Write a matrix, or some of its rows, as float32 in chunks. The write is atomic."""
    rows = np.arange(len(array)) if rows is None else rows
    path.parent.mkdir(exist_ok=True)
    with draft_of(path) as draft, draft.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), array.shape[1])}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(rows), WRITTEN_AT_ONCE):
            file.write(
                np.ascontiguousarray(
                    array[rows[start : start + WRITTEN_AT_ONCE]], np.float32
                ).tobytes()
            )


EMBEDDINGS = ("images", "texts")
"""The two sides of a pool; a dual encoder stores embeddings for each."""


def pool_path(folder: Path, pool: str, channel: str = "", number: int = 0, of: str = "") -> Path:
    """The file of a pool's scores, float32 (images, texts), for a channel and its number among the
    model's channels.

    of: one of EMBEDDINGS, for the embeddings of that side, float32 (n, d). Raises UserError unless
        the names are plain.
    """
    name = check_name(pool, "pool's name")
    part = of or (check_name(channel, "channel") if number else "")
    return folder / "pools" / (f"{name}.{part}.npy" if part else f"{name}.npy")
