"""What the training of a submitted model saw, and whether that fits the benchmark it answers."""

from collections.abc import Mapping
from typing import Any

from evaluator.provenance.contamination import CLEAN, FITTED, unknown_training
from evaluator.runs.held_out import describe_holdout
from evaluator.submissions.records import SubmittedTraining
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset

UNKNOWN, NONE, RECORDED, OWN_TEXTS = "unknown", "none", "recorded", "texts of the run"
"""What is known of a training: nothing; that there was none; the benchmark; or that the model is
fitted on the texts that it is asked about."""


def training_of_run(record: Mapping[str, Any], dataset: Dataset) -> SubmittedTraining:
    """Say what a run records of the training of its model.

    Args:
        record: The contents of run.json.
        dataset: The dataset that was asked.

    Returns:
        What training saw. A benchmark of another dataset is known by its digest alone.
    """
    status = str((record.get("training") or unknown_training())["status"])
    trained_on = (record.get("info") or {}).get("trained_on") or {}
    saw = {CLEAN: NONE, FITTED: OWN_TEXTS}.get(status, UNKNOWN)
    if not trained_on:
        return SubmittedTraining(status=status, saw=saw, benchmark=None, world=None, held_out="")
    benchmark = find_benchmark(dataset, trained_on.get("benchmark"))
    held_out = UNKNOWN if benchmark is None else describe_holdout(benchmark.holdout)
    return SubmittedTraining(
        status=status,
        saw=RECORDED,
        benchmark=trained_on.get("benchmark"),
        world=trained_on.get("world"),
        held_out=held_out,
    )


def training_seed_of(record: Mapping[str, Any]) -> Any:
    """Read the seed of the training of a run's model.

    Args:
        record: The contents of run.json.

    Returns:
        The seed; None if it is not recorded.
    """
    trained_on = (record.get("info") or {}).get("trained_on") or {}
    return (trained_on.get("recipe") or {}).get("seed")


def find_benchmark(dataset: Dataset, digest: str | None) -> Benchmark | None:
    """Find a benchmark of a dataset by its digest.

    Args:
        dataset: The dataset.
        digest: The digest; None for an unknown one.

    Returns:
        The benchmark; None if the dataset has none with this digest.
    """
    for name in dataset.benchmark_names():
        benchmark = dataset.benchmark(name)
        if benchmark.digest == digest:
            return benchmark
    return None


def check_training(
    name: str, training: SubmittedTraining, evaluated: Benchmark, dataset: Dataset
) -> None:
    """Check that a training which is recorded as clean fits the benchmark that was asked.

    Turn 1 of a rotation trains on what turn 0 holds out: a model of turn 1 that answers turn 0 is
    contaminated, whatever its record says.

    Args:
        name: The submission, for messages.
        training: What its training saw.
        evaluated: The benchmark that it answers.
        dataset: The dataset of the benchmark.

    Raises:
        UserError: The recorded training showed combinations that the benchmark holds out, and the
            submission says that it is clean.
    """
    # Others are marked as contaminated or unknown already; only a claim can be contradicted.
    if training["status"] != CLEAN or training["saw"] != RECORDED:
        return
    trained = find_benchmark(dataset, training["benchmark"])
    # Without the benchmark of the training it is not known what it showed.
    if trained is None or trained.digest == evaluated.digest:
        return
    # The training shows all combinations but its own held-out ones.
    leaked = _held_out_names(evaluated) - _held_out_names(trained)
    if leaked:
        raise UserError(
            f"{name} says that its training on {trained.name} is clean, and {trained.name} shows "
            f"{len(leaked):,} of the combinations that {evaluated.name} holds out, such as "
            f"{' '.join(min(leaked))}."
        )


def _held_out_names(benchmark: Benchmark) -> set[tuple[str, ...]]:
    """The combinations, values and objects that a benchmark holds out."""
    holdout = benchmark.holdout or {}
    names: set[tuple[str, ...]] = set()
    for entry in ("bindings", "triples"):
        names |= {tuple(combination) for combination in holdout.get(entry, ())}
    for entry in ("absent_values", "absent_objects"):
        names |= {(name,) for name in holdout.get(entry, ())}
    return names
