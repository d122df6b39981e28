"""Numbers of the datasets that runs were asked, as rows under labels, whatever the models."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.protocols.pools import RAW
from evaluator.protocols.records import Row
from evaluator.report.papers.given import Given, Label, told
from evaluator.runs.folder import NamedRun, Run
from generator.dataset.counts import count_benchmark, count_questions, vocabulary_of
from generator.dataset.reader import Benchmark, World

DATASET = "dataset"
"""The `protocol` of counts that are of no questions: images and names of a split."""
EVERY = "every protocol"
"""The `protocol` of counts of all questions together."""
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
_GROUPINGS = [
    ("protocol", "split", *by) for by in ((), ("kind",), ("n",), ("kind", "n"), ("level",), ("skill", "level"))
] + [("split", "level")]


def datasets(given: Given) -> list[Label]:
    """A label for each benchmark that runs were asked, named after it; its rows are counts, whose metrics are
    _METRICS."""
    asked: dict[str, NamedRun] = {}
    for each in (run for label in given.labels for run in label.runs):
        asked.setdefault(each.run.benchmark.digest, each)
    names = {digest: each.run.benchmark.name for digest, each in asked.items()}
    # of one name are the benchmarks of several blocks; a digest tells apart those of one block
    for digest, name in _repeated(names):
        if (block := asked[digest].results["factors"]["block_seed"]) is not None:
            names[digest] = f"{name}, block {block}"
    for digest, name in _repeated(names):
        names[digest] = f"{name}, {digest[:8]}"
    return [Label((name,), [{"rows": _rows(asked[digest])}], runs=[asked[digest]]) for digest, name in names.items()]


def _repeated(names: dict[str, str]) -> list[tuple[str, str]]:
    times = Counter(names.values())
    return [(digest, name) for digest, name in names.items() if times[name] > 1]


def captions_by_atom(run: Run) -> list[dict[str, Any]]:
    """How many captions of training and of each split name each atom; none for worlds without forms."""
    return _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[1] if run.world else []


def _rows(asked: NamedRun) -> list[Row]:
    """Counts in the form of rows of results."""
    run = asked.run
    counts = [{"protocol": EVERY, **each} for each in _counts(run.benchmark.folder, run.benchmark.digest)]
    # folds are larger than an item
    counts = [{k: v for k, v in each.items() if (k, each.get("kind")) != ("set_size", RAW)} for each in counts]
    if run.world:
        counts += _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[0]
    folds = {
        (row["protocol"], row["split"]): round(1 / row["chance"])
        for row in asked.results["rows"]
        if row["kind"] == RAW and row["chance"]
    }
    counts += [{"protocol": name, "kind": RAW, "split": split, "set_size": n} for (name, split), n in folds.items()]
    rows: dict[Any, Row] = {}  # groupings by labels that are None count the same again
    for each in counts:
        labels = {name: value for name, value in each.items() if name not in _METRICS and value is not None}
        for metric in (metric for metric in _METRICS if metric in each):
            reason = "not the same for all of its questions"
            rows[metric, *labels.items()] = told(metric, each[metric], reason=reason, **labels)
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
