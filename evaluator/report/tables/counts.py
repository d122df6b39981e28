"""Tables of what datasets hold: of the benchmarks that runs were asked, whatever their models."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.results import Results, Row
from evaluator.report.tables.paper import PaperTable, Part
from evaluator.report.tables.sources import DEFAULTS, Labels, Source
from evaluator.report.tables.table import Cell, Table
from evaluator.runs.folder import Run
from generator.dataset.counts import count_benchmark, count_questions, vocabulary_of
from generator.dataset.reader import Benchmark, World

DATASET = "dataset"
"""The `protocol` of counts that are of no questions: images and names of a split."""
_LABEL = "model"  # the head of labels in a PaperTable
_QUESTIONS = ("items", "captions", "false_texts", "set_size")
_NAMES = ("atoms", "atoms_not_in_training", "compounds", "compounds_not_in_training")
_GROUPINGS = [
    ("protocol", "split", *by)
    for by in ((), ("kind",), ("n",), ("kind", "n"), ("level",), ("skill", "level"))
]  # fmt: skip


def count(source: Source, labels: Labels) -> Cell:
    """The number that a dataset has of what these labels select."""
    row, _ = source.find(labels)
    if row is None:
        return Cell(reason=source.why_missing(labels))
    if row["value"] is None:
        return Cell(reason="not the same for all of its questions")
    return Cell(f"{row['value']:,}", numbers=row)


def counted(head: str, metric: str, group: str = "", **of: Any) -> Part:
    """A column with a number: `items`, `captions`, `false_texts`, `set_size`; of DATASET `images`, `atoms`, `compounds` or those
    `..._not_in_training`."""
    return Part(head, {"metric": metric, **of}, count, group)


@dataclass(frozen=True)
class CountTable:
    """A table of numbers by its number in the paper, for each of `rows` a line for each dataset that runs were asked."""

    number: str
    title: str
    columns: Sequence[Part]
    rows: Sequence[Part] = (Part(),)
    head: str = ""
    of: Labels | None = None
    notes: Sequence[str] = ()
    wanted: str = "no run was asked such items"

    def make(self, sources: Sequence[Source]) -> Table:
        """The table; without lines where no dataset has any of its numbers."""
        table = PaperTable(
            self.number, self.title, self.columns, self.rows, self.head, self.of or {}, sizes=False, notes=self.notes
        ).make(_datasets(sources))
        labels = [DATASET if label == _LABEL else label for label in table.labels]
        known = any(cell.numbers for line in table.lines for cell in line.cells)
        return replace(table, labels=labels, lines=table.lines if known else [])


@dataclass(frozen=True)
class AtomFigure:
    """How often captions of training and of the splits name each atom, a figure for each dataset. draw: of evaluator.report.figures."""

    number: str
    draw: Callable[[str, Sequence[Mapping[str, Any]], Sequence[str]], str]
    splits: Sequence[str]
    wanted: str = "no run was asked about a world whose captions name atoms"

    def make(self, sources: Sequence[Source]) -> list[str]:
        """SVG texts."""
        datasets = [(source.name, _atoms(source.opened[0])) for source in _datasets(sources)]
        return [self.draw(name, atoms, self.splits) for name, atoms in datasets if atoms]


def _datasets(sources: Sequence[Source]) -> list[Source]:
    """A source for each benchmark that runs were asked, named after it; its rows are counts."""
    asked: dict[str, tuple[Run, Results]] = {}
    for run, results in (pair for source in sources for pair in zip(source.opened, source.runs, strict=True)):
        asked.setdefault(run.benchmark.digest, (run, results))
    # of one name are the benchmarks of several blocks; a digest tells apart those of one block
    names = Counter(run.benchmark.name for run, _ in asked.values())
    full = {
        digest: f"{run.benchmark.name}, block {results['factors']['block_seed']}"
        if names[run.benchmark.name] > 1 and results["factors"]["block_seed"] is not None
        else run.benchmark.name
        for digest, (run, results) in asked.items()
    }
    again = Counter(full.values())
    return [
        Source((f"{name}, {digest[:8]}" if again[name] > 1 else name,), [{"rows": _rows(run, results)}], opened=[run])
        for digest, name in full.items()
        for run, results in [asked[digest]]
    ]


def _rows(run: Run, results: Results) -> list[Row]:
    """Counts in the form of rows of results."""
    counts = [*_counts(run.benchmark.folder, run.benchmark.digest), *_names(run)]
    counts += [
        {"protocol": row["protocol"], "kind": RAW, "split": row["split"], "set_size": round(1 / row["chance"])}
        for row in results["rows"]
        if row["kind"] == RAW and row["chance"]
    ]
    rows = {
        frozenset(row.items()): {**row, "value": each[metric], "unit": "count"}
        for each in counts
        for metric in (*_QUESTIONS, *_NAMES, "images")
        if metric in each
        and (metric, each.get("kind"), "items" in each) != ("set_size", RAW, True)  # folds are larger than an item
        for row in [{**DEFAULTS, **{name: value for name, value in each.items() if name in _ROW}, "metric": metric}]
    }
    return list(rows.values())


_ROW = ("protocol", "kind", "skill", "level", "n", "split")


@cache
def _counts(folder: Path, digest: str) -> list[dict[str, Any]]:
    """The questions of a whole benchmark, of which a run may have been asked a part."""
    return count_questions(Benchmark(folder), _GROUPINGS)


def _names(run: Run) -> list[dict[str, Any]]:
    return _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[0] if run.world else []


def _atoms(run: Run) -> list[dict[str, Any]]:
    return _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[1] if run.world else []


@cache
def _of_world(folder: Path, world: Path, digest: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The images and names of each split, and the captions that name each atom; worlds of others have neither splits nor forms."""
    benchmark = Benchmark(folder)
    found = count_benchmark(benchmark, vocabulary_of(World(world)))
    images = Counter(benchmark.splits["split"].to_pylist())
    counts = [*found["names"], *({"split": split, "images": each} for split, each in images.items())]
    return [{"protocol": DATASET, **each} for each in counts], found["atoms"]
