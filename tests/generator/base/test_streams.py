import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from generator.base.streams import Stream


def test_values_are_these_for_ever() -> None:
    stream = Stream(0, "golden")
    assert [stream.below(1000) for _ in range(6)] == [886, 412, 124, 99, 258, 375]
    assert Stream(0, "golden").shuffled(range(8)) == [6, 4, 3, 1, 5, 0, 2, 7]


def test_zero_is_a_seed_like_any_other() -> None:
    first = {Stream(seed, "x").uniform(0, 1) for seed in range(200)}
    assert len(first) == 200


def test_uniform_and_below_are_even() -> None:
    stream = Stream(1, "even")
    assert kstest([stream.uniform(-2, 3) for _ in range(5000)], "uniform", (-2, 5)).pvalue > 1e-3
    assert chisquare(list(Counter(stream.below(7) for _ in range(7000)).values())).pvalue > 1e-3


def test_every_order_is_as_likely() -> None:
    orders = Counter(tuple(Stream(seed, "order").shuffled("abc")) for seed in range(6000))
    assert len(orders) == math.factorial(3)
    assert chisquare(list(orders.values())).pvalue > 1e-3


@given(
    st.lists(st.integers(), min_size=1, max_size=9, unique=True),
    st.integers(0, 40),
    st.integers(0, 99),
)
def test_balanced_counts_differ_by_at_most_one(items: list[int], n: int, seed: int) -> None:
    counts = Counter(Stream(seed).balanced(items, n))
    assert sum(counts.values()) == n
    assert max(counts[i] for i in items) - min(counts[i] for i in items) <= 1


@given(st.integers(0, 20), st.integers(0, 99))
def test_sample_keeps_the_order(n: int, seed: int) -> None:
    sample = Stream(seed).sample(range(20), n)
    assert sample == sorted(set(sample))
    assert len(sample) == n
