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
"""Bytes of memory that any table may take."""
TIMES = 100
"""A table of n bytes may take FREE + TIMES * n bytes of memory. Our own tables take up to 30 times
their size."""
_ROWS = 65_536
"""Rows of a batch that is read."""
_BATCH = 100
"""Rows that are turned into Arrow at a time while a table is written."""
_GROUP_BYTES = 8 << 20
"""Bytes in memory after which a row group is written."""
_METADATA = 100_000
"""Most members of a list in a Parquet footer."""
MOST_ROW = 64 << 20
"""Bytes of a row of a CSV file. Arrow reads blocks of this size, and a row must lie in one or two
of them."""
_LEAST = 4
"""Fewest bytes of a row: the offset of a text, or a number."""


def read_table(
    path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a Parquet file.

    Args:
        path: The file.
        schema: Schema of the result: missing columns are null, extra columns are dropped.
        columns: Columns to read without a schema; None for all.

    Returns:
        The table, without dictionaries.

    Raises:
        UserError: It is damaged, does not fit the schema, lacks one of `columns`, or would take
            more memory than its size allows.
    """
    with _report_damage(path), _open(path) as file:
        names = file.schema_arrow.names if columns is None else list(columns)
        if schema is not None:
            names = [name for name in schema.names if name in file.schema_arrow.names]
            if not names:
                raise ValueError(f"it has none of the columns {', '.join(schema.names)}")
        _check_columns(file, names)
        table = _without_dictionaries(file.read(names).select(names))
        return table if schema is None else _fill_columns(table, schema).cast(schema)


def _fill_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema in their order; missing columns are null."""
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names)


def read_batches(
    path: Path, columns: Sequence[str], rows: int = _ROWS, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Read some columns of a Parquet file, a few rows at a time.

    Args:
        path: The file.
        columns: Names of the columns.
        rows: Most rows of a batch.
        schema: Has the types of the columns; None for those of the file.

    Returns:
        An iterator over batches.

    Raises:
        UserError: As for `read_table`.
    """
    with _report_damage(path):
        file = _open(path)
        _check_columns(file, columns)
        batches = file.iter_batches(rows, columns=list(columns))
    with file:
        read_bytes = 0
        while True:
            # The consumer of a batch is not subject to the limit, so it is set for each batch.
            with _report_damage(path):
                batch = next(batches, None)
                if batch is None:
                    return
                batch = _without_dictionaries(batch.select(list(columns)))
                if schema is not None:
                    batch = batch.cast(pa.schema([schema.field(name) for name in columns]))
                read_bytes += batch.nbytes
                if read_bytes > _allowed_memory(path):
                    raise MemoryError
            yield batch


def read_schema(path: Path) -> pa.Schema:
    """Read the schema of a Parquet file.

    Args:
        path: The file.

    Returns:
        Its schema, with the metadata.

    Raises:
        UserError: It is damaged.
    """
    with _report_damage(path), _open(path) as file:
        return file.schema_arrow


def metadata_of(schema: pa.Schema) -> dict[str, str]:
    """Read the metadata of a schema as text.

    Args:
        schema: The schema of a file.

    Returns:
        Values by key; empty without metadata.

    Raises:
        UnicodeDecodeError: A ValueError: they are not UTF-8.

    Example:
        >>> metadata_of(pa.schema([], metadata={"format": "jackalope/1"}))
        {'format': 'jackalope/1'}
    """
    texts = {}
    for key, value in (schema.metadata or {}).items():
        texts[key.decode()] = value.decode()
    return texts


def count_rows(path: Path) -> int:
    """Read how many rows a Parquet file states.

    Args:
        path: The file.

    Returns:
        The number of rows.

    Raises:
        UserError: It is damaged, or they would take too much memory.
    """
    with _report_damage(path), _open(path) as file:
        return int(file.metadata.num_rows)


def _allowed_memory(path: Path) -> int:
    """Bytes of memory that a table may take."""
    return FREE + TIMES * path.stat().st_size


@contextmanager
def _report_damage(path: Path) -> Iterator[None]:
    """Context that reads a table: it limits memory, and raises errors of the table as
    UserErrors."""
    usual = pa.default_memory_pool()
    try:
        with bounded_memory(_allowed_memory(path)):
            # The usual pool reserves a GiB, which no limit sees.
            pa.set_memory_pool(pa.system_memory_pool())
            yield
    except FileNotFoundError:
        raise UserError(f"{path} is missing; restore it or make it again.") from None
    except MemoryError:
        raise UserError(
            f"{path} would take more than {_allowed_memory(path) >> 20:,} MiB of memory, and has "
            f"{path.stat().st_size:,} "
            f"bytes; a valid table never does, so take it from someone you trust."
        ) from None
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        # Arrow's messages have a stack trace after the first line, or are empty.
        lines = str(error).splitlines() or [type(error).__name__]
        reason = lines[0].rstrip(".")
        raise UserError(f"{path} is damaged ({reason}); restore it or make it again.") from None
    finally:
        pa.set_memory_pool(usual)


def _open(path: Path) -> pq.ParquetFile:
    check_file(path)
    file = pq.ParquetFile(pa.OSFile(str(path)), thrift_container_size_limit=_METADATA)
    check_columns_once(file.schema_arrow.names, path)
    if file.metadata.num_rows * _LEAST > _allowed_memory(path):
        raise MemoryError
    return file


def _check_columns(file: pq.ParquetFile, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"it has no column {' or '.join(missing)}")


def _without_dictionaries(table: T) -> T:
    """Decode the dictionary columns of a table, so that every repeated value counts as memory."""
    table.validate(full=True)
    fields = []
    for field in table.schema:
        is_dictionary = pa.types.is_dictionary(field.type)
        fields.append((field.name, field.type.value_type if is_dictionary else field.type))
    schema = pa.schema(fields)
    if "dictionary<" in str(schema.types):
        raise ValueError("it has dictionaries in lists")
    return table.cast(schema)


def write_table(
    path: Path, rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema
) -> None:
    """Write a Parquet file atomically, with few rows in memory at a time.

    Args:
        path: The file.
        rows: Values by column; columns that a row lacks are null.
        schema: Its schema.

    Raises:
        pyarrow.ArrowInvalid: A row does not fit the schema.
    """
    with draft_of(path) as draft, closing(TableWriter(draft, schema)) as writer:
        writer.add_all(rows)


class TableWriter:
    """Writes a Parquet file row by row, with at most one row group of about 8 MiB in memory."""

    def __init__(self, path: Path, schema: pa.Schema):
        """Begin the file.

        Args:
            path: The file.
            schema: Its schema.
        """
        self._schema = schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[Sequence[Any]] = []
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add a row.

        Args:
            row: Its values, in the order of the schema.
        """
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self._end_batch()

    def add_all(self, rows: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Add many rows.

        Args:
            rows: Values by column; columns that a row lacks are null.
        """
        if isinstance(rows, pa.Table):
            # Rows that were added before come first.
            self._end_batch()
            table = _fill_columns(rows, self._schema).cast(self._schema)
            self._group += table.to_batches()
            self._end_group()
            return
        for row in rows:
            self.add([row.get(name) for name in self._schema.names])

    def close(self) -> None:
        """Write the remaining rows and close the file; a second call does nothing."""
        if self._file.is_open:
            try:
                self._end_batch()
                self._end_group()
            finally:
                self._file.close()

    def _end_batch(self) -> None:
        """Turn the rows into Arrow, and write the row group if it is large enough."""
        if not self._rows:
            return
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
        """Write the row group."""
        if self._group:
            self._file.write_table(pa.Table.from_batches(self._group, self._schema))
            self._group = []
            self._group_bytes = 0


_CONTROLS = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{2028}\x{2029}]"
)
"""The characters of `visible`, as RE2 writes them; no text of Arrow has lone surrogates."""
_FORMULA = r"\A'*[=+\-@\t\r]"
"""A text that gets an apostrophe, unless it is a number."""
_ESCAPED = r"\A'+[=+\-@\t\r]"
"""A text that lost its apostrophe when it is read again."""
_NUMBER = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"


def write_csv(path: Path, table: pa.Table | Iterable[pa.Table], delimiter: str = ",") -> None:
    """Write a CSV file atomically.

    A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is not a number gets
    a leading apostrophe (OWASP, CSV Injection). So does a text that begins with apostrophes and one
    of these characters, so that `read_csv` restores every text. Control and bidirectional
    characters, which act in terminals, become escapes and stay so.

    Args:
        path: The file.
        table: A table, or tables with the same columns, which are written one below the other and
            one by one, so that only one must be in memory. Without columns the file is empty.
        delimiter: Between cells.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    first = next(tables, pa.table({}))
    with draft_of(path) as draft, draft.open("wb") as file:
        if not first.num_columns:
            return
        options = pa.csv.WriteOptions(quoting_style="needed", delimiter=delimiter)
        with pa.csv.CSVWriter(file, first.schema, write_options=options) as writer:
            for part in chain([first], tables):
                columns = []
                for column in part.columns:
                    is_text = pa.types.is_string(column.type)
                    columns.append(_escape_formulas(column) if is_text else column)
                writer.write_table(pa.table(columns, schema=first.schema))


def read_csv(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Read a file that `write_csv` wrote.

    Args:
        path: The file.
        columns: Types of the columns to read, by name.

    Returns:
        A table of these columns, with the texts that were written.

    Raises:
        UserError: The file is missing or damaged.
    """
    check_file(path, MOST_LIST)
    options = pa.csv.ConvertOptions(column_types=dict(columns), include_columns=list(columns))
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(block_size=MOST_ROW),
            # Captions and answers may have line breaks.
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=options,
        )
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is damaged ({reason_of_csv(error)}); write it with `score measure`."
        ) from None
    restored = []
    for column in table.columns:
        is_text = pa.types.is_string(column.type)
        restored.append(_restore_formulas(column) if is_text else column)
    return pa.table(restored, table.column_names)


def check_columns_once(names: Sequence[str], path: Path) -> None:
    """Check that a table names no column twice: two readers may take different ones.

    Args:
        names: Names of its columns.
        path: Its file.

    Raises:
        UserError: A name is repeated.
    """
    for name, times in Counter(names).items():
        if times > 1:
            raise UserError(
                f"{path} has the column '{name}' {'twice' if times == 2 else f'{times} times'}; "
                f"keep one."
            )


def reason_of_csv(error: Exception) -> str:
    """Say why Arrow cannot read a CSV file.

    Args:
        error: Arrow's error.

    Returns:
        A clause for a message.

    Example:
        >>> reason_of_csv(pa.ArrowInvalid("straddling object straddles two block boundaries"))
        'a row is longer than 64 MiB'
    """
    # A KeyError writes its text in quotes.
    text = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    # Arrow's messages have a stack trace after the first line, or are empty.
    lines = text.splitlines() or [type(error).__name__]
    reason = lines[0].rstrip(".")
    if reason.startswith("straddling object"):
        return f"a row is longer than {MOST_ROW >> 20} MiB"
    return reason


def _escape_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.any(pc.match_substring_regex(column, _CONTROLS)).as_py():
        texts = [None if text is None else visible(text) for text in column.to_pylist()]
        column = pa.chunked_array([pa.array(texts, pa.string())])
    begins_like_one = pc.match_substring_regex(column, _FORMULA)
    is_formula = pc.and_not(begins_like_one, pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)


def _restore_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_escaped = pc.match_substring_regex(column, _ESCAPED)
    return pc.if_else(is_escaped, pc.utf8_slice_codeunits(column, 1), column)
