"""Reads Parquet tables, and refuses those that take far more memory than they have bytes; writes tables row by row."""

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.errors import UserError
from generator.base.files import draft_of
from generator.base.limits import check_file

FREE = 256 << 20
TIMES = 100
"""A table of n bytes may take FREE + TIMES * n bytes of memory. Those that we write take up to 30 times their size."""
_ROWS = 65_536
_BATCH, _GROUP_BYTES = 100, 8 << 20
_IN_A_BATCH = 128 << 20
_METADATA = 100_000  # members of a list in a footer
_DAMAGE = (OSError, ValueError, KeyError, MemoryError, pa.ArrowException)


def read_table(path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """A table, or some columns of it, in the given schema: what it lacks of the schema is null, what it has more left
    out.

    Raises UserError where it is damaged, not of the schema, lacks one of `columns`, or would take more memory than a
    table of its size may.
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
            f"{path} would take more than {(FREE + TIMES * stored) >> 20:,} MiB of memory, and has {stored:,} bytes; "
            f"no honest table "
            "does, so take it from someone you trust."
        )


MOST_PAGE = 256 << 20
MOST_DICTIONARY = 64 << 20
"""Bytes of a page that is not compressed; writers begin a new page, or stop using a dictionary, at about 1 MiB."""
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)
_HEADER_OF = {_DATA: 5, _INDEX: 6, _DICTIONARY: 7, _DATA_V2: 8}  # the field of PageHeader
_ENCODING = {_DATA: 2, _DATA_V2: 4}  # its field in the page's own header
_PREFIXED = 7  # DELTA_BYTE_ARRAY: a value repeats the beginning of the one before
_CODECS = {"LZ4": "lz4_raw"}
_WIDTHS = {"BOOLEAN": 1 / 8, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_SHORT = 4096
_DEEPEST = 8


@dataclass(frozen=True)
class Chunk:
    """A column in a row group.

    `values`: how many it has, nulls included. `width`: bytes that each takes at least when it is decoded. `longest`:
    bytes of the longest value that stands in the file once and may stand in the column many times. `nested`: whether a
    row may have several values. `stored`: its bytes in the file.
    """

    group: int
    values: int
    width: float
    longest: int
    nested: bool
    stored: int


def chunks(data: Any, metadata: pq.FileMetaData) -> Iterator[Chunk]:
    """The chunks of every column. `data`: the bytes of the file.

    Raises ValueError where pages and footer contradict one another, or a page is larger than any honest one.
    """
    if sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)) != metadata.num_rows:
        raise ValueError("its footer and its row groups state different numbers of rows")
    if metadata.num_rows and not metadata.num_columns:
        raise ValueError(f"it states {metadata.num_rows:,} rows and has no column")
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            chunk = _chunk(data, i, group.column(j), metadata.schema.column(j))
            if not chunk.nested and chunk.values != group.num_rows:
                raise ValueError(f"it states {group.num_rows:,} rows and has {chunk.values:,} values in a column")
            yield chunk


def _chunk(data: Any, group: int, column: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> Chunk:
    start = column.data_page_offset
    if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < start:
        start = column.dictionary_page_offset
    end = start + (column.total_compressed_size if column.num_values else 0)  # without values the offsets may be 0
    if start < 0 or end > len(data):
        raise ValueError("a column lies outside the file")
    strings = column.physical_type == "BYTE_ARRAY"
    values = longest = 0
    at = start
    while at < end:
        header, at = _struct(data, at)
        kind, size, stored = (_number(header, field) for field in (1, 2, 3))
        own = header.get(_HEADER_OF.get(kind, -1))
        if not isinstance(own, dict) or at + stored > end:
            raise ValueError("a page is damaged")
        if size > (MOST_DICTIONARY if kind == _DICTIONARY else MOST_PAGE):
            raise ValueError(f"a page has {size:,} bytes when it is not compressed")
        if kind == _DICTIONARY and strings:
            longest = max(longest, _longest(data[at : at + stored], size, column.compression))
        elif kind in _ENCODING:
            values += _number(own, 1)
            if strings and own.get(_ENCODING[kind]) == _PREFIXED:
                longest = max(longest, size)
        at += stored
    width = schema.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(column.physical_type, 4)
    nested = schema.max_repetition_level > 0
    return Chunk(group, values, width, longest if strings else 0, nested, column.total_compressed_size)


def _longest(page: bytes, size: int, codec: str) -> int:
    """Bytes of the longest entry of a dictionary; of the whole page where it is short, or of an unknown compression."""
    if size <= _SHORT:
        return size
    if codec != "UNCOMPRESSED":
        name = _CODECS.get(codec, codec.lower())
        if not pa.Codec.is_available(name):
            return size
        page = pa.decompress(page, decompressed_size=size, codec=name, asbytes=True)
    at = longest = 0
    while at + 4 <= len(page):
        length = int.from_bytes(page[at : at + 4], "little")
        longest = max(longest, length)
        at += 4 + length
    return min(longest, size)


def _number(fields: dict[int, Any], field: int) -> int:
    found = fields.get(field)
    if not isinstance(found, int) or found < 0:
        raise ValueError("a page is damaged")
    return found


def _struct(data: Any, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The numbers and structures of a structure by field, and where it ends. Truths and texts are skipped."""
    fields: dict[int, Any] = {}
    field = 0
    try:
        while byte := data[at]:
            at += 1
            kind = byte & 15
            if byte >> 4:
                field += byte >> 4
            else:
                field, at = _zigzag(data, at)
            if kind in (1, 2):
                pass
            elif kind == 3:
                at += 1
            elif kind in (4, 5, 6):
                fields[field], at = _zigzag(data, at)
            elif kind == 8:
                length, at = _varint(data, at)
                at += length
            elif kind == 12 and depth < _DEEPEST:
                fields[field], at = _struct(data, at, depth + 1)
            else:
                raise ValueError("a page is damaged")
    except IndexError:
        raise ValueError("it is cut short") from None
    return fields, at + 1


def _varint(data: Any, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise ValueError("a page is damaged")


def _zigzag(data: Any, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def write_table(path: Path, rows: Iterable[Mapping[str, Any]] | pa.Table, schema: pa.Schema) -> None:
    """Write rows as Parquet of the given schema, whole or not at all, with few rows in memory at a time.

    Raises pyarrow.ArrowInvalid when a row does not fit the schema.
    """
    draft = draft_of(path)
    try:
        writer = TableWriter(draft, schema)
        try:
            writer.add_all(rows)
        finally:
            writer.close()
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


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
            arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
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
