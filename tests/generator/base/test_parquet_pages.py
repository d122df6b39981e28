"""The headers of Parquet pages say what the columns hold, whoever wrote them; a footer that says otherwise is not believed."""

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.parquet import Chunk, chunks

ROWS = 3_000
TABLE = pa.table(
    {
        "text": ["long" * 700 if i == 7 else f"text {i % 900}" for i in range(ROWS)],
        "number": range(ROWS),
        "truth": pa.array([None if i % 3 else True for i in range(ROWS)]),
        "names": [["a", "bc"] * (i % 3) for i in range(ROWS)],
        "digest": pa.array([bytes(8)] * ROWS, pa.binary(8)),
    }
)


def found(path: Path) -> list[Chunk]:
    with (
        pq.ParquetFile(path) as file,
        path.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return list(chunks(data, file.metadata))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False},
        {"data_page_size": 1_000},
        {"dictionary_pagesize_limit": 4_000},
        {"write_page_checksum": True},
    ],
)
def test_values_and_longest_texts_of_every_kind_of_file(
    tmp_path: Path, version: Any, compression: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=2_000, data_page_version=version, compression=compression, **options)
    got, metadata = found(path), pq.read_metadata(path)
    groups = [metadata.row_group(i) for i in range(2)]
    assert [chunk.values for chunk in got] == [group.column(j).num_values for group in groups for j in range(5)]
    assert [chunk.group for chunk in got] == [0] * 5 + [1] * 5
    assert [chunk.nested for chunk in got[:5]] == [False, False, False, True, False]
    assert [chunk.width for chunk in got[:5]] == [4, 8, 1 / 8, 4, 8]
    if options.get("use_dictionary", True):
        assert got[0].longest == 2_800  # read from a dictionary of more than 4 KB
        assert got[3].longest >= 2
    assert got[1].longest == 0


def test_a_value_that_repeats_the_one_before_counts_as_long_as_its_page(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}, compression="zstd")
    assert found(path)[0].longest > 2_800
    pq.write_table(TABLE, path, use_dictionary=False, compression="zstd")
    assert found(path)[0].longest == 0


def varint(number: int) -> bytes:
    """A number as the footer has it: zigzag, seven bits a byte."""
    number *= 2
    data = b""
    while number > 127:
        data, number = data + bytes([number & 127 | 128]), number >> 7
    return data + bytes([number])


def test_a_footer_that_states_other_numbers_is_not_believed(tmp_path: Path) -> None:
    path, rows = tmp_path / "t.parquet", 300_000
    pq.write_table(pa.table({"n": pa.nulls(rows, pa.int32())}), path)
    data = path.read_bytes()
    true, few = varint(rows), bytes([128 | 2, *[128] * (len(varint(rows)) - 2), 0])  # 1, in as many bytes
    footer = data.rindex(b"n\x00") if b"n\x00" in data else len(data) // 2
    footer = min(footer, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    path.write_bytes(data[:footer] + data[footer:].replace(true, few))
    assert pq.read_metadata(path).num_rows == 1
    with pytest.raises(ValueError, match="states 1 rows and has 300,000 values"):
        found(path)


@pytest.mark.parametrize(
    "change", [lambda data: data[: len(data) // 2], lambda data: bytes(len(data)), lambda data: b"\xff" * len(data)]
)
def test_damaged_pages_are_refused(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    metadata = pq.read_metadata(path)
    with pytest.raises(ValueError, match=r"damaged|cut short|outside|values in a column"):
        list(chunks(change(path.read_bytes()), metadata))
