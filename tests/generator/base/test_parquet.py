"""Tables are read as Arrow reads them; those that would fill the memory are refused in one
sentence."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base import tables
from generator.base.errors import UserError
from generator.base.tables import (
    TableWriter,
    count_rows,
    read_batches,
    read_schema,
    read_table,
    write_table,
)
from generator.dataset.records import CANDIDATES
from tests.hostile_files import PARQUET_BOMBS, measured, parquet_bomb, sparse

ROWS = 3_000
TABLE = pa.table(
    {
        "text": ["long" * 700 if i == 7 else f"text {i % 900}" for i in range(ROWS)],
        "number": range(ROWS),
        "truth": pa.array([None if i % 3 else True for i in range(ROWS)]),
        "names": [["a", "bc"] * (i % 3) for i in range(ROWS)],
    }
)
SCHEMA = pa.schema([("name", pa.string()), ("number", pa.int32())])


def test_a_table_is_read_as_arrow_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=700)
    assert read_table(path).equals(pq.read_table(path))
    assert read_table(path, columns=["truth", "text"]).equals(TABLE.select(["truth", "text"]))
    assert (count_rows(path), read_schema(path).names) == (ROWS, TABLE.column_names)
    schema = pa.schema([("text", pa.string()), ("number", pa.int16())])
    batches = list(read_batches(path, ["number", "text"], 500, schema))
    assert max(batch.num_rows for batch in batches) == 500
    assert pa.Table.from_batches(batches).equals(
        TABLE.select(["number", "text"]).cast(batches[0].schema)
    )
    pq.write_table(TABLE.set_column(0, "text", TABLE["text"].dictionary_encode()), path)
    assert read_table(path).equals(TABLE)


def test_a_schema_adds_what_is_missing_and_leaves_out_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"item_id": ["a"], "truth": [True], "more": [1]}), path)
    table = read_table(path, CANDIDATES)
    assert table.schema == CANDIDATES
    assert [table[name][0].as_py() for name in ("item_id", "truth", "scene_id")] == [
        "a",
        True,
        None,
    ]
    with pytest.raises(UserError, match="none of the columns"):
        read_table(path, pa.schema([("other", pa.string())]))
    for read in (
        lambda: list(read_batches(path, ["other"])),
        lambda: read_table(path, columns=["truth", "other"]),
    ):
        with pytest.raises(UserError, match="no column other"):
            read()


def test_damaged_tables_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    data = path.read_bytes()
    for damaged in (
        b"",
        b"PAR1",
        data[:-1],
        data[: len(data) // 2],
        bytes(1000),
        data[:100] + bytes(200) + data[300:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"t\.parquet is damaged \(.*\); restore"):
            read_table(path)
    with pytest.raises(UserError, match="missing"):
        read_table(tmp_path / "none.parquet")
    with pytest.raises(UserError, match="sparse"):
        read_table(sparse(path))
    for table, words in (
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
            "has the column 'a' twice; keep one",
        ),
        (pa.table({"a": pa.array([b"\xff"], pa.binary()).view(pa.string())}), "UTF8"),
        (
            pa.table({"a": pa.array([["x"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))}),
            "dictionaries in lists",
        ),
    ):
        pq.write_table(table, path)
        with pytest.raises(UserError, match=words):
            read_table(path)


@pytest.mark.full
def test_bombs_take_seconds_and_little_memory(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from generator.base.errors import UserError
from generator.base.tables import read_batches, read_table
for path in map(Path, sys.argv):
    for read in (read_table, lambda path: [len(batch) for batch in read_batches(path, ["scene_id"], 100)]):
        try:
            read(path)
        except UserError as error:
            print(error, file=sys.stderr)
"""
    paths = [parquet_bomb(tmp_path, name) for name in PARQUET_BOMBS]
    returned, output, peak = measured(code, *map(str, paths), seconds=60)
    assert returned == 0, output
    assert output.count("a valid table never does, so take it from someone you trust.") == 2 * len(
        paths
    ), output
    assert peak < 900


def test_row_by_row_gives_the_table_of_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_BATCH", 3)
    monkeypatch.setattr(tables, "_GROUP_BYTES", 1)
    path = tmp_path / "t.parquet"
    rows = [{"name": str(i), "number": i} for i in range(8)]
    writer = TableWriter(path, SCHEMA)
    writer.add(["0", 0])
    writer.add_all(rows[1:5])
    writer.add_all(pa.Table.from_pylist(rows[5:], SCHEMA))
    writer.add_all([{"name": "last"}])
    writer.close()
    writer.close()
    assert read_table(path).to_pylist() == [*rows, {"name": "last", "number": None}]
    assert pq.ParquetFile(path).num_row_groups > 1


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write_table(tmp_path / "table.parquet", [{"name": "a", "number": "many"}], SCHEMA)
    assert not list(tmp_path.iterdir())
