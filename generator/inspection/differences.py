"""Says where a file differs from the file that was made again."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.files import ABOUT, sha256
from generator.base.limits import read_bytes
from generator.base.tables import read_schema, read_table
from generator.judge.certificate import DAMAGE

_LONGEST_VALUE = 120  # characters of a value in a finding
_LARGEST_FILE = 1 << 30  # bytes
_ROWS_AT_ONCE = 1_000  # rows that are Python objects at the same time

Difference = tuple[str, str]
"""What the original file has, and what the file that was made again has in its place."""


def folder_differences(original: Path, remade: Path) -> Iterator[str]:
    """Compare the files of a component with those that were made again.

    Files of scenes are compared by their digests in SHA256SUMS; the judge checks their bytes.

    Args:
        original: Folder of the component.
        remade: Folder of the component that was made again.

    Yields:
        A sentence for each file that differs.
    """
    names = set()
    for folder in (original, remade):
        names |= {path.name for path in folder.iterdir() if path.is_file()}
    for name in sorted(names - {*ABOUT}):
        difference = file_difference(original / name, remade / name)
        if difference is not None:
            yield difference


def file_difference(original: Path, remade: Path) -> str | None:
    """Compare two files.

    Args:
        original: A file of the dataset.
        remade: The file that was made again.

    Returns:
        The first difference as a sentence; None if the bytes are identical.
    """
    where = f"{original.parent.name}/{original.name}"
    if not original.exists():
        return f"{where} is missing"
    if not remade.exists():
        return f"{where} is not among the files that are made again"
    try:
        if sha256(original) == sha256(remade):
            return None
        if original.suffix == ".parquet":
            difference = _table_difference(original, remade)
        else:
            difference = _text_difference(original, remade)
        # As when only the encoding differs.
        before, after = difference or ("other bytes", "the same content")
    except DAMAGE as error:
        before, after = f"unreadable content ({error})", "a whole file"
    return f"{where} has {before[:_LONGEST_VALUE]}; made again, it has {after[:_LONGEST_VALUE]}"


def same_rows(one: Path, other: Path) -> bool:
    """Compare two tables.

    Args:
        one: A Parquet file.
        other: Another one.

    Returns:
        Whether columns, metadata and rows are equal.

    Raises:
        Exception: One of DAMAGE, if a file cannot be read.
    """
    return _table_difference(one, other) is None


def _text_difference(original: Path, remade: Path) -> Difference | None:
    """The first line that differs."""
    texts = [
        read_bytes(path, _LARGEST_FILE).decode("utf-8", "replace") for path in (original, remade)
    ]
    lines = zip_longest(*(text.splitlines() for text in texts), fillvalue="nothing")
    for number, (before, after) in enumerate(lines, 1):
        if before != after:
            return f"in line {number} '{before.strip()}'", f"'{after.strip()}'"
    return None


def _table_difference(original: Path, remade: Path) -> Difference | None:
    """The first value that differs, with the first column of its row; or a difference of
    schemas."""
    if not read_schema(original).equals(read_schema(remade), check_metadata=True):
        return "other columns, types or metadata", "those of the format and the request"
    before, after = read_table(original), read_table(remade)
    for start in range(0, max(len(before), len(after)), _ROWS_AT_ONCE):
        difference = _slice_difference(
            before.slice(start, _ROWS_AT_ONCE), after.slice(start, _ROWS_AT_ONCE)
        )
        if difference is not None:
            return difference
    return None


def _slice_difference(before: pa.Table, after: pa.Table) -> Difference | None:
    if before.equals(after):
        return None
    for row, remade_row in zip_longest(before.to_pylist(), after.to_pylist()):
        if row is None or remade_row is None:
            return _name_row(row), _name_row(remade_row)
        for column, value in row.items():
            if value != remade_row[column]:
                return f"{column} {value!r} in {_name_row(row)}", repr(remade_row[column])
    return None


def _name_row(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "no more rows"
    return f"the row {next(iter(row.values()))}"
