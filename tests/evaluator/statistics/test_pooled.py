"""Runs pooled over blocks and over the runs of each: against scipy, by hand, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from evaluator.statistics.pooled import pool

LEVEL = 0.95


def test_one_run_keeps_its_interval() -> None:
    found = pool([0.7], [0.5], [0.8], ["b0"], LEVEL)
    assert (found.value, found.low, found.high) == pytest.approx((0.7, 0.5, 0.8))
    assert np.isnan([found.over_blocks.sd, found.over_runs.sd]).all()


def test_runs_of_one_block_share_its_bindings_and_add_their_own_spread() -> None:
    values = np.array([0.6, 0.7, 0.8])
    found = pool(values, values - 0.2, values + 0.1, ["b0"] * 3, LEVEL)
    _, t_high = stats.t.interval(LEVEL, 2, values.mean(), stats.sem(values))
    assert found.value - found.low == pytest.approx(np.hypot(0.2, t_high - 0.7))
    assert found.high - found.value == pytest.approx(np.hypot(0.1, t_high - 0.7))
    assert (found.over_runs.sd, found.over_runs.least, found.over_runs.greatest) == pytest.approx((0.1, 0.6, 0.8))
    assert np.isnan(found.over_blocks.sd)


def test_blocks_that_differ_as_their_intervals_say_add_up_in_squares() -> None:
    values = np.array([0.7, 0.7, 0.7, 0.7])
    found = pool(values, values - 0.2, values + 0.1, list("abcd"), LEVEL)
    assert (found.low, found.high) == pytest.approx((0.6, 0.75))


def test_blocks_that_differ_more_have_students_interval() -> None:
    values = np.array([0.2, 0.5, 0.9])
    found = pool(values, values - 0.01, values + 0.01, list("abc"), LEVEL)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(LEVEL, 2, values.mean(), stats.sem(values)))
    assert found.over_blocks.sd == pytest.approx(values.std(ddof=1))


def test_the_spread_of_two_blocks_alone_says_nothing() -> None:
    found = pool([0.2, 0.9], [0.19, 0.89], [0.21, 0.91], ["a", "b"], LEVEL)
    assert found.high - found.low < 0.02


def test_the_spread_of_runs_is_that_within_blocks() -> None:
    rng = np.random.default_rng(0)
    blocks = np.repeat(["a", "b", "c"], [2, 3, 4])
    values = rng.normal(0.5, 0.1, 9)
    found = pool(values, values - 0.1, values + 0.1, blocks, LEVEL)
    table = anova_lm(ols("v ~ C(b)", {"v": values, "b": blocks}).fit())
    assert found.over_runs.sd == pytest.approx(np.sqrt(table.loc["Residual", "mean_sq"]))
    assert found.value == pytest.approx(np.mean([values[blocks == b].mean() for b in "abc"]))


def test_without_intervals_of_runs_only_three_blocks_give_one() -> None:
    nothing = [np.nan] * 3
    assert np.isnan(pool([0.1, 0.2], nothing[:2], nothing[:2], ["a", "b"], LEVEL).low)
    values = [0.1, 0.2, 0.4]
    found = pool(values, nothing, nothing, list("abc"), LEVEL)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(LEVEL, 2, np.mean(values), stats.sem(values)))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5), st.sampled_from("abcd")), min_size=1, max_size=12),
    st.randoms(),
)
def test_the_order_of_runs_changes_nothing(runs: list[tuple[float, float, str]], random: np.random.Generator) -> None:
    def found(each: list[tuple[float, float, str]]) -> np.ndarray:
        values, reach, blocks = zip(*each, strict=True)
        v, r = np.array(values), np.array(reach)
        pooled = pool(v, v - r, v + r, blocks, LEVEL)
        assert pooled.low <= pooled.value <= pooled.high
        return np.array([pooled.value, pooled.low, pooled.high, pooled.over_runs.sd, pooled.over_blocks.sd])

    shuffled = list(runs)
    random.shuffle(shuffled)
    np.testing.assert_allclose(found(runs), found(shuffled), atol=1e-12)


def test_intervals_hold_where_bindings_and_trainings_differ() -> None:
    """Three blocks with two trainings each; normal effects, intervals of runs that know the spread of bindings exactly."""
    rng = np.random.default_rng(1)
    of_binding, of_training, draws, held = 0.1, 0.05, 2_000, 0
    blocks = np.repeat(np.arange(3), 2)
    for _ in range(draws):
        values = rng.normal(0, of_binding, 3)[blocks] + rng.normal(0, of_training, 6)
        found = pool(values, values - 1.96 * of_binding, values + 1.96 * of_binding, blocks.astype(str), LEVEL)
        held += found.low <= 0 <= found.high
    assert held / draws >= 0.93
