"""Means with crossed effects: against textbook formulas where a case has one, and against
simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from generator.base.clusters import Clusters
from generator.base.crossed import CLUSTERS, NOISE, OF_SHARES, CrossedMeans
from tests.evaluator.statistics.designs import block_cells

MOMENTS = OF_SHARES.weakened(1e-9)
"""Prior guesses that count nothing."""


@pytest.mark.parametrize("n_items", [1, 5])
def test_clusters_of_equal_items_have_students_interval_over_clusters(n_items: int) -> None:
    means = np.random.default_rng(0).normal(3, 2, 40)
    clusters = Clusters.from_names(np.repeat(np.arange(40), n_items))
    estimate = CrossedMeans(clusters, prior=MOMENTS).estimate(np.repeat(means, n_items)).vocabulary
    expected = stats.t.interval(0.9, 39, means.mean(), stats.sem(means))
    assert estimate.interval(0.9) == pytest.approx(expected, rel=1e-3)
    assert estimate.p(2.5) == pytest.approx(stats.ttest_1samp(means, 2.5).pvalue, rel=1e-2)


def test_one_way_random_effects_have_the_variances_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(12), 6)
    y = rng.normal(0, 1, 12)[group] + rng.normal(0, 1, 72)
    table = anova_lm(ols("y ~ C(group)", pd.DataFrame({"y": y, "group": group})).fit())
    between, within = table["mean_sq"]
    means = CrossedMeans(Clusters.from_names(group), prior=MOMENTS).estimate(y)
    assert means.components[CLUSTERS] == pytest.approx((between - within) / 6, rel=0.02)
    assert means.components[NOISE] == pytest.approx(within, rel=0.02)
    assert means.vocabulary.variance == pytest.approx(between / 72, rel=0.02)
    assert means.vocabulary.freedom == pytest.approx(11, rel=0.1)


def crossed_table(
    rng: np.random.Generator, values: int, objects: int
) -> tuple[Clusters, np.ndarray]:
    """One scene for each value and object, with an effect of each."""
    value, category = (codes.ravel() for codes in np.indices((values, objects)))
    y = (
        rng.normal(0, 1, values)[value]
        + rng.normal(0, 1, objects)[category]
        + rng.normal(0, 0.5, value.size)
    )
    names = [f"{v}:{c}" for v, c in zip(value, category, strict=True)]
    return Clusters.from_names([f"cluster of {name}" for name in names], names), y


def test_two_crossed_factors_have_the_variance_of_the_two_way_analysis_of_variance() -> None:
    """With as many values as objects, one variance of both is the mean of the two textbook
    variances."""
    size = 8
    clusters, y = crossed_table(np.random.default_rng(2), size, size)
    value, category = np.indices((size, size)).reshape(2, -1)
    frame = pd.DataFrame({"y": y, "value": value, "object": category})
    of_values, of_objects, rest = anova_lm(ols("y ~ C(value) + C(object)", frame).fit())["mean_sq"]
    textbook = (of_values + of_objects - rest) / size**2
    means = CrossedMeans(clusters, prior=MOMENTS).estimate(y)
    assert means.like_these.variance == pytest.approx(textbook, rel=0.02)
    # All values and objects are there, so about this vocabulary they add nothing.
    assert means.vocabulary.variance == pytest.approx(rest / size**2, rel=0.02)


def test_a_part_of_the_vocabulary_varies_by_what_it_lacks() -> None:
    clusters, y = crossed_table(np.random.default_rng(3), 4, 4)
    whole, half = (
        CrossedMeans(Clusters.from_names(clusters.codes, names, vocabulary=size)).estimate(y)
        for names, size in ((_names(4, 4), (4, 4)), (_names(4, 4), (8, 8)))
    )
    names = "values and objects"
    assert whole.vocabulary.parts[names] == pytest.approx(0, abs=1e-12)
    assert half.vocabulary.parts[names] == pytest.approx(half.like_these.parts[names] / 2)


def _names(values: int, objects: int) -> list[str]:
    return [f"{value}:{category}" for value in range(values) for category in range(objects)]


def test_weights_move_the_mean_and_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    y, w = rng.normal(0, 1, 30), rng.random(30)
    w /= w.sum()
    low, high = (
        CrossedMeans(Clusters.from_names(np.arange(30)), w).estimate(y).vocabulary.interval(0.95)
    )
    equal = CrossedMeans(Clusters.from_names(np.arange(30))).estimate(y).vocabulary.interval(0.95)
    assert (low + high) / 2 == pytest.approx(DescrStatsW(y, w).mean)
    assert high - low > equal[1] - equal[0]


def test_variances_of_unequally_weighted_means_are_right_on_average() -> None:
    """Clusters of 2 to 21 items; 300 draws, whose means have standard errors of 5%."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(20), np.arange(2, 22))
    w = rng.exponential(1, len(groups)) ** 2
    w /= w.sum()
    means = CrossedMeans(Clusters.from_names(groups), w, prior=MOMENTS)
    draws = [
        means.estimate(
            rng.normal(0, 1, 20)[groups] + rng.normal(0, 2, len(groups))
        ).vocabulary.parts
        for _ in range(300)
    ]
    components = [np.mean([parts[name] for parts in draws]) for name in (CLUSTERS, NOISE)]
    due = np.square(np.bincount(groups, w)).sum(), 4 * np.square(w).sum()
    assert components == pytest.approx(due, rel=0.15)


def test_where_nothing_varies_there_is_no_interval() -> None:
    for y, names in ((np.ones(5), np.arange(5)), (np.array([0.3]), ["a"])):
        assert np.isnan(
            CrossedMeans(Clusters.from_names(names)).estimate(y).vocabulary.interval(0.95)
        ).all()


@pytest.mark.parametrize(
    ("of_binding", "of_cluster", "least"),
    [
        (0, 0, 0.98),
        # About the prior guesses for outcomes of this variance.
        (0.33, 0.17, 0.92),
        # Four times as large: nine bindings and clusters do not outweigh the guesses.
        (0, 1, 0.87),
        (1.41, 0, 0.87),
        (1.41, 1, 0.87),
    ],
)
def test_intervals_hold_with_effects_of_bindings_and_clusters(
    of_binding: float, of_cluster: float, least: float
) -> None:
    """Nine bindings in nine clusters, effects on a scene with these standard deviations, noise with
    1; 300 draws have a standard error of 1.3 to 1.8 points, and `least` is two of them below what
    1,200 draws gave."""
    rng = np.random.default_rng(3)
    names, bindings = zip(*block_cells(3, 3), strict=True)
    means = CrossedMeans(Clusters.from_names(np.repeat(names, 6), np.repeat(bindings, 6)))
    known = sorted({binding for scene in bindings for binding in scene.split(";")})
    shows = np.array([[binding in scene.split(";") for binding in known] for scene in bindings])
    groups = np.unique(names, return_inverse=True)[1]
    held = 0
    for _ in range(300):
        of_bindings = shows @ rng.normal(0, of_binding / 2**0.5, 9)
        of_cells = of_bindings + rng.normal(0, of_cluster, 9)[groups]
        outcomes = np.repeat(of_cells, 6) + rng.normal(0, 1, 108)
        low, high = means.estimate(outcomes).vocabulary.interval(0.95)
        held += low <= 0 <= high
    assert held / 300 >= least


def test_a_share_of_a_hundred_percent_has_an_interval_that_ends_there() -> None:
    estimate = (
        CrossedMeans(Clusters.from_names(np.arange(50)))
        .estimate(np.ones(50), share=True)
        .vocabulary
    )
    low, high = estimate.interval(0.95)
    assert high == 1
    assert 0.8 < low < 0.97


def test_p_and_interval_of_a_share_agree() -> None:
    y = (np.arange(60) % 3 > 0).astype(float)
    estimate = (
        CrossedMeans(Clusters.from_names(np.arange(60) // 3)).estimate(y, share=True).vocabulary
    )
    low, _ = estimate.interval(0.9)
    assert estimate.p(low) == pytest.approx(0.1)


@pytest.mark.parametrize("scenes", [4, 8, 11, 20, 22, 30])
def test_few_scenes_of_many_names_have_an_interval_of_wilsons_width(scenes: int) -> None:
    # Eleven scenes of two objects show up to 19 names more than a constant: names could explain
    # every outcome, so nothing but the guess tells the noise.
    rng = np.random.default_rng(scenes)
    for _ in range(10):
        bindings = []
        for _ in range(scenes):
            values = rng.choice(8, 2, replace=False)
            objects = rng.choice(12, 2, replace=False)
            bindings.append(f"v{values[0]}:o{objects[0]};v{values[1]}:o{objects[1]}")
        outcomes = (rng.random(scenes) < 0.75).astype(float)
        means = CrossedMeans(Clusters.from_names(bindings, bindings, vocabulary=(8, 12)))
        low, high = means.estimate(outcomes, share=True).vocabulary.interval(0.95)
        wilson = proportion_confint(int(outcomes.sum()), scenes, method="wilson")
        assert 0.8 < (high - low) / (wilson[1] - wilson[0]) < 2.5
