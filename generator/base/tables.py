"""Reads and writes tables. Refuses Parquet files that would take far more memory than their size,
and writes them row by row; escapes CSV cells that a spreadsheet would run as formulas."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from generator.base.errors import UserError, visible
from generator.base.files import draft_of
from generator.base.limits import MOST_LIST, bounded_memory, check_file

T = TypeVar("T", pa.Table, pa.RecordBatch)

FREE = 256 << 20
TIMES = 100
"""A table of n bytes may take FREE + TIMES * n bytes of memory. Our own tables take up to 30 times
their size."""
_ROWS = 65_536
_BATCH, _GROUP_BYTES = 100, 8 << 20
_METADATA = 100_000  # most members of a list in a Parquet footer
MOST_ROW = 64 << 20
"""Bytes of a row of a CSV file. Arrow reads blocks of this size, and a row must lie in one or two
of them."""
_LEAST = 4  # fewest bytes of a row: the offset of a text, or a number


def read_table(
    path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a table in the given schema: missing columns are null, extra columns are dropped.
    Without a schema, read `columns` (None: all).

    Raises UserError if it is damaged, does not fit the schema, lacks one of `columns`, or would
    take more memory than its size allows.
    """
    with _refused(path), _opened(path) as file:
        wanted = file.schema_arrow.names if columns is None else list(columns)
        if schema is not None:
            wanted = [name for name in schema.names if name in file.schema_arrow.names]
            if not wanted:
                raise ValueError(f"it has none of the columns {', '.join(schema.names)}")
        _check_columns(file, wanted)
        table = _written_out(file.read(wanted).select(wanted))
        return table if schema is None else _completed(table, schema)


def _completed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)


def read_batches(
    path: Path, columns: Sequence[str], rows: int = _ROWS, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields batches of some columns of a table, at most `rows` rows each, in the types of `schema`
    if it is given.

    Raises UserError as `read_table`.
    """
    with _refused(path):
        file = _opened(path)
        _check_columns(file, columns)
        batches = file.iter_batches(rows, columns=list(columns))
    with file:
        taken = 0
        while True:
            with _refused(path):
                batch = next(batches, None)
                if batch is None:
                    return
                batch = _written_out(batch.select(list(columns)))
                if schema is not None:
                    batch = batch.cast(pa.schema([schema.field(name) for name in columns]))
                taken += batch.nbytes
                if taken > _allowed(path):
                    raise MemoryError
            yield batch


def read_schema(path: Path) -> pa.Schema:
    """The schema of a table. Raises UserError if it is damaged."""
    with _refused(path), _opened(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """The number of rows that a table states. Raises UserError if it is damaged or they would take
    too much memory."""
    with _refused(path), _opened(path) as file:
        return int(file.metadata.num_rows)


def _allowed(path: Path) -> int:
    return FREE + TIMES * path.stat().st_size


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Context that reads a table: it limits memory, and raises errors of the table as
    UserErrors."""
    usual = pa.default_memory_pool()
    try:
        with bounded_memory(_allowed(path)):
            pa.set_memory_pool(
                pa.system_memory_pool()
            )  # the usual pool reserves a GiB, which no limit sees
            yield
    except FileNotFoundError:
        raise UserError(f"{path} is missing; restore it or make it again.") from None
    except MemoryError:
        raise UserError(
            f"{path} would take more than {_allowed(path) >> 20:,} MiB of memory, and has "
            f"{path.stat().st_size:,} "
            f"bytes; a valid table never does, so take it from someone you trust."
        ) from None
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"{path} is damaged ({reason}); restore it or make it again.") from None
    finally:
        pa.set_memory_pool(usual)


def _opened(path: Path) -> pq.ParquetFile:
    check_file(path)
    file = pq.ParquetFile(pa.OSFile(str(path)), thrift_container_size_limit=_METADATA)
    check_columns_once(file.schema_arrow.names, path)
    if file.metadata.num_rows * _LEAST > _allowed(path):
        raise MemoryError
    return file


def _check_columns(file: pq.ParquetFile, columns: Sequence[str]) -> None:
    if lacking := [name for name in columns if name not in file.schema_arrow.names]:
        raise ValueError(f"it has no column {' or '.join(lacking)}")


def _written_out(table: T) -> T:
    """Decode the dictionary columns of a table, so that every repeated value counts as memory."""
    table.validate(full=True)
    types = pa.schema(
        [
            (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
            for each in table.schema
        ]
    )
    if "dictionary<" in str(types.types):
        raise ValueError("it has dictionaries in lists")
    return table.cast(types)


def write_table(
    path: Path, rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema
) -> None:
    """Write rows as Parquet of the given schema, atomically, with few rows in memory at a time.

    Raises pyarrow.ArrowInvalid if a row does not fit the schema.
    """
    with draft_of(path) as draft, closing(TableWriter(draft, schema)) as writer:
        writer.add_all(rows)


class TableWriter:
    """Writes a Parquet file row by row, with at most one row group of about 8 MiB in memory."""

    def __init__(self, path: Path, schema: pa.Schema):
        self._schema = schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[Sequence[Any]] = []
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add a row, its values in the order of the schema."""
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self._end_batch()

    def add_all(self, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Add many rows; columns that a row lacks are null."""
        names = self._schema.names
        if isinstance(rows, pa.Table):
            self._end_batch()
            for field in self._schema:
                if field.name not in rows.column_names:
                    rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
            self._group += rows.select(names).cast(self._schema).to_batches()
            self._end_group()
            return
        for row in rows:
            self.add([row.get(name) for name in names])

    def close(self) -> None:
        """Write the remaining rows and close the file; a second call does nothing."""
        if self._file.is_open:
            try:
                self._end_batch()
                self._end_group()
            finally:
                self._file.close()

    def _end_batch(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [
                pa.array(column, field.type)
                for column, field in zip(columns, self._schema, strict=True)
            ]
            self._rows = []
            batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            self._group.append(batch)
            self._group_bytes += batch.nbytes
            if self._group_bytes >= _GROUP_BYTES:
                self._end_group()

    def _end_group(self) -> None:
        if self._group:
            self._file.write_table(pa.Table.from_batches(self._group, self._schema))
            self._group, self._group_bytes = [], 0


_CONTROLS = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{2028}\x{2029}]"
)
"""The characters of `visible`, as RE2 writes them; no text of Arrow has lone surrogates."""
_FORMULA, _ESCAPED = r"\A'*[=+\-@\t\r]", r"\A'+[=+\-@\t\r]"
_NUMBER = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"


def write_csv(path: Path, table: pa.Table | Iterable[pa.Table], delimiter: str = ",") -> None:
    """Write a table, or tables with the same columns one below the other, as CSV, atomically.

    Tables are written one by one, so only one must be in memory. Without columns the file is empty.

    A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is no number gets a
    leading apostrophe (OWASP, CSV Injection). So does a text that begins with apostrophes and one
    of these characters, so that `read_csv` restores every text. Control and bidirectional
    characters, which act in terminals, become escapes and stay so.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    first = next(tables, pa.table({}))
    with draft_of(path) as draft, draft.open("wb") as file:
        if first.num_columns:
            options = pa.csv.WriteOptions(quoting_style="needed", delimiter=delimiter)
            with pa.csv.CSVWriter(file, first.schema, write_options=options) as writer:
                for each in chain([first], tables):
                    columns = [
                        _escaped(c) if pa.types.is_string(c.type) else c for c in each.columns
                    ]
                    writer.write_table(pa.table(columns, schema=first.schema))


def read_csv(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Read columns of a file that `write_csv` wrote; `columns`: types by name. Raises UserError if
    the file is missing or damaged."""
    check_file(path, MOST_LIST)
    options = pa.csv.ConvertOptions(column_types=dict(columns), include_columns=list(columns))
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(block_size=MOST_ROW),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=options,
        )
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is damaged ({reason_of_csv(error)}); write it with `score measure`."
        ) from None
    found = [
        _restored(column) if pa.types.is_string(column.type) else column for column in table.columns
    ]
    return pa.table(found, table.column_names)


def check_columns_once(names: Sequence[str], path: Path) -> None:
    """Raise UserError where a table names a column twice: two readers may take different ones."""
    for name, times in Counter(names).items():
        if times > 1:
            raise UserError(
                f"{path} has the column '{name}' {'twice' if times == 2 else f'{times} times'}; "
                f"keep one."
            )


def reason_of_csv(error: Exception) -> str:
    """Why Arrow cannot read a CSV file, as a clause.

    >>> reason_of_csv(pa.ArrowInvalid("straddling object straddles two block boundaries"))
    'a row is longer than 64 MiB'
    """
    # A KeyError writes its text in quotes.
    text = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    reason = (text.splitlines() or [type(error).__name__])[0].rstrip(".")
    return (
        f"a row is longer than {MOST_ROW >> 20} MiB"
        if reason.startswith("straddling object")
        else reason
    )


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.any(pc.match_substring_regex(column, _CONTROLS)).as_py():
        shown = [None if text is None else visible(text) for text in column.to_pylist()]
        column = pa.chunked_array([pa.array(shown, pa.string())])
    formula = pc.and_not(
        pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER)
    )
    return pc.if_else(formula, pc.binary_join_element_wise("'", column, ""), column)


def _restored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(
        pc.match_substring_regex(column, _ESCAPED), pc.utf8_slice_codeunits(column, 1), column
    )
