"""Checks that a component is of the format that is judged, is called as its folder, and holds no other files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generator.base.files import SUMS, read_sums
from generator.dataset.records import BENCHMARK_TABLES, FORMAT
from generator.judge.findings import Finding, finding

_FILES = frozenset({"holdout.json", *(f"{name}.parquet" for name in BENCHMARK_TABLES)})


def benchmark_faults(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """A benchmark's folder with another format or name than its manifest, or with files that no benchmark has."""
    yield from format_faults(f"{folder.name}/manifest.json", manifest)
    if manifest.get("name") != folder.name:
        yield finding("wrong manifest", f"{folder.name}/manifest.json calls the benchmark '{manifest.get('name')}'")
    for name in sorted(set(read_sums(folder)) - _FILES) if (folder / SUMS).exists() else ():
        yield finding("stray file", f"{folder.name}/{name} is no file of a benchmark")


def format_faults(where: str, data: Mapping[str, Any]) -> Iterator[Finding]:
    """A manifest or index that is not of the format that is judged."""
    if data.get("format") != FORMAT:
        yield finding("wrong format", f"{where} has the format '{data.get('format')}', expected '{FORMAT}'")
