"""Streams of random numbers: what is fixed for ever, ranges, and what every result can be."""

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from generator.base.streams import Stream


def test_a_key_gives_the_same_numbers_for_ever() -> None:
    stream = Stream(0, "golden")
    assert [stream.below(1000) for _ in range(6)] == [886, 412, 124, 99, 258, 375]
    assert Stream(0, "golden").shuffled(range(8)) == [6, 4, 3, 1, 5, 0, 2, 7]


def test_zero_is_a_seed_like_any_other() -> None:
    first = {Stream(seed, "x").uniform(0, 1) for seed in range(200)}
    assert len(first) == 200


def test_numbers_stay_in_their_range_and_reach_every_result() -> None:
    stream = Stream(1, "range")
    assert all(-2 <= stream.uniform(-2, 3) < 3 for _ in range(200))
    assert {stream.below(7) for _ in range(200)} == set(range(7))


def test_shuffling_reaches_every_order() -> None:
    assert {tuple(Stream(seed, "order").shuffled("abc")) for seed in range(100)} == set(
        permutations("abc")
    )


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
