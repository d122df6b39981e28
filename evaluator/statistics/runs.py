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
    describe_population,
    from_estimates,
    subtract,
)
from evaluator.statistics.sign_test import sharpen
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
    weight: np.ndarray | None = None
    """(n,) the weight of each item in the mean of the run, with sum 1; None: equal weights."""

    @property
    def weights(self) -> np.ndarray:
        """(n,) the weights of the items, with sum 1."""
        if self.weight is not None:
            return self.weight
        return np.full(len(self.outcome), 1 / len(self.outcome))

    @property
    def mean(self) -> float:
        """The weighted mean of the outcomes."""
        return float(self.weights @ self.outcome)

    def take(self, rows: np.ndarray) -> "RunItems":
        """Some of the items.

        Args:
            rows: their row numbers, or a mask (n,).

        Returns:
            The same run with these items; their weights keep their proportions.
        """
        weight = None
        if self.weight is not None:
            weight = self.weight[rows] / self.weight[rows].sum()
        return replace(
            self,
            scene=self.scene[rows],
            cluster=self.cluster[rows],
            bindings=self.bindings[rows],
            outcome=self.outcome[rows],
            weight=weight,
        )


def replicated(runs: Sequence[RunItems]) -> bool:
    """Whether the effects of bindings within a training can be told from those of bindings.

    Args:
        runs: the runs of one model.

    Returns:
        Whether every block has two trainings, or the model was not trained here.
    """
    if all(run.training == "" for run in runs):
        return True
    trainings: dict[str, set[str]] = {}
    for run in runs:
        trainings.setdefault(run.block, set()).add(run.training)
    return min(map(len, trainings.values())) > 1


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
        share: whether outcomes are in 0..1 and the interval is made in logits.
        null: the value that p is against; nan for no p.
        prior: the guesses of variances for this kind of outcome.

    Returns:
        The mean with its intervals.
    """
    clusters = _clusters_of(runs, vocabulary)
    weights = []
    for run, weight in zip(runs, run_weights(runs), strict=True):
        weights.append(weight * run.weights)
    finite = replicated(runs)
    means = CrossedMeans(clusters, np.concatenate(weights), finite_bindings=finite, prior=prior)
    outcomes = np.concatenate([run.outcome for run in runs])
    estimate = from_estimates(
        means.estimate(outcomes, share=share), clusters, level=level, null=null
    )
    several_trainings = len({run.training for run in runs}) > 1
    models = NEW_TRAININGS if several_trainings else THIS_MODEL
    return replace(estimate, population=describe_population(clusters, finite, models))


def gap_over_runs(
    sides: Sequence[tuple[RunItems, RunItems]],
    *,
    level: float = LEVEL,
    vocabulary: tuple[int, int] | None = None,
) -> tuple[Estimate, bool]:
    """The difference of two splits over all runs.

    Splits that share clusters within each run are compared item by item (`influences`), and splits
    that share images over the runs image by image (`crossover`). Other splits are independent, and
    their two intervals are combined. So they are where nothing varies within a split.

    Args:
        sides: the items of the first and of the second split in each run.
        level: of the intervals, in 0..1.
        vocabulary: the number of values and of objects; None: those that the items name.

    Returns:
        The difference, and whether it is over the same images.
    """
    first = [side[0] for side in sides]
    second = [side[1] for side in sides]
    over_items = [influences(*side) for side in sides]
    over_images = None
    if all(influence is not None for influence in over_items):
        differences: list[RunItems] | None = [run for run in over_items if run is not None]
        prior = OF_SHARES
    else:
        over_images = crossover(first, second)
        differences = over_images
        prior = OF_CROSSOVERS
    same_images = over_images is not None
    if differences is not None:
        estimate = mean_over_runs(
            differences, level=level, vocabulary=vocabulary, share=False, null=0.0, prior=prior
        )
        if np.isfinite(estimate.low):
            return estimate, same_images
    a = mean_over_runs(first, level=level, vocabulary=vocabulary)
    b = mean_over_runs(second, level=level, vocabulary=vocabulary)
    n_items = a.n_items + b.n_items
    n_clusters = a.n_clusters + b.n_clusters
    combined = subtract(a, b, n_items, n_clusters, level)
    # Where nothing varies, one side may be right everywhere and the other nowhere.
    if differences is not None:
        clusters = _clusters_of(differences, vocabulary)
        combined = sharpen(combined, clusters, level)
    return combined, same_images


def crossover(first: Sequence[RunItems], second: Sequence[RunItems]) -> list[RunItems] | None:
    """The differences first - second of the same images, for every item of `second`.

    Each item of a run of `second` is compared with the mean outcome on its scene over all runs of
    `first`. If its training also answered items of `first`, their mean deviation from the other
    trainings is added: a training that is good at everything is better on both sides, so this
    cancels too (difference in differences). These deviations have the mean 0 over all runs of
    `second`, so they change the variance and not the mean.

    Args:
        first: the runs of one split, such as `seen`.
        second: the runs of another, such as `unseen`.

    Returns:
        The runs of `second` with differences as outcomes; None unless nearly all their scenes are
        in `first`: then the gap is not one over the same images.
    """
    # The mean outcome of each scene over all runs of the first split.
    all_scenes = np.concatenate([run.scene for run in first]).astype(str)
    all_outcomes = np.concatenate([run.outcome for run in first])
    scenes, code = np.unique(all_scenes, return_inverse=True)
    means = np.bincount(code, weights=all_outcomes) / np.bincount(code)
    mean_of_scene = dict(zip(scenes.tolist(), means.tolist(), strict=True))

    # How much better than the others each training is on the first split.
    deviation_of_run = {}
    for run in first:
        if len(run.outcome):
            scene_means = np.array([mean_of_scene[str(scene)] for scene in run.scene])
            deviation = float(np.mean(run.outcome - scene_means))
            deviation_of_run[run.block, run.training] = deviation

    # Each item of the second split against its scene in the first.
    differences = []
    shared_items = 0
    items = 0
    for run in second:
        scene_means = np.array([mean_of_scene.get(str(scene), np.nan) for scene in run.scene])
        is_shared = np.isfinite(scene_means)
        shared_items += int(is_shared.sum())
        items += len(is_shared)
        if is_shared.any():
            outcome = (scene_means - run.outcome)[is_shared]
            differences.append(replace(run.take(is_shared), outcome=outcome))
    if shared_items < _SAME_IMAGES * items:
        return None

    # Add the deviations, centred, so that the mean over all runs stays.
    deviations = np.zeros(len(differences))
    for i, run in enumerate(differences):
        deviations[i] = deviation_of_run.get((run.block, run.training), 0.0)
    deviations -= deviations @ run_weights(differences)
    adjusted = []
    for run, deviation in zip(differences, deviations, strict=True):
        adjusted.append(replace(run, outcome=run.outcome + deviation))
    return adjusted


def run_weights(runs: Sequence[RunItems]) -> np.ndarray:
    """The weight of each run in the mean: blocks count equally, and so do the trainings of a block.

    Args:
        runs: the runs of one model.

    Returns:
        (runs,) with sum 1.
    """
    blocks, block, trainings = np.unique(
        [run.block for run in runs], return_inverse=True, return_counts=True
    )
    return np.asarray(1 / (len(blocks) * trainings[block.reshape(-1)]))


def influences(first: RunItems, second: RunItems) -> RunItems | None:
    """The influence of each item of one run on the difference first - second, if the two splits
    share images or clusters.

    The mean of the influences is the difference of the two means. Effects that both splits share
    move both means, so they cancel.

    Args:
        first: the items of one split.
        second: the items of another.

    Returns:
        The items of both splits with influences as outcomes; None if the splits share no cluster:
        then they are independent.
    """
    if not np.isin(first.cluster.astype(str), second.cluster.astype(str)).any():
        return None
    n_first = len(first.outcome)
    n_second = len(second.outcome)
    total = n_first + n_second
    first_mean = first.outcome.mean()
    second_mean = second.outcome.mean()
    value = first_mean - second_mean
    # An item of both splits has two rows; they share its scene, so their influences add up there.
    of_first = (first.outcome - first_mean) * total / n_first
    of_second = (second.outcome - second_mean) * total / n_second
    return replace(
        first,
        scene=np.concatenate([first.scene, second.scene]),
        cluster=np.concatenate([first.cluster, second.cluster]),
        bindings=np.concatenate([first.bindings, second.bindings]),
        outcome=np.concatenate([of_first, -of_second]) + value,
    )


def _clusters_of(runs: Sequence[RunItems], vocabulary: tuple[int, int] | None) -> Clusters:
    """What the items of all runs share."""
    trainings = []
    for run in runs:
        trainings.append(np.full(len(run.outcome), run.training, dtype=object))
    return Clusters.from_names(
        np.concatenate([run.cluster for run in runs]),
        np.concatenate([run.bindings for run in runs]),
        np.concatenate([run.scene for run in runs]),
        np.concatenate(trainings),
        vocabulary,
    )
