"""Tables are read as Arrow reads them; those that would fill the memory are refused in one sentence."""

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.parquet import Chunk, chunks, count_rows, read_batches, read_schema, read_table
from generator.dataset.records import CANDIDATES
from tests.hostile_files import PARQUET, dictionary_bomb, measured, sparse


def test_a_table_is_read_as_arrow_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=700)
    assert read_table(path).equals(pq.read_table(path))
    assert read_table(path, columns=["truth", "text"]).equals(TABLE.select(["truth", "text"]))
    assert (count_rows(path), read_schema(path).names) == (3_000, TABLE.column_names)
    batches = list(read_batches(path, ["number"], 500))
    assert max(batch.num_rows for batch in batches) == 500
    assert pa.Table.from_batches(batches).equals(TABLE.select(["number"]))
    pq.write_table(TABLE.slice(0, 0), path)
    assert read_table(path).equals(TABLE.slice(0, 0))


def test_a_schema_adds_what_is_missing_and_leaves_out_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"item_id": ["a"], "truth": [True], "more": [1]}), path)
    found = read_table(path, CANDIDATES)
    assert found.schema == CANDIDATES
    pq.write_table(pa.table({"item_id": pa.array([], pa.string())}), tmp_path / "none.parquet")
    assert read_table(tmp_path / "none.parquet", CANDIDATES).equals(CANDIDATES.empty_table())
    assert [found[name][0].as_py() for name in ("item_id", "truth", "scene_id")] == ["a", True, None]
    with pytest.raises(UserError, match="none of the columns"):
        read_table(path, pa.schema([("other", pa.string())]))
    with pytest.raises(UserError, match="no column other"):
        list(read_batches(path, ["other"]))


def broken(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_what_is_no_table_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    data = path.read_bytes()
    for damaged in (b"", b"PAR1", data[:-1], data[: len(data) // 2], bytes(1000), data[:100] + bytes(200) + data[300:]):
        with pytest.raises(UserError, match=r"t\.parquet is damaged \(.*\); restore"):
            read_table(broken(path, damaged))
    with pytest.raises(UserError, match="missing"):
        read_table(tmp_path / "none.parquet")
    with pytest.raises(UserError, match="sparse"):
        read_table(sparse(path))
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(UserError, match="a column twice"):
        read_table(path)
    pq.write_table(pa.table({"a": pa.array([b"\xff"], pa.binary()).view(pa.string())}), path)
    with pytest.raises(UserError, match="UTF8"):
        read_table(path)


@pytest.mark.parametrize("bomb", [dictionary_bomb])
def test_a_table_that_would_fill_the_memory_is_refused(bomb: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"MiB of memory, and has [0-9,]+ bytes; no honest table"):
        read_table(bomb(tmp_path / "t.parquet"))


@pytest.mark.full
@pytest.mark.parametrize("bomb", PARQUET)
def test_bombs_take_seconds_and_little_memory(bomb: Callable[[Path], Path], tmp_path: Path) -> None:
    code = """
from pathlib import Path
from generator.base.errors import UserError
from generator.base.parquet import read_batches, read_table
for read in (read_table, lambda path: list(read_batches(path, ["scene_id"], 100))):
    try:
        read(Path(sys.argv[0]))
        raise SystemExit(3)
    except UserError as error:
        print(error, file=sys.stderr)
"""
    returned, said, peak = measured(code, str(bomb(tmp_path / "t.parquet")), seconds=60)
    assert returned == 0, said
    assert said.count("no honest table") + said.count("a page has") == 2
    assert peak < 900


@pytest.mark.full
def test_an_honest_table_of_two_million_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    n = 2_000_000
    table = pa.table(
        {"scene_id": [f"{i:06d}" for i in range(n)], "split": ["train"] * n, "held_out_bindings": [[]] * n}
    )
    pq.write_table(table, path, compression="zstd", row_group_size=50_000)
    assert read_table(path).num_rows == n


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
