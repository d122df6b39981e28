"""Columns of Arrow tables as NumPy arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_CONVERTED = 8192
"""Number of values that are Python objects at the same time: a column of millions is never copied
whole."""


def labels(column: pa.ChunkedArray) -> np.ndarray:
    """The strings of a column as an array of objects; equal strings share memory.

    >>> labels(pa.chunked_array([["seen", None, "seen"]]))
    array(['seen', None, 'seen'], dtype=object)
    """
    coded = pc.dictionary_encode(column.combine_chunks())
    distinct = coded.dictionary.to_pylist()
    # A null has no code of its own: it gets the code after the last.
    codes = pc.fill_null(coded.indices, len(distinct))
    names = np.array([*distinct, None], dtype=object)
    return names[codes.to_numpy(zero_copy_only=False)]


def row_numbers(column: pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The index of each value of a column in `among`, int64; -1 if it is not there.

    >>> row_numbers(pa.chunked_array([["b", "x"]]), pa.array(["a", "b"]))
    array([ 1, -1])
    """
    indices = pc.fill_null(pc.index_in(column, value_set=among), -1)
    return np.asarray(indices.to_numpy(), dtype=np.int64)


def repeated(column: pa.ChunkedArray) -> list[str]:
    """The values that occur more than once in a column.

    >>> repeated(pa.chunked_array([["a", "b", "a"]]))
    ['a']
    """
    # Counting all values is slow, and most columns have no repetition.
    if pc.count_distinct(column).as_py() == len(column):
        return []
    counts = pc.value_counts(column).to_pylist()
    return [entry["values"] for entry in counts if entry["counts"] > 1]


def values(column: pa.ChunkedArray) -> Iterator[Any]:
    """The values of a column one by one; converts some thousands at a time."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), _CONVERTED):
            yield from chunk[start : start + _CONVERTED].to_pylist()
