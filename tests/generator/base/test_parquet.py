"""Tables are read as Arrow reads them; those that would fill the memory are refused in one sentence."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.parquet import count_rows, read_batches, read_schema, read_table
from generator.dataset.records import CANDIDATES
from tests.generator.base.test_parquet_pages import TABLE
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
