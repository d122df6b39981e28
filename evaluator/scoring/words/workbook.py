"""Reads the first sheet of an .xlsx workbook in a process with limits: a small file can unpack to
gigabytes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from generator.base.bounded import Bounds, read_bounded
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.limits import MOST_LIST, check_file
from generator.base.tables import check_columns_once

Row = list[str | None]
_BOUNDS = Bounds(memory=768 << 20, seconds=20.0, seconds_a_byte=10.0 / (1 << 20))
"""As for a file of a corpus: python-calamine takes about 0.1 s and 10 times its bytes per MB of a
workbook of texts (openpyxl 0.7 s). It holds a sheet as a whole, each cell with its own text."""
_MOST_BYTES = 256 << 20
"""The most bytes of all cells. One string may stand in a million cells, and the file holds it
once."""
_BYTES_A_CELL = 64
"""What a cell takes in memory besides its text."""
_ROWS_AT_ONCE = 1_000
"""Rows in one message of the process with limits."""


def read_workbook(path: Path) -> pa.Table:
    """Read the first sheet of a workbook; its first row has the names of the columns.

    Returns:
        A table whose columns hold strings.

    Raises:
        UserError: It is damaged, takes more time or memory than a workbook of its size, or
            python-calamine is not installed.
    """
    check_installed("python_calamine")
    check_file(path, MOST_LIST)
    rows: list[Row] = []
    for _, part in read_bounded(f"{__name__}:sheet_rows", [path], sees=[path], bounds=_BOUNDS):
        rows += part
    if not rows:
        raise UserError(f"{path} has no rows; give the workbook as the tool wrote it.")
    header, *cells = rows
    names = [str(name) for name in header]
    check_columns_once(names, path)
    columns = np.array(cells, dtype=object).reshape(len(cells), len(names))
    return pa.table(
        {name: pa.array(columns[:, number], pa.string()) for number, name in enumerate(names)}
    )


def sheet_rows(path: Path) -> Iterator[list[Row]]:
    """Yield the rows of the first sheet, some at a time. Runs in the process with limits.

    Raises:
        UserError: The workbook is damaged, or its cells take more than _MOST_BYTES.
    """
    from python_calamine import CalamineWorkbook

    part: list[Row] = []
    size = 0
    try:
        sheet = CalamineWorkbook.from_path(path).get_sheet_by_index(0)
        for cells in sheet.iter_rows():
            row = [_text_of(cell) for cell in cells]
            size += sum(len(text or "") + _BYTES_A_CELL for text in row)
            if size > _MOST_BYTES:
                raise UserError(
                    f"{path} has cells of more than {_MOST_BYTES >> 20} MiB; it is damaged or far "
                    "too heavy, so save it as .tsv."
                )
            part.append(row)
            if len(part) == _ROWS_AT_ONCE:
                yield part
                part = []
    except (UserError, MemoryError):
        raise
    except Exception as error:
        # A damaged part of the archive raises an error of another kind than damaged XML.
        raise UserError(
            f"{path} cannot be read as a workbook ({type(error).__name__}); save it as .tsv."
        ) from None
    yield part


def _text_of(cell: Any) -> str | None:
    """A cell as a string; None if it is empty."""
    if cell == "":
        return None
    # A workbook stores every number as a float.
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
