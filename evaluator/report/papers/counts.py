"""Tables of what datasets hold: of the benchmarks that runs were asked, whatever their models."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.records import Results
from evaluator.report.papers.given import DEFAULTS, Given, Label, Labels
from evaluator.report.papers.paper import Part, by_label
from evaluator.report.table import Cell, Table
from evaluator.runs.folder import Run
from generator.dataset.counts import count_benchmark, count_questions, vocabulary_of
from generator.dataset.reader import Benchmark, World

DATASET = "dataset"
"""The `protocol` of counts that are of no questions: images and names of a split."""
_METRICS = (
    "items",
    "captions",
    "false_texts",
    "set_size",
    "images",
    "atoms",
    "atoms_not_in_training",
    "compounds",
    "compounds_not_in_training",
)
_LABELS = ("protocol", "kind", "skill", "level", "n", "split")
_GROUPINGS = [
    ("protocol", "split", *by) for by in ((), ("kind",), ("n",), ("kind", "n"), ("level",), ("skill", "level"))
]


def count(label: Label, labels: Labels) -> Cell:
    """The number that a dataset has of what these labels select."""
    row: Any = label.find(labels)[0]
    if row is None:
        return Cell(reason=label.why_missing(labels))
    if row["value"] is None:
        return Cell(reason="not the same for all of its questions")
    return Cell(f"{row['value']:,}", numbers=row)


def counted(head: str, metric: str, group: str = "", **of: Any) -> Part:
    """A column with a number: `items`, `captions`, `false_texts`, `set_size`; of DATASET `images`, `atoms`,
    `compounds` or those `..._not_in_training`."""
    return Part(head, {"metric": metric, **of}, count, group)


def count_table(
    given: Given,
    columns: Sequence[Part],
    rows: Sequence[Part] = (Part(),),
    head: str = "",
    of: Labels | None = None,
    note: str = "",
) -> Table:
    """For each of `rows` a line for each dataset that runs were asked; without lines where no dataset has any of its
    numbers."""
    table = by_label(datasets(given), columns, rows, head, of, sizes=False, notes=[note] if note else [])
    labels = [DATASET if label == "model" else label for label in table.labels]
    known = any(cell.numbers for line in table.lines for cell in line.cells)
    return replace(table, labels=labels, lines=table.lines if known else [])


def datasets(given: Given) -> list[Label]:
    """A label for each benchmark that runs were asked, named after it; its rows are counts."""
    asked: dict[str, tuple[Run, Results]] = {}
    for run, results in (pair for label in given.labels for pair in zip(label.opened, label.runs, strict=True)):
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
        Label(
            (f"{name}, {digest[:8]}" if again[name] > 1 else name,),
            [{"rows": _rows(*asked[digest])}],
            opened=[asked[digest][0]],
        )
        for digest, name in full.items()
    ]


def captions_by_atom(run: Run) -> list[dict[str, Any]]:
    """How many captions of training and of each split name each atom; none for worlds without forms."""
    return _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[1] if run.world else []


def _rows(run: Run, results: Results) -> list[Any]:
    """Counts in the form of rows of results."""
    counts = list(_counts(run.benchmark.folder, run.benchmark.digest))
    if run.world:
        counts += _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[0]
    raw = [row for row in results["rows"] if row["kind"] == RAW and row["chance"]]
    counts += [
        {"protocol": row["protocol"], "kind": RAW, "split": row["split"], "set_size": round(1 / row["chance"])}
        for row in raw
    ]
    rows = {}
    for each in counts:
        for metric in (metric for metric in _METRICS if metric in each):
            if (metric, each.get("kind"), "items" in each) == ("set_size", RAW, True):
                continue  # folds are larger than an item
            row = {**DEFAULTS, **{name: each[name] for name in _LABELS if name in each}, "metric": metric}
            rows[frozenset(row.items())] = {**row, "value": each[metric], "unit": "count"}
    return list(rows.values())


@cache
def _counts(folder: Path, digest: str) -> list[dict[str, Any]]:
    """The questions of a whole benchmark, of which a run may have been asked a part."""
    return count_questions(Benchmark(folder), _GROUPINGS)


@cache
def _of_world(folder: Path, world: Path, digest: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The images and names of each split, and the captions that name each atom; worlds of others have neither splits
    nor forms."""
    benchmark = Benchmark(folder)
    found = count_benchmark(benchmark, vocabulary_of(World(world)))
    images = Counter(benchmark.splits["split"].to_pylist())
    counts = [*found["names"], *({"split": split, "images": each} for split, each in images.items())]
    return [{"protocol": DATASET, **each} for each in counts], found["atoms"]
