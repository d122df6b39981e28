"""Checks that the names which other commands turn into names of files are plain: a name such as ../x would leave its folder."""

import re
from collections.abc import Iterator

import pyarrow as pa

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding

_WORD, _NUMBER = re.compile(r"[A-Za-z0-9_-]+"), re.compile(r"[0-9]+")
_COLUMNS = {"splits": ("scene_id", "split"), "items": ("protocol", "split", "pool_id"), "pools": ("pool_id",)}


def name_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes that are not named by digits, and splits, protocols and pools by more than letters, digits, `_` and `-`."""
    for table, columns in _COLUMNS.items():
        for column in columns:
            for name in _distinct(benchmark.tables[table][column]):
                if not (_NUMBER if column == "scene_id" else _WORD).fullmatch(name):
                    yield finding("unsafe name", f"{column} {name!r} of {table} is no plain name, and may name files")


def _distinct(column: pa.ChunkedArray) -> list[str]:
    return [name for name in column.unique().to_pylist() if name is not None]
