"""One mean, or one gap, over many runs: the items of all turns, blocks and trainings in one
analysis.

Runs share images, names, bindings and clusters, so their intervals cannot be pooled as if they were
independent. The items of all runs therefore enter one model with crossed effects
(generator/base/crossed.py), whose factors have the same names in every run. Trainings are a factor
too, as readers are in a study of many readers and many cases (Obuchowski and Rockette 1995).

In a rotation every image is unseen in one turn and seen in the others. The gap of two splits is
then a mean over the same images (a crossover design, Jones and Kenward 2014): what an image, its
names and its bindings add to both sides cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluator.statistics.intervals import (
    LEVEL,
    NEW_TRAININGS,
    THIS_MODEL,
    Estimate,
    from_estimates,
    speaks_of,
    subtract,
)
from generator.base.clusters import Clusters
from generator.base.crossed import OF_CROSSOVERS, OF_SHARES, CrossedMeans, Prior

_SAME_IMAGES = 0.9
"""The least share of a split's images that the other split must have, so that the gap is taken over
the same images. In a rotation it is 1. Blocks drawn at random share some images by chance: their
other images would be lost."""


@dataclass(frozen=True)
class RunItems:
    """The outcomes of one run on the items of one row of results."""

    block: str
    """The turn, or the block, whose benchmark was asked. Blocks count equally."""
    training: str
    """The training whose model answered; "" for a model that was not trained on the benchmark.
    Trainings of a block count equally."""
    scene: np.ndarray
    """(n,) the scene of each item. Scenes of different worlds have different names."""
    cluster: np.ndarray
    """(n,) the values and objects of the scene, as a name."""
    bindings: np.ndarray
    """(n,) the scene's bindings, joined by ";"; "" where they are not known."""
    outcome: np.ndarray
    """(n,) the outcome; no nan."""

    def take(self, rows: np.ndarray) -> "RunItems":
        """The items at these row numbers, or of this mask (n,)."""
        return replace(
            self,
            scene=self.scene[rows],
            cluster=self.cluster[rows],
            bindings=self.bindings[rows],
            outcome=self.outcome[rows],
        )


def replicated(runs: Sequence[RunItems]) -> bool:
    """Whether the effects of bindings within a training can be told from those of bindings: every
    block has two trainings, or the model was not trained here."""
    trainings: dict[str, set[str]] = {}
    for run in runs:
        trainings.setdefault(run.block, set()).add(run.training)
    untrained = all(run.training == "" for run in runs)
    return untrained or min(map(len, trainings.values())) > 1


def mean_over_runs(
    runs: Sequence[RunItems],
    *,
    level: float = LEVEL,
    vocabulary: tuple[int, int] | None = None,
    share: bool = True,
    null: float = np.nan,
    prior: Prior = OF_SHARES,
) -> Estimate:
    """The mean over blocks of the mean over the trainings of each block.

    Args:
        runs: their items; at least one item each.
        level: of the intervals, in 0..1.
        vocabulary: the number of values and of objects; None: those that the items name.
        share: outcomes are in 0..1, and the interval is in logits.
        null: the value that p is against; nan for no p.
        prior: the guesses of variances for this kind of outcome.
    """
    weights = np.concatenate(
        [
            np.full(len(run.outcome), weight / len(run.outcome))
            for run, weight in zip(runs, run_weights(runs), strict=True)
        ]
    )
    clusters = Clusters.of(
        np.concatenate([run.cluster for run in runs]),
        np.concatenate([run.bindings for run in runs]),
        np.concatenate([run.scene for run in runs]),
        np.concatenate([np.full(len(run.outcome), run.training, dtype=object) for run in runs]),
        vocabulary,
    )
    finite = replicated(runs)
    means = CrossedMeans(clusters, weights, finite_bindings=finite, prior=prior)
    estimates = means.estimate(np.concatenate([run.outcome for run in runs]), share)
    models = NEW_TRAININGS if len({run.training for run in runs}) > 1 else THIS_MODEL
    return replace(
        from_estimates(estimates, clusters, level, null),
        speaks_of=speaks_of(clusters, finite, models),
    )


def gap_over_runs(
    sides: Sequence[tuple[RunItems, RunItems]],
    *,
    level: float = LEVEL,
    vocabulary: tuple[int, int] | None = None,
) -> tuple[Estimate, bool]:
    """The difference of two splits over all runs, and whether it is over the same images.

    sides: the items of the first and of the second split in each run.
    """
    within = [influences(first, second) for first, second in sides]
    if all(part is not None for part in within):
        parts = [part for part in within if part is not None]
        return mean_over_runs(
            parts, level=level, vocabulary=vocabulary, share=False, null=0.0
        ), False
    first, second = [side[0] for side in sides], [side[1] for side in sides]
    differences = crossover(first, second)
    if differences is not None:
        estimate = mean_over_runs(
            differences,
            level=level,
            vocabulary=vocabulary,
            share=False,
            null=0.0,
            prior=OF_CROSSOVERS,
        )
        return estimate, True
    a, b = (mean_over_runs(side, level=level, vocabulary=vocabulary) for side in (first, second))
    return subtract(a, b, a.n_items + b.n_items, a.n_clusters + b.n_clusters, level), False


def crossover(first: Sequence[RunItems], second: Sequence[RunItems]) -> list[RunItems] | None:
    """The differences first - second of the same images, for every item of `second`.

    Each item of a run of `second` is compared with the mean outcome on its scene over all runs of
    `first`. If its training also answered items of `first`, their mean deviation from the other
    trainings is added: a training that is good at everything is better on both sides, so this
    cancels too (difference in differences). These deviations have the mean 0 over all runs of
    `second`, so they change the variance and not the mean.

    Returns None unless nearly all scenes of `second` are in `first`: then the gap is not one over
    the same images.
    """
    scenes, code = np.unique(
        np.concatenate([run.scene for run in first]).astype(str), return_inverse=True
    )
    total = np.bincount(code, weights=np.concatenate([run.outcome for run in first]))
    mean_of = dict(zip(scenes.tolist(), (total / np.bincount(code)).tolist(), strict=True))
    deviation_of = {
        (run.block, run.training): float(
            np.mean(run.outcome - [mean_of[str(scene)] for scene in run.scene])
        )
        for run in first
        if len(run.outcome)
    }
    differences = []
    kept_items = items = 0
    for run in second:
        of_first = np.array([mean_of.get(str(scene), np.nan) for scene in run.scene])
        inside = np.isfinite(of_first)
        kept_items += int(inside.sum())
        items += len(inside)
        if inside.any():
            differences.append(replace(run.take(inside), outcome=(of_first - run.outcome)[inside]))
    if kept_items < _SAME_IMAGES * items:
        return None
    deviations = np.array([deviation_of.get((run.block, run.training), 0.0) for run in differences])
    deviations -= deviations @ run_weights(differences)
    return [
        replace(run, outcome=run.outcome + deviation)
        for run, deviation in zip(differences, deviations, strict=True)
    ]


def run_weights(runs: Sequence[RunItems]) -> np.ndarray:
    """The weight (runs,) of each run in the mean: blocks count equally, and so do the trainings of
    a block."""
    blocks, block, trainings = np.unique(
        [run.block for run in runs], return_inverse=True, return_counts=True
    )
    return np.asarray(1 / (len(blocks) * trainings[block.reshape(-1)]))


def influences(first: RunItems, second: RunItems) -> RunItems | None:
    """The influence of each item of one run on the difference first - second, if the two splits
    share images or clusters.

    The mean of the influences is the difference of the two means. Effects that both splits share
    move both means, so they cancel. Returns None if the splits share no cluster: then they are
    independent.
    """
    if not np.isin(first.cluster.astype(str), second.cluster.astype(str)).any():
        return None
    total = len(first.outcome) + len(second.outcome)
    value = first.outcome.mean() - second.outcome.mean()
    # An item of both splits has two rows; they share its scene, so their influences add up there.
    influence = np.concatenate(
        [
            (first.outcome - first.outcome.mean()) * total / len(first.outcome),
            -(second.outcome - second.outcome.mean()) * total / len(second.outcome),
        ]
    )
    return replace(
        first,
        scene=np.concatenate([first.scene, second.scene]),
        cluster=np.concatenate([first.cluster, second.cluster]),
        bindings=np.concatenate([first.bindings, second.bindings]),
        outcome=influence + value,
    )
