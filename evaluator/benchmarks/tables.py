"""Reads a table of scores from CSV, JSONL or Parquet, and its columns as strings, numbers and
truths."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from scipy.special import logit

from evaluator.protocols.items import strings
from generator.base import tables
from generator.base.errors import UserError
from generator.base.files import parse_json
from generator.base.limits import MOST_LIST, check_file, read_text

logger = logging.getLogger(__name__)
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""Suffixes of tables that `read_table` reads, in any case."""
_TRUTH_OF_WORD = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_SATURATED = 1e-3
"""A score this near to 0 or 1 is probably a probability that was rounded, and ties with others."""
_MOST_SATURATED = 0.02
"""Warn if more than this share of scores is saturated."""
_LARGEST_LOG_ODDS = 745.0
"""Stands for the log-odds of 1, and negated for those of 0; larger in magnitude than the log-odds
of every other float64, whose smallest positive number is exp(-744.4)."""


def read_table(path: Path) -> pa.Table:
    """Read a .csv, .tsv, .json, .jsonl or .parquet file.

    Returns:
        Columns of CSV and TSV are strings. JSON is a list of objects, JSON lines an object a line.

    Raises:
        UserError: The file has another suffix, is missing, unreadable or without rows, or names a
            column twice.
    """
    # In the order of TABLES.
    readers_in_order = (_csv, _csv, _json, _json_lines, tables.read_table)
    readers = dict(zip(TABLES, readers_in_order, strict=True))
    read = readers.get(path.suffix.lower())
    if read is None:
        raise UserError(
            f"Expected a file of scores that ends in {', '.join(TABLES)}, got '{path}'."
        )
    if not path.is_file():
        raise UserError(f"There is no file {path}; give a table of scores with --items.")
    # Parquet has limits of its own; text is parsed in memory as a whole.
    check_file(path, None if read is tables.read_table else MOST_LIST)
    try:
        table = read(path)
    except (pa.ArrowException, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} cannot be read as {path.suffix[1:]}: {tables.reason_of_csv(error)}."
        ) from error
    tables.check_columns_once(table.column_names, path)
    if not table.num_rows:
        raise UserError(f"{path} has no rows; expected a row for each candidate.")
    return table


def rows_of(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yields the values of these columns, a tuple for each row.

    >>> list(rows_of(pa.table({"a": [1, 2], "b": ["x", None]}), "b", "a"))
    [('x', 1), (None, 2)]
    """
    columns = [table[name].to_pylist() for name in names]
    return zip(*columns, strict=True)


def texts(table: pa.Table, name: str) -> np.ndarray:
    """Read a column as text.

    Args:
        table: The table.
        name: Name of the column.

    Returns:
        Strings, an object array (rows,); "" for empty cells and for a missing column.

    Raises:
        UserError: It cannot be converted to text.
    """
    if name not in table.column_names:
        return np.full(table.num_rows, "", dtype=object)
    try:
        return strings(table[name].cast(pa.string()))
    except pa.ArrowException as error:
        raise UserError(
            f"Expected texts in the column '{name}', got {table[name].type} ({error})."
        ) from None


def numbers(table: pa.Table, name: str, path: Path) -> np.ndarray:
    """Read a column as numbers.

    Args:
        table: The table.
        name: Name of the column.
        path: File of the table, for messages.

    Returns:
        float64 (rows,); nan for empty cells and for a missing column.

    Raises:
        UserError: A cell has something else.
    """
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    column = table[name]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        stripped = pc.utf8_trim_whitespace(column)
        is_empty = pc.equal(stripped, "")
        column = pc.if_else(is_empty, pa.scalar(None, stripped.type), stripped)
    try:
        values = column.cast(pa.float64())
        return np.asarray(pc.fill_null(values, np.nan).to_numpy())
    except pa.ArrowException as error:
        # Arrow names neither the row nor the value.
        rows = enumerate(column.to_pylist(), 1)
        row, value = next((row, value) for row, value in rows if not _is_number(value))
        raise UserError(
            f"Expected numbers in the column '{name}' of {path}, got '{value}' in row {row}."
        ) from error


def truths(table: pa.Table, name: str, path: Path) -> np.ndarray:
    """Read a column as truth values.

    Args:
        table: The table.
        name: Name of the column.
        path: File of the table, for messages.

    Returns:
        True, False or None, an object array (rows,); None for empty cells and for a missing column.

    Raises:
        UserError: A cell has something else.
    """
    if name in table.column_names and pa.types.is_boolean(table[name].type):
        return np.array(table[name].to_pylist(), dtype=object)
    values = np.full(table.num_rows, None, dtype=object)
    for row, text in enumerate(texts(table, name)):
        if not text:
            continue
        word = text.strip().lower()
        if word not in _TRUTH_OF_WORD:
            raise UserError(
                f"Expected true, false, 1 or 0 in the column '{name}' of {path}, got '{text}' "
                f"in row {row + 1}."
            )
        values[row] = _TRUTH_OF_WORD[word]
    return values


def scores(table: pa.Table, path: Path, probabilities: bool) -> np.ndarray:
    """The column `score` of a table.

    Args:
        table: The table.
        path: Its file, for messages.
        probabilities: Whether the scores are probabilities, which become log-odds.

    Returns:
        float64 (rows,), nan if empty or missing.

    Raises:
        UserError: A score is not a number, or is not a probability.
    """
    values = numbers(table, "score", path)
    if not probabilities:
        _hint_at_probabilities(values, path)
        return values
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        row = outside[0]
        raise UserError(
            f"Expected probabilities from 0 to 1 in the column 'score' of {path}, got "
            f"{values[row]:g} in row {row + 1}; leave --probabilities out."
        )
    return log_odds(values)


def _hint_at_probabilities(values: np.ndarray, path: Path) -> None:
    """Warn if scores look like probabilities, many of them so near to 0 or 1 that they tie."""
    known = values[~np.isnan(values)]
    if not len(known) or known.min() < 0 or known.max() > 1:
        return
    is_saturated = (known <= _SATURATED) | (known >= 1 - _SATURATED)
    if is_saturated.mean() > _MOST_SATURATED:
        logger.warning(
            f"{is_saturated.sum():,} of the {len(known):,} scores of {path.name} are within "
            f"{_SATURATED:g} of 0 or 1, and all are within 0 and 1: if they are probabilities, "
            "give --probabilities, which compares their log-odds; otherwise many of them tie."
        )


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """log(p / (1 − p)), float64; ∓745 for 0 and 1, beyond what any other float64 gives.

    >>> log_odds(np.array([0.5, 0.75, 1.0])).round(6).tolist()
    [0.0, 1.098612, 745.0]
    """
    return np.clip(logit(probabilities), -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)


def require(table: pa.Table, names: Sequence[str], path: Path) -> None:
    """Check that a table has some columns.

    Args:
        table: The table.
        names: The columns.
        path: File of the table, for messages.

    Raises:
        UserError: It lacks one of them.
    """
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise UserError(
            f"{path} has no column '{missing[0]}' (it has {', '.join(table.column_names)}); "
            "docs/models.md, Scores from elsewhere, lists the columns."
        )


def _csv(path: Path) -> pa.Table:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    parsing = pa.csv.ParseOptions(newlines_in_values=True, delimiter=delimiter)
    # Names are read first: Arrow would infer types, and would turn an id such as 007 into 7.
    with path.open(encoding="utf-8-sig", newline="") as file:
        first_line = pa.BufferReader(file.readline().encode())
    names = pa.csv.read_csv(first_line, parse_options=parsing).column_names
    tables.check_columns_once(names, path)
    converting = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    reading = pa.csv.ReadOptions(block_size=tables.MOST_ROW)
    return pa.csv.read_csv(
        path, read_options=reading, parse_options=parsing, convert_options=converting
    )


def _json(path: Path) -> pa.Table:
    rows = parse_json(read_text(path, MOST_LIST), path)
    if not isinstance(rows, list):
        raise ValueError("expected a list of objects")
    return _table_of(rows, "expected a list of objects")


def _json_lines(path: Path) -> pa.Table:
    with path.open(encoding="utf-8-sig") as file:
        rows = [parse_json(line, path) for line in file if line.strip()]
    return _table_of(rows, "expected an object in each line")


def _table_of(rows: list[Any], expected: str) -> pa.Table:
    """A table of objects. expected: the message of ValueError if a row is not an object."""
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(expected)
    # A row may lack names that others have.
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = {}
    for name in names:
        columns[name] = _typed([row.get(name) for row in rows])
    return pa.table(columns)


def _typed(values: list[Any]) -> pa.Array:
    """An array of the values' common type; of strings if they have none."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # OverflowError is for integers of more than 64 bits.
        texts_of_values = [None if value is None else str(value) for value in values]
        return pa.array(texts_of_values, pa.string())


def _is_number(value: Any) -> bool:
    try:
        float("nan" if value is None else value)
    except (TypeError, ValueError):
        return False
    return True
