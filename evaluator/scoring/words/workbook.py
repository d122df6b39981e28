"""Reads the first sheet of an .xlsx workbook in a process with limits: a small file can unpack to
gigabytes."""

import mimetypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from generator.base.bounded import Bounds, read_bounded
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.limits import MOST_LIST, check_file
from generator.base.tables import check_columns_once

Row = list[str | None]
_BOUNDS = Bounds(memory=768 << 20, seconds=20.0, seconds_a_byte=10.0 / (1 << 20))
"""As for a file of a corpus: openpyxl takes about 4 s and 50 times its bytes per MB of a workbook
of texts."""
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
        UserError: It is damaged, takes more time or memory than a workbook of its size, or openpyxl
            is not installed.
    """
    check_installed("openpyxl")
    check_file(path, MOST_LIST)
    # openpyxl reads the system's types of files, so the process must be able to see them.
    visible = [path, *(Path(name) for name in mimetypes.knownfiles)]
    rows: list[Row] = []
    for _, part in read_bounded(f"{__name__}:sheet_rows", [path], sees=visible, bounds=_BOUNDS):
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
    import openpyxl

    part: list[Row] = []
    size = 0
    try:
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
        for cells in workbook.worksheets[0].iter_rows(values_only=True):
            row = [None if cell is None else str(cell) for cell in cells]
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
        # openpyxl raises many kinds of errors for damaged files.
        raise UserError(
            f"{path} cannot be read as a workbook ({type(error).__name__}); save it as .tsv."
        ) from None
    yield part
