"""CREPE (protocols, section 3; Ma et al. 2023): compounds seen and unseen in training, captions of
growing complexity, and raw retrieval between images and their own captions in folds."""

from collections.abc import Sequence

import numpy as np

from evaluator.metrics.ranking import ranks
from evaluator.protocols.pools import Fold, make_folds
from evaluator.protocols.records import Row, by_key
from evaluator.protocols.results import (
    Labels,
    Mean,
    Outcome,
    Protocol,
    ProtocolResults,
    atoms,
    category_means,
    recall,
    result_row,
    right,
    tabulate,
)
from evaluator.protocols.scores import Scores
from evaluator.statistics.intervals import cluster_means
from generator.base.clusters import Clusters
from generator.dataset.reader import Benchmark
from generator.dataset.records import RAW

RAW_METRICS = ("raw R@1, image to text", "raw R@1, text to image")
"""Right if the best candidate is true of the query, whichever it is. The main numbers: a model that
knows the truth reaches 100%. Only for folds whose truth is known."""
OWN_METRICS = ("raw R@1, image to its own text", "raw R@1, text to its own image")
"""Right only if the best candidate is the one that the query was made with, as in CREPE (appendix
B.2). There other true candidates are "false negatives", so that even a model that knows the truth
does not reach 100%."""


class Systematicity(Protocol):
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split; raw retrieval by
    split. Only R@1 if scores are not graded."""

    name = "systematicity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.take(
            items.kind != RAW
        )  # they are compared with the captions of their pools only
        first, third = (recall(items, items.false, f"R@{k}", k) for k in (1, 3))
        mean = Outcome(
            "mean of R@1 and R@3",
            np.mean([first.value, third.value], axis=0),
            first.tie | third.tie,
            np.mean([first.chance, third.chance], axis=0),
        )
        outcomes = [first, third, mean] if items.graded else [first]
        rows = tabulate(items, outcomes, ["kind"])
        if len(set(items.skill)) > 1:  # compounds of attributes and of relations
            rows += tabulate(items, outcomes, ["kind", "skill"], gaps=False)
        return ProtocolResults(items, outcomes, rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=False)


class Productivity(Protocol):
    """R@1 by kind of negatives (atom, swap, neg, all), over all captions and by number of atoms n;
    raw retrieval by n.

    For CREPE itself, whose authors plot R@1 by n, also the mean over n.
    """

    name = "productivity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.take(
            items.kind != RAW
        )  # they are compared with the captions of their pools only
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["kind"]) + tabulate(
            items, [first], ["kind", "n"], gaps=False
        )
        if scores.averages_categories:
            sizes = [(kind, str(n)) for kind, n in zip(items.kind, atoms(items), strict=True)]
            rows += category_means(items, [first], sizes, overall=False)
        return ProtocolResults(items, [first], rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=True)


def retrieval_rows(scores: Scores, protocol: str) -> list[Row]:
    """R@1 in the folds that the run scored, from image to text and from text to image: a row for
    each split, skill and number of atoms, for RAW_METRICS and OWN_METRICS.

    Mean over items, interval by cluster, standard deviation over the folds. A tie is never correct.
    A query is unscored when one of its scores is not a number, or when the model cannot tell a true
    candidate from a false one.
    """
    folds = scores.folds.get(protocol, ())
    several_skills = len({fold.skill for fold in folds}) > 1
    groups = by_key(((fold.split, fold.skill, fold.n), fold) for fold in folds)
    rows = []
    for metric in (*RAW_METRICS, *OWN_METRICS):
        to_images = metric in (RAW_METRICS[1], OWN_METRICS[1])
        run = scores.between_images or scores if to_images else scores
        for (split, skill, n), members in groups.items():
            if metric in RAW_METRICS and any(fold.truth is None for fold in members):
                continue
            queries = [_queries(fold, run, metric, to_images) for fold in members]
            labels = {
                "kind": RAW,
                "skill": skill if several_skills else None,
                "n": n,
                "split": split,
            }
            rows.append(_retrieval_row(scores, members, queries, labels))
    return rows


def _retrieval_row(
    scores: Scores,
    folds: Sequence[Fold],
    queries: Sequence[tuple[Outcome, np.ndarray]],
    labels: Labels,
) -> Row:
    """The row of one metric over the folds of a group. queries: for each fold the outcome, and
    which are scored (N,)."""
    scored = np.concatenate([of_fold for _, of_fold in queries])
    outcome = queries[0][0]
    value, tie, chance = (
        np.concatenate([getattr(of_fold, name) for of_fold, _ in queries])[scored]
        for name in ("value", "tie", "chance")
    )
    clusters = np.concatenate([fold.clusters for fold in folds])[scored]
    images = np.concatenate([fold.images for fold in folds])[scored]
    by_chance = float(chance.mean()) if len(chance) else float(outcome.chance.mean())
    bindings = [scores.shown.get(image, "") for image in images]
    shared = Clusters.of(clusters, bindings, images, vocabulary=scores.vocabulary)
    estimate = cluster_means(value[:, None], shared, scores.confidence, chance=[by_chance])[0]
    means = [float(outcome.value[of_fold].mean()) for outcome, of_fold in queries if of_fold.any()]
    sd = float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
    mean = Mean(estimate, by_chance, sd)
    return result_row(
        outcome, labels, mean, "micro (over items)", int(tie.sum()), int((~scored).sum())
    )


def _queries(fold: Fold, run: Scores, metric: str, to_images: bool) -> tuple[Outcome, np.ndarray]:
    """The outcome of each image of a fold, or with `to_images` of each text; and whether it is
    scored (N,)."""
    n = len(fold.images)
    pairs = np.repeat(np.arange(n)[:, None], 2, axis=1)
    if metric in RAW_METRICS and fold.truth is not None:
        pairs = fold.truth
    ranked = ranks(run.matrix(fold), pairs, run.tolerance)[to_images]
    truth = np.zeros((n, n), dtype=bool)
    truth[pairs[:, 0], pairs[:, 1]] = True
    by_chance = truth.sum(axis=0 if to_images else 1) / n
    scored = (ranked.at_or_above >= 0) & ~_ambiguous(fold, run, truth, to_images)
    return right(metric, by_chance, (ranked.recall(1), ranked.lost_to_ties(1))), scored


def _ambiguous(fold: Fold, run: Scores, truth: np.ndarray, to_images: bool) -> np.ndarray:
    """Whether the model's input is the same for a text that is true of an image and for one that is
    not, bool (N,): of each image, or with `to_images` of each text. truth: bool (images, texts)."""
    texts_of_input = by_key(
        (run.indistinct.get(text, text), place) for place, text in enumerate(fold.texts)
    )
    found = np.zeros(len(fold.images), dtype=bool)
    for places in texts_of_input.values():
        if len(places) > 1:
            images = truth[:, places].any(axis=1) & ~truth[:, places].all(axis=1)
            if not to_images:
                found |= images
            elif images.any():
                found[places] = True
    return found
