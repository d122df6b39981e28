"""Checks that the names which other commands turn into names of files are plain: a name such as ../x would leave its folder."""

import re
from collections.abc import Iterator

import pyarrow as pa

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding

_WORD = re.compile(r"[A-Za-z0-9_-]+")


def name_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes, splits, protocols and pools of a benchmark that have more than letters, digits, `_` and `-` in their names."""
    for table, column in (
        ("splits", "scene_id"), ("splits", "split"), ("items", "protocol"), ("items", "split"), ("items", "pool_id"),
        ("pools", "pool_id"),
    ):  # fmt: skip
        for name in _distinct(benchmark.tables[table][column]):
            if not _WORD.fullmatch(name):
                yield finding("unsafe name", f"{column} {name!r} of {table} is no plain name, and may name files")


def _distinct(column: pa.ChunkedArray) -> list[str]:
    return [name for name in column.unique().to_pylist() if name is not None]
