"""`score audit --quick`: which kinds of questions texts alone answer, by one learner on a sample of
each kind."""

from typing import Any

import numpy as np

from evaluator.audits.audit import CHANCE, decide_kinds
from evaluator.audits.blind import FEWEST_CLUSTERS, make_pairs, p_above, quick_test
from evaluator.audits.sample import Sample, draw_samples
from evaluator.statistics.intervals import cluster_mean
from generator.base.progress import SILENT, Progress
from generator.dataset.floor import FloorKind
from generator.dataset.reader import Benchmark

QUICK_ITEMS = 1000
"""Items of a kind that are drawn at most: enough to show 55% against 50%, and audited in about a
second."""
FEWEST_ITEMS = 300
"""Kinds with fewer items are not judged: their interval is wider than the leaks that balanced texts
still have."""


def find_floor(
    benchmark: Benchmark, items: int = QUICK_ITEMS, seed: int = 0, progress: Progress = SILENT
) -> list[FloorKind]:
    """Test each kind with at least FEWEST_ITEMS items.

    Args:
        benchmark: the benchmark to audit.
        items: most items to draw of a kind.
        seed: seed of items, negatives and folds.
        progress: told of each kind.

    Returns:
        The result of each kind, with verdicts corrected over kinds (Holm 1979).

    Raises:
        UserError: if no evaluation item has a false text.
    """
    samples = [
        each for each in draw_samples(benchmark, (), items, seed) if each.available >= FEWEST_ITEMS
    ]
    tested = [
        _test_kind(each, seed) for each in progress.follow(samples, "texts alone", len(samples))
    ]
    revealed = decide_kinds([(result["p"], result["low"]) for result in tested])
    return [
        FloorKind(
            name=str(sample.kind),
            items=sample.available,
            sampled=len(sample.questions),
            value=result["value"],
            low=result["low"],
            high=result["high"],
            revealed=is_revealed,
        )
        for sample, result, is_revealed in zip(samples, tested, revealed, strict=True)
    ]


def _test_kind(sample: Sample, seed: int) -> dict[str, Any]:
    """The share of pairs that a learner tells apart, its interval, and p against chance; None for
    too few groups."""
    questions = sample.questions
    clusters = np.array([question.cluster for question in questions])
    if len(set(clusters)) < FEWEST_CLUSTERS:
        return dict.fromkeys(("value", "low", "high", "p"))
    # Perplexities are left out: the trigram would be fitted on these texts, and a language model
    # takes minutes.
    unknown = np.full((len(questions), 2), np.nan)
    captions, foils = (
        [getattr(each, name) for each in questions] for name in ("caption", "negative")
    )
    outcomes = quick_test(make_pairs(captions, foils, clusters.tolist(), unknown), seed).outcomes
    estimate = cluster_mean(outcomes, clusters)
    shares = {name: round(float(getattr(estimate, name)), 6) for name in ("value", "low", "high")}
    return {**shares, "p": p_above(outcomes, clusters, CHANCE, seed)}
