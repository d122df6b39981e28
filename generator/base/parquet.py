"""Reads Parquet tables, and refuses those that take far more memory than they have bytes."""

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.errors import UserError
from generator.base.limits import check_file
from generator.base.parquet_pages import chunks

FREE = 256 << 20
TIMES = 100
"""A table of n bytes may take FREE + TIMES * n bytes of memory. Those that we write take up to 30 times their size."""
_ROWS = 65_536
_IN_A_BATCH = 128 << 20
_METADATA = 100_000  # members of a list in a footer
_DAMAGE = (OSError, ValueError, KeyError, MemoryError, pa.ArrowException)


def read_table(path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """A table, or some columns of it, in the given schema: what it lacks of the schema is null, what it has more left out.

    Raises UserError where it is damaged, not of the schema, lacks one of `columns`, or would take more memory than a table
    of its size may.
    """
    with _opened(path) as file:
        wanted = file.schema_arrow.names if columns is None else columns
        if schema is not None:
            wanted = [name for name in schema.names if name in file.schema_arrow.names]
            if not wanted:
                raise ValueError(f"it has none of the columns {', '.join(schema.names)}")
        batches = list(_batches(file, path, wanted, _ROWS))
        table = pa.Table.from_batches(batches, pa.schema([file.schema_arrow.field(name) for name in wanted]))
        return table if schema is None else _completed(table, schema)


def _completed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)


def read_batches(
    path: Path, columns: Sequence[str], rows: int = _ROWS, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Some columns of a table, in the types of `schema` if it is given, at most `rows` rows at a time.

    Raises UserError as `read_table`.
    """
    types = None if schema is None else pa.schema([schema.field(name) for name in columns])
    with _opened(path) as file:
        for batch in _batches(file, path, columns, rows):
            yield batch if types is None else batch.select(list(columns)).cast(types)


def read_schema(path: Path) -> pa.Schema:
    """The schema of a table. Raises UserError where it is damaged."""
    with _opened(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """How many rows a table has. Raises UserError where it is damaged, or states more than it has."""
    with _opened(path) as file:
        _longest_row(file, path)
        return int(file.metadata.num_rows)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    check_file(path)
    try:
        with pq.ParquetFile(pa.OSFile(str(path)), thrift_container_size_limit=_METADATA) as file:
            if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
                raise ValueError("it has a column twice")
            yield file
    except FileNotFoundError:
        raise UserError(f"{path} is missing; restore it or make it again.") from None
    except _DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"{path} is damaged ({reason}); restore it or make it again.") from None


def _batches(file: pq.ParquetFile, path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    if lacking := [name for name in columns if name not in file.schema_arrow.names]:
        raise ValueError(f"it has no column {' or '.join(lacking)}")
    rows = max(1, min(rows, _IN_A_BATCH // max(_longest_row(file, path), 1)))
    taken = 0
    for batch in file.iter_batches(rows, columns=list(columns)):
        batch.validate(full=True)
        taken += batch.nbytes
        _refuse_bomb(path, taken, path.stat().st_size)
        yield batch


def _longest_row(file: pq.ParquetFile, path: Path) -> int:
    """Bytes of the longest row that repeats what stands in the file once; rows with lists are left out.

    Raises UserError where the columns take too much memory by their numbers of values alone, and lists by their longest
    value too: one row may hold a whole column of these.
    """
    longest = [0] * max(file.metadata.num_row_groups, 1)
    least = 0.0
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for chunk in chunks(data, file.metadata):
            least += chunk.values * chunk.width
            if chunk.nested:
                _refuse_bomb(path, chunk.values * (chunk.width + chunk.longest), chunk.stored)
            else:
                longest[chunk.group] += chunk.longest
    _refuse_bomb(path, least, path.stat().st_size)
    return max(longest)


def _refuse_bomb(path: Path, taken: float, stored: int) -> None:
    if taken > FREE + TIMES * stored:
        raise UserError(
            f"{path} would take more than {(FREE + TIMES * stored) >> 20:,} MiB of memory, and has {stored:,} bytes; no honest table "
            "does, so take it from someone you trust."
        )
