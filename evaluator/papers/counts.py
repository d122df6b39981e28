"""Counts of the datasets that runs were asked about: questions, images, names. They do not depend
on the models."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.papers.inputs import LabelledRuns, PaperInputs, count_row
from evaluator.protocols.crepe import OWN_METRICS
from evaluator.protocols.records import Row
from evaluator.runs.folder import NamedRun, Run
from generator.dataset.counts import count_benchmark, count_questions, read_vocabulary_record
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import RAW

DATASET = "dataset"
"""The `protocol` of counts that concern no questions: images and names of a split."""
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
"""The names of the counts; the other columns of a count say what is counted."""
# Those that a table of some paper shows: more would only cost time, and each is counted for every
# benchmark.
_GROUPINGS = [
    ("protocol", "split"),
    ("protocol", "split", "kind"),
    ("protocol", "split", "n"),
    ("protocol", "split", "kind", "n"),
    ("protocol", "split", "level"),
    ("protocol", "split", "skill", "level"),
    ("split", "level"),
]
"""The columns by which questions are counted."""


def benchmark_labels(inputs: PaperInputs) -> list[LabelledRuns]:
    """Make a label for each benchmark of the runs, named after it.

    Args:
        inputs: The runs.

    Returns:
        Labels whose rows are counts of the benchmark. Benchmarks of the same name have their block
        or the start of their digest in the label.
    """
    run_of_digest: dict[str, NamedRun] = {}
    for label in inputs.labels:
        for run in label.runs:
            # Counts do not depend on the model, so one run stands for all runs of its benchmark.
            run_of_digest.setdefault(run.run.benchmark.digest, run)
    names = {digest: run.run.benchmark.name for digest, run in run_of_digest.items()}
    for digest in _with_repeated_names(names):
        block = run_of_digest[digest].results["factors"]["block_seed"]
        if block is not None:
            names[digest] += f", block {block}"
    for digest in _with_repeated_names(names):
        names[digest] += f", {digest[:8]}"
    labels = []
    for digest, name in names.items():
        run = run_of_digest[digest]
        labels.append(LabelledRuns((name,), [{"rows": _rows(run)}], runs=[run]))
    return labels


def captions_by_atom(run: Run) -> list[dict[str, Any]]:
    """Count the captions that name each atom (CREPE, appendix A.6).

    Args:
        run: A run.

    Returns:
        For each atom the number of captions of training and of each split of systematicity; empty
        without a world or forms.
    """
    if not run.world:
        return []
    _, atoms = _world_counts(run.benchmark.folder, run.world.folder, run.benchmark.digest)
    return [row for row in atoms if row["protocol"] == "systematicity"]


def _with_repeated_names(names: Mapping[str, str]) -> list[str]:
    """The digests of benchmarks whose name another one has too."""
    times = Counter(names.values())
    return [digest for digest, name in names.items() if times[name] > 1]


def _rows(named: NamedRun) -> list[Row]:
    """The counts of a run's benchmark, in the form of rows of results."""
    run = named.run
    counts: list[dict[str, Any]] = []
    for count in _question_counts(run.benchmark.folder, run.benchmark.digest):
        # A grouping without the protocol counts questions of all protocols.
        count = {"protocol": EVERY, **count}
        if count.get("kind") == RAW:
            # The pools of raw retrieval are folds, whose sizes are added below.
            count.pop("set_size", None)
        counts.append(count)
    if run.world:
        counts += _world_counts(run.benchmark.folder, run.world.folder, run.benchmark.digest)[0]
    sizes_of_folds = {}
    for row in named.results["rows"]:
        if row["metric"] in OWN_METRICS and row["chance"]:
            # By CREPE's rule one candidate of a fold is right, so chance is 1 / size (appendix
            # B.2).
            sizes_of_folds[row["protocol"], row["split"]] = round(1 / row["chance"])
    for (protocol, split), size in sizes_of_folds.items():
        counts.append({"protocol": protocol, "kind": RAW, "split": split, "set_size": size})

    # A grouping by a column that is None repeats an earlier count: the last one counts.
    rows: dict[Any, Row] = {}
    for count in counts:
        columns = {}
        for name, value in count.items():
            if name not in _METRICS and value is not None:
                columns[name] = value
        for metric in _METRICS:
            if metric in count:
                reason = "differs between its questions"
                row = count_row(metric, count[metric], reason=reason, **columns)
                rows[metric, *columns.items()] = row
    return list(rows.values())


@cache
def _question_counts(folder: Path, digest: str) -> list[dict[str, Any]]:
    """Counts of all questions of a benchmark, even if the run was asked only a part of them. The
    digest is part of the cache's key."""
    return count_questions(Benchmark(folder), _GROUPINGS)


@cache
def _world_counts(
    folder: Path, world: Path, digest: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Counts of the images and names of each split, and of the captions that name each atom. Needs
    a world with splits and forms, which published benchmarks lack."""
    benchmark = Benchmark(folder)
    counts = count_benchmark(benchmark, read_vocabulary_record(World(world)))
    images_of_split = Counter(benchmark.splits["split"].to_pylist())
    images = [
        {"protocol": DATASET, "split": split, "images": number}
        for split, number in images_of_split.items()
    ]
    return [*counts["names"], *images], counts["atoms"]
