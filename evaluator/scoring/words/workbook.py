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
_MOST_BYTES, _BYTES_A_CELL = 256 << 20, 64
"""The most bytes of all cells. One string may stand in a million cells, and the file holds it
once."""
_ROWS = 1_000  # in one answer of the process


def read_workbook(path: Path) -> pa.Table:
    """The first sheet of a workbook; its first row has the names of the columns, and every column
    holds strings.

    Raises: UserError: it is damaged, takes more time or memory than a workbook of its size, or
        openpyxl is not installed.
    """
    check_installed("openpyxl")
    check_file(path, MOST_LIST)
    sees = [path, *map(Path, mimetypes.knownfiles)]  # openpyxl reads the system's types of files
    rows = [
        row
        for _, part in read_bounded(f"{__name__}:sheet_rows", [path], sees, _BOUNDS)
        for row in part
    ]
    if not rows:
        raise UserError(f"{path} has no rows; give the workbook as the tool wrote it.")
    names, *rest = rows
    check_columns_once([str(name) for name in names], path)
    columns = np.array(rest, dtype=object).reshape(len(rest), len(names))
    return pa.table(
        {str(name): pa.array(columns[:, i], pa.string()) for i, name in enumerate(names)}
    )


def sheet_rows(path: Path) -> Iterator[list[Row]]:
    """The rows of the first sheet, some at a time. Runs in the process with limits."""
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
                    f"too heavy, so save "
                    "it as .tsv."
                )
            part.append(row)
            if len(part) == _ROWS:
                yield part
                part = []
    except (UserError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises many kinds of errors for damaged files
        raise UserError(
            f"{path} cannot be read as a workbook ({type(error).__name__}); save it as .tsv."
        ) from None
    yield part
