"""The files of scores."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.protocols.items import NOT_A_NUMBER
from evaluator.scoring.writing import pool_path, write_pool, write_scores


def test_scores_are_a_row_for_each_channel_and_pair(tmp_path: Path) -> None:
    scores = np.array([[1.5, 2.5], [np.nan, -np.inf]], dtype=np.float32)
    write_scores(tmp_path, pa.array(["a", "b"]), pa.array(["s", "t"]), scores, ("itm", "itc"))
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "scores.parquet").to_pylist()]
    assert rows == [
        ("a", "s", "itm", 1.5, None),
        ("b", "t", "itm", None, NOT_A_NUMBER),
        ("a", "s", "itc", 2.5, None),
        ("b", "t", "itc", None, NOT_A_NUMBER),
    ]


def test_pools_are_files_by_channel(tmp_path: Path) -> None:
    write_pool(tmp_path, "grid", "itm", 0, np.eye(2))
    write_pool(tmp_path, "grid", "itc", 1, np.zeros((2, 2)))
    assert [path.name for path in sorted((tmp_path / "pools").iterdir())] == ["grid.itc.npy", "grid.npy"]
    found = np.load(pool_path(tmp_path, "grid", "itm", 0))
    assert (found.dtype, found.tolist()) == (np.float32, np.eye(2).tolist())
