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


@pytest.mark.parametrize("times", [0, 1, 5])
def test_blocks_that_differ_more_than_a_side_of_their_intervals_says_widen_it(times: float) -> None:
    """Their variance is so many times that of this side, which counts for three degrees of freedom a block: the mean of
    both is that of Student's t. What does not differ more adds up in squares."""
    reach = np.array([0.2, 0.1])
    wider = stats.t.ppf(0.975, 3 * 4 + 3) / stats.norm.ppf(0.975) * np.sqrt((3 * 4 + 3 * times) / (3 * 4 + 3))
    for side, ends in enumerate(reach):
        sd = ends / stats.norm.ppf(0.975) * np.sqrt(times)
        values = 0.7 + sd * np.array([1, 1, -1, -1]) * np.sqrt(3 / 4)
        found = pool(values, values - reach[0], values + reach[1], list("abcd"), LEVEL)
        assert abs((found.low, found.high)[side] - 0.7) == pytest.approx(wider * ends / 2)
        assert found.over_blocks.sd == pytest.approx(values.std(ddof=1)) == pytest.approx(sd)


def test_a_short_side_is_no_shorter_for_a_long_other_side() -> None:
    """Near 100% the lower side may be ten times as long: the blocks differ as the upper side says, so it stays as it
    is."""
    values = 0.97 + 0.01 * np.array([1, 1, -1, -1])
    short, long = (pool(values, values - low, values + 0.02, list("abcd"), LEVEL) for low in (0.02, 0.2))
    assert short.high == pytest.approx(long.high)
    assert long.low < short.low


@pytest.mark.parametrize("null", [0.5, 0.55, 0.62, 0.7, 0.8])
@pytest.mark.parametrize("blocks", ["abc", "aabbcc"])
def test_p_is_the_level_at_which_the_interval_ends_there(null: float, blocks: str) -> None:
    """Where the ends of the runs' intervals move with the level as a normal's do."""
    values = np.linspace(0.55, 0.68, len(blocks))
    found = pool(values, values - 0.1, values + 0.15, list(blocks), LEVEL)
    quantile = stats.t.ppf(0.975, 3 * 3 + 2)
    low, high = (found.value - found.low) / quantile, (found.high - found.value) / quantile
    p = found.p(null)
    end = stats.t.ppf(1 - p / 2, 11)
    assert null == pytest.approx(found.value - end * low if null < found.value else found.value + end * high)
    assert (p < 0.05) == (not found.low <= null <= found.high)
    assert np.isnan(pool([0.7, 0.8], [0.6] * 2, [0.9] * 2, ["a", "a"], LEVEL).p(0.5))


def test_the_spread_of_runs_is_that_within_blocks() -> None:
    rng = np.random.default_rng(0)
    blocks = np.repeat(["a", "b", "c"], [2, 3, 4])
    values = rng.normal(0.5, 0.1, 9)
    found = pool(values, values - 0.1, values + 0.1, blocks, LEVEL)
    table = anova_lm(ols("v ~ C(b)", {"v": values, "b": blocks}).fit())
    assert found.over_runs.sd == pytest.approx(np.sqrt(table.loc["Residual", "mean_sq"]))
    assert found.value == pytest.approx(np.mean([values[blocks == b].mean() for b in "abc"]))


def test_without_intervals_of_runs_there_is_none() -> None:
    nothing = [np.nan] * 3
    found = pool([0.1, 0.2, 0.4], nothing, nothing, list("abc"), LEVEL)
    assert np.isnan([found.low, found.high]).all()
    assert found.over_blocks.sd == pytest.approx(np.std([0.1, 0.2, 0.4], ddof=1))


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
    """Three blocks with two trainings each; normal effects, intervals of runs that know the spread of bindings
    exactly."""
    rng = np.random.default_rng(1)
    of_binding, of_training, draws, held = 0.1, 0.05, 2_000, 0
    blocks = np.repeat(np.arange(3), 2)
    for _ in range(draws):
        values = rng.normal(0, of_binding, 3)[blocks] + rng.normal(0, of_training, 6)
        found = pool(values, values - 1.96 * of_binding, values + 1.96 * of_binding, blocks.astype(str), LEVEL)
        held += found.low <= 0 <= found.high
    assert held / draws >= 0.93
