"""The benchmarks of others by name, and those that installed packages add."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from evaluator.benchmarks.as_read import READING
from evaluator.benchmarks.layouts import LAYOUTS, read_layout
from evaluator.benchmarks.own_table import read_own_table
from evaluator.benchmarks.pictures import Pictures
from evaluator.benchmarks.questions import External
from evaluator.benchmarks.score_tables.candidates import benchmark_tables
from evaluator.benchmarks.source import Source
from generator.base.errors import UserError, did_you_mean
from generator.dataset.reader import Benchmark
from generator.dataset.records import BENCHMARK_TABLES
from generator.dataset.writer import write_benchmark

PLUGINS = "jackalope.benchmarks"
"""Group of entry points by which other packages add benchmarks: functions as Reader."""
TABLE = "table"
Reader = Callable[[Path, Path | None], External]
"""Reads a benchmark from a file or folder, and the folder of its images where it is given."""


def external_source(text: str, images: Path | None, filters: Sequence[str] = ()) -> Source | None:
    """The benchmark of others that NAME:PATH names; None for a folder or a URL. Raises UserError for a NAME that no one offers."""
    name, colon, path = text.partition(":")
    if not colon or not path or Path(text).exists() or path.startswith("//") or "/" in name:
        return None
    known = [*LAYOUTS, TABLE, *(entry.name for entry in entry_points(group=PLUGINS))]
    if name not in known:
        raise UserError(f"Unknown benchmark '{name}' in '{text}': {did_you_mean(name, known)}")
    return Source(Path(path), name, images, tuple(filters))


def open_external(source: Source) -> tuple[Pictures, Benchmark]:
    """The images and the questions of a benchmark of others, all in memory but the images.

    Raises UserError where its files or images are missing or not of its layout.
    """
    name = str(source.name)
    external = read_external(source)
    tables = benchmark_tables(external.table, source.path, probabilities=False)
    with tempfile.TemporaryDirectory(prefix="external-") as folder:
        benchmark = Benchmark(write_questions(Path(folder), name, vars(tables), external.about))
        for table in BENCHMARK_TABLES:
            getattr(benchmark, table)  # read before the folder goes
    return external.pictures, benchmark


def read_external(source: Source) -> External:
    """The candidates and the images of a benchmark of others. Raises UserError as `open_external`."""
    if not source.path.exists():
        raise UserError(
            f"There is no {source.path}; give the file or folder of {source.name} that its authors publish."
        )
    if source.images is not None and not source.images.is_dir():
        raise UserError(f"There is no folder {source.images}; give the folder of the images with --images.")
    name = str(source.name)
    if name in LAYOUTS:
        return read_layout(name, source.path, source.images, source.filters)
    if source.filters:
        raise UserError(f"'{name}' has no filters ({', '.join(source.filters)}); leave --filter out.")
    return _reader(name)(source.path, source.images)


def write_questions(root: Path, name: str, tables: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> Path:
    """Write the items, candidates and texts of a benchmark of others into `root`/benchmarks/`name`; returns that folder.

    about: how it was read, for its manifest.
    """
    parts = {part: tables[part] for part in ("items", "candidates", "texts")}
    return write_benchmark(root, name, parts, None, {READING: dict(about)} if about else {})


def _reader(name: str) -> Reader:
    if name == TABLE:
        return read_own_table
    (entry, *others) = entry_points(group=PLUGINS, name=name)
    if others:
        packages = ", ".join(str(each.dist.name) for each in (entry, *others) if each.dist)
        raise UserError(f"The benchmark '{name}' is offered by several packages ({packages}); uninstall all but one.")
    try:
        reader: Reader = resolve_name(entry.value)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"The benchmark '{name}' cannot be read with {entry.value} ({error}); mend or uninstall its package."
        ) from None
    return reader
