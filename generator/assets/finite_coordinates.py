"""Finds coordinates that are not finite in OBJ and PLY files; Blender's importers would read them as 0."""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from generator.assets.normalise import NOT_FINITE
from generator.base.errors import UserError

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_MAX_HEADER_LINES, _LONGEST_LINE = 500, 1 << 16
_NUMBER = re.compile("[0-9]{1,12}")


def check_obj(path: str) -> None:
    """Raises UserError where a coordinate of an OBJ file is not a finite number."""
    with Path(path).open("rb") as file:
        _check_words(line.split()[1:4] for line in file if line.startswith((b"v ", b"v\t")))


def check_ply(path: str) -> None:
    """Raises UserError where a coordinate of a PLY file is not a finite number. Blender refuses other damage itself."""
    with Path(path).open("rb") as file:
        lines = list(_header(file))
        form = next((word for line in lines if line[:1] == ["format"] for word in line[1:2]), "")
        elements = [i for i, line in enumerate(lines) if line[:1] == ["element"]]
        if (
            not elements
            or lines[elements[0]][1:2] != ["vertex"]
            or not _NUMBER.fullmatch(" ".join(lines[elements[0]][2:]))
        ):
            return
        n, own = int(lines[elements[0]][2]), lines[elements[0] + 1 : [*elements, len(lines)][1]]
        columns = [(line[-1], line[1]) for line in own if line[:1] == ["property"] and len(line) > 2]
        if not {"x", "y", "z"} <= {name for name, _ in columns} or any(kind not in _TYPES for _, kind in columns):
            return
        if form == "ascii":
            at = [i for i, (name, _) in enumerate(columns) if name in "xyz"]
            _check_words([words[i] for i in at if i < len(words)] for words in map(bytes.split, islice(file, n)))
        else:
            order = ">" if form == "binary_big_endian" else "<"
            kinds = np.dtype([(f"{i}{name}", order + _TYPES[kind]) for i, (name, kind) in enumerate(columns)])
            data = file.read(min(n * kinds.itemsize, Path(path).stat().st_size))
            rows = np.frombuffer(data[: len(data) // kinds.itemsize * kinds.itemsize], kinds)
            for i, (name, _) in enumerate(columns):
                if name in "xyz" and not np.isfinite(rows[f"{i}{name}"].astype(float)).all():
                    raise UserError(NOT_FINITE)


def _header(file: BinaryIO) -> Iterator[list[str]]:
    for _ in range(_MAX_HEADER_LINES):
        line = file.readline(_LONGEST_LINE)
        words = line.decode("latin-1").split()
        if words == ["end_header"]:
            return
        yield words


def _check_words(rows: Iterable[list[bytes]]) -> None:
    for words in rows:
        try:
            finite = len(words) == 3 and all(math.isfinite(float(word)) for word in words)
        except ValueError:
            finite = False
        if not finite:
            raise UserError(NOT_FINITE)
