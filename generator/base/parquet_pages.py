"""How much the columns of a Parquet file take when they are decoded, from the headers of its pages.

The sizes in the footer are not those that a decoder goes by, and a page of few bytes can stand for many: by compression, by
runs, and by a dictionary whose entries repeat. Headers are Thrift structures in the compact protocol
(apache/parquet-format, README.md and parquet.thrift: PageHeader).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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

    `values`: how many it has, nulls included. `width`: bytes that each takes at least when it is decoded. `longest`: bytes of
    the longest value that stands in the file once and may stand in the column many times. `nested`: whether a row may have
    several values. `stored`: its bytes in the file.
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
