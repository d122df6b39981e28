"""`score audit --quick`: which kinds of questions texts alone answer, by one learner on a sample of
each kind."""

from typing import Any

import numpy as np

from evaluator.audits.audit import CHANCE, decide_kinds
from evaluator.audits.blind import FEWEST_CLUSTERS, make_pairs, p_above, quick_test
from evaluator.audits.sample import KindSample, draw_samples
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
    benchmark: Benchmark, items: int = QUICK_ITEMS, *, seed: int = 0, progress: Progress = SILENT
) -> list[FloorKind]:
    """Test each kind with at least FEWEST_ITEMS items.

    Args:
        benchmark: The benchmark to audit.
        items: Most items to draw of a kind.
        seed: Seed of items, negatives and folds.
        progress: Told of each kind.

    Returns:
        The result of each kind, with verdicts corrected over kinds (Holm 1979).

    Raises:
        UserError: No evaluation item has a false text.
    """
    samples = [
        sample
        for sample in draw_samples(benchmark, (), most_items=items, seed=seed)
        if sample.available >= FEWEST_ITEMS
    ]
    tested = []
    for sample in progress.follow(samples, "texts alone", total=len(samples)):
        tested.append(_test_kind(sample, seed))
    revealed = decide_kinds([(result["p"], result["low"]) for result in tested])
    kinds = []
    for sample, result, is_revealed in zip(samples, tested, revealed, strict=True):
        kind = FloorKind(
            name=str(sample.kind),
            items=sample.available,
            sampled=len(sample.questions),
            value=result["value"],
            low=result["low"],
            high=result["high"],
            revealed=is_revealed,
        )
        kinds.append(kind)
    return kinds


def _test_kind(sample: KindSample, seed: int) -> dict[str, Any]:
    """The share of pairs that a learner tells apart, its interval, and p against chance; None for
    too few groups."""
    questions = sample.questions
    clusters = np.array([question.cluster for question in questions])
    if len(set(clusters)) < FEWEST_CLUSTERS:
        return dict.fromkeys(("value", "low", "high", "p"))
    pairs = make_pairs(
        [question.caption for question in questions],
        [question.negative for question in questions],
        clusters=clusters.tolist(),
        # Perplexities are left out: the trigram would be fitted on these texts, and a language
        # model takes minutes.
        perplexities=np.full((len(questions), 2), np.nan),
    )
    outcomes = quick_test(pairs, seed).outcomes
    estimate = cluster_mean(outcomes, clusters)
    shares = {name: round(float(getattr(estimate, name)), 6) for name in ("value", "low", "high")}
    return {**shares, "p": p_above(outcomes, clusters, CHANCE, seed)}
