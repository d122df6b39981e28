"""CREPE (protocols, section 3; Ma et al. 2023): compounds seen and unseen in training, captions of growing complexity,
and raw retrieval between images and their own captions in folds."""

from collections import Counter

import numpy as np

from evaluator.metrics.ranking import ranks
from evaluator.protocols.pools import RAW, Fold, make_folds
from evaluator.protocols.records import Row, by_key
from evaluator.protocols.results import (
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

RAW_METRICS = ("raw R@1, image to text", "raw R@1, text to image")


class Systematicity(Protocol):
    """R@1, R@3 and their mean by kind of negatives (atom, comp, both) and split; raw retrieval by split. Only R@1 if
    scores are not graded."""

    name = "systematicity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        items = items.take(items.kind != RAW)  # captions without negatives, for raw retrieval only
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
    """R@1 by kind of negatives (atom, swap, neg, all), over all captions and by number of atoms n; raw retrieval by n.

    For CREPE itself, whose authors plot R@1 by n, also the mean over n.
    """

    name = "productivity"

    def measure(self, scores: Scores) -> ProtocolResults:
        items = scores.items(self.name)
        first = recall(items, items.false)
        rows = tabulate(items, [first], ["kind"]) + tabulate(items, [first], ["kind", "n"], gaps=False)
        if scores.averages_categories:
            sizes = [(kind, str(n)) for kind, n in zip(items.kind, atoms(items), strict=True)]
            rows += category_means(items, [first], sizes, overall=False)
        return ProtocolResults(items, [first], rows + retrieval_rows(scores, self.name))

    def folds(self, benchmark: Benchmark) -> list[Fold]:
        return make_folds(benchmark, self.name, by_atoms=True)


def retrieval_rows(scores: Scores, protocol: str) -> list[Row]:
    """R@1 in the folds that the run scored, from image to text and from text to image: a row for each split and number
    of atoms.

    Mean over items, interval by cluster, standard deviation over the folds. A tie is never correct. A query is unscored
    when one of its scores is not a number, or when the model cannot tell its caption from another caption of the fold.
    """
    groups = by_key(((fold.split, fold.n), fold) for fold in scores.folds.get(protocol, ()))
    rows = []
    for transposed, metric in enumerate(RAW_METRICS):
        run = scores.between_images or scores if transposed else scores
        for (split, n), folds in groups.items():
            outcomes = [_recall(fold, run, transposed, metric) for fold in folds]
            means = [float(outcome.value[scored].mean()) for outcome, scored in outcomes if scored.any()]
            scored = np.concatenate([scored for _, scored in outcomes])
            value, tie = (
                np.concatenate([getattr(outcome, name) for outcome, _ in outcomes])[scored] for name in ("value", "tie")
            )
            clusters = np.concatenate([fold.clusters for fold in folds])[scored]
            images = np.concatenate([fold.images for fold in folds])[scored]
            by_chance = 1 / len(folds[0].images)
            bindings = [scores.shown.get(image, "") for image in images]
            shared = Clusters.of(clusters, bindings, images, vocabulary=scores.vocabulary)
            estimate = cluster_means(value[:, None], shared, scores.confidence, chance=[by_chance])[0]
            sd = float(np.std(means, ddof=1)) if len(means) > 1 else np.nan
            labels = {"kind": RAW, "n": n, "split": split}
            mean, unscored = Mean(estimate, by_chance, sd), int((~scored).sum())
            rows.append(result_row(outcomes[0][0], labels, mean, "micro (over items)", int(tie.sum()), unscored))
    return rows


def _recall(fold: Fold, run: Scores, transposed: int, metric: str) -> tuple[Outcome, np.ndarray]:
    """R@1 of each image of a fold, or if `transposed` of each text; and whether each is scored."""
    own = np.repeat(np.arange(len(fold.images))[:, None], 2, axis=1)
    found = ranks(run.matrix(fold), own, run.tolerance)[transposed]
    reading = [run.indistinct.get(text, text) for text in fold.texts]
    times = Counter(reading)
    scored = (found.at_or_above >= 0) & np.array([times[text] == 1 for text in reading])
    return right(metric, 1 / len(fold.images), (found.recall(1), found.lost_to_ties(1))), scored
