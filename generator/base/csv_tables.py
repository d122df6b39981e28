"""Writes tables as CSV whose cells no spreadsheet takes for formulas, and reads them again.

A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is no number gets a leading apostrophe
(OWASP, CSV Injection). So does one that begins with apostrophes and one of these, so that `read_csv` gives every text
as it was.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from generator.base.errors import UserError
from generator.base.files import draft_of
from generator.base.limits import MOST_LIST, check_file

_FORMULA, _ESCAPED = r"\A'*[=+\-@\t\r]", r"\A'+[=+\-@\t\r]"
_NUMBER = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"


def write_csv(path: Path, table: pa.Table | Iterable[pa.Table]) -> None:
    """Write a table, or tables of the same columns one below the other, as CSV, whole or not at all.

    Tables are written as they come, so that no more than one need be in memory. Without columns the file is empty.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    first = next(tables, pa.table({}))
    with draft_of(path) as draft, draft.open("wb") as file:
        if first.num_columns:
            options = pa.csv.WriteOptions(quoting_style="needed")
            with pa.csv.CSVWriter(file, first.schema, write_options=options) as writer:
                for each in chain([first], tables):
                    columns = [_escaped(c) if pa.types.is_string(c.type) else c for c in each.columns]
                    writer.write_table(pa.table(columns, schema=first.schema))


def read_csv(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Columns of a file that `write_csv` wrote, by their types. Raises UserError where it is missing or damaged."""
    check_file(path, MOST_LIST)
    options = pa.csv.ConvertOptions(column_types=dict(columns), include_columns=list(columns))
    try:
        table = pa.csv.read_csv(
            path, parse_options=pa.csv.ParseOptions(newlines_in_values=True), convert_options=options
        )
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is damaged ({str(error).splitlines()[0].rstrip('.')}); write it with `score measure`."
        ) from None
    found = [_restored(column) if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(found, table.column_names)


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(formula, pc.binary_join_element_wise("'", column, ""), column)


def _restored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.match_substring_regex(column, _ESCAPED), pc.utf8_slice_codeunits(column, 1), column)
