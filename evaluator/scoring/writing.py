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
    out: Path, images: pa.Array, texts: pa.Array, *, scores: np.ndarray, channels: Sequence[str]
) -> None:
    """Write scores.parquet, one row per channel and pair.

    Scores that are not finite are written as null, with the reason in the column `unscored`.

    Args:
        out: The folder of the run.
        images: The image id of each of n pairs.
        texts: The text id of each pair.
        scores: float32 (n, channels).
        channels: The names of the channels.
    """
    # Channel by channel: the rows of the first channel come first.
    values = scores.T.reshape(-1).astype(np.float32)
    is_unscored = ~np.isfinite(values)
    channel_columns = [
        pa.repeat(pa.scalar(channel, pa.string()), len(images)) for channel in channels
    ]
    no_reason = pa.scalar(None, pa.string())
    columns = {
        # Chunks of one array repeat the ids without copies.
        "image_id": pa.chunked_array([images] * len(channels), pa.string()),
        "text_id": pa.chunked_array([texts] * len(channels), pa.string()),
        "channel": pa.chunked_array(channel_columns),
        "score": pa.array(values, mask=is_unscored),
        "unscored": pc.if_else(pa.array(is_unscored), NOT_A_NUMBER, no_reason),
    }
    write_table(out / "scores.parquet", pa.table(columns, schema=SCORES), SCORES)


def write_matrix(path: Path, array: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Write a matrix as a .npy file of float32, in chunks. The write is atomic.

    Args:
        path: The file.
        array: The matrix; it may be mapped from a file.
        rows: The rows to write, which may repeat; None for all.
    """
    rows = np.arange(len(array)) if rows is None else rows
    path.parent.mkdir(exist_ok=True)
    # Not np.save, which would need the whole matrix in memory.
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), array.shape[1])}
    with draft_of(path) as draft, draft.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(rows), WRITTEN_AT_ONCE):
            rows_of_chunk = rows[start : start + WRITTEN_AT_ONCE]
            chunk = array[rows_of_chunk]
            file.write(np.ascontiguousarray(chunk, np.float32).tobytes())


IMAGE_SIDE, TEXT_SIDE = "images", "texts"
"""The two sides of a pool; a dual encoder stores embeddings for each."""


def pool_path(
    folder: Path, pool: str, *, channel: str = "", number: int = 0, side: str = ""
) -> Path:
    """The file of a pool's scores, float32 (images, texts), or of the embeddings of one side.

    Args:
        folder: The folder of the run.
        pool: The name of the pool.
        channel: The channel of the scores.
        number: The channel's number among the model's; the first one is not in the file's name.
        side: IMAGE_SIDE or TEXT_SIDE for embeddings, float32 (n, d); "" for scores.

    Raises:
        UserError: The pool or the channel has a name that cannot name a file.

    >>> pool_path(Path("run"), "grid", channel="itc", number=1).as_posix()
    'run/pools/grid.itc.npy'
    """
    name = check_name(pool, "pool's name")
    part = side
    if not side and number:
        part = check_name(channel, "channel")
    file_name = f"{name}.{part}.npy" if part else f"{name}.npy"
    return folder / "pools" / file_name
