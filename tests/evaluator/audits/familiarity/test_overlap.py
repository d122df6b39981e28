"""Labels, buckets and rates against the published counts and a plain loop."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.samples import (
    BUCKETS,
    CLOSE,
    NONE,
    PERFECT,
    Overlap,
    Sample,
    label,
    overlap,
    rates,
    shares,
)

COUNTS = {("red", "car"): (2, 5), ("old", "car"): (0, 1)}


def _overlap(labels: tuple[str, ...]) -> Overlap:
    half = len(labels) // 2
    return Overlap(Sample("", [("a", "b")] * half, [("a", "b")] * half), labels[:half], labels[half:])


def test_a_binding_is_perfect_close_or_none() -> None:
    bindings = [("red", "car"), ("old", "car"), ("new", "car")]
    assert [label(each, COUNTS) for each in bindings] == [PERFECT, CLOSE, NONE]
    assert label(("x", "y"), {("x", "y"): (0, 0)}) == NONE


def test_the_seven_buckets_follow_their_published_rules() -> None:
    for labels in product((PERFECT, CLOSE, NONE), repeat=4):
        found = _overlap(labels)
        perfect, close, none = (labels.count(each) for each in (PERFECT, CLOSE, NONE))
        rules = {
            "definitely_seen": perfect == 4,
            "amb_perfect_close": perfect > 0 and close > 0 and none == 0,
            "amb_mixed": perfect > 0 and close > 0 and none > 0,
            "amb_perfect_none": perfect > 0 and close == 0 and none > 0,
            "amb_close_only": close == 4,
            "amb_close_none": perfect == 0 and close > 0 and none > 0,
            "definitely_unseen": none == 4,
        }
        assert [name for name, holds in rules.items() if holds] == [found.bucket]
        assert found.partition == {"definitely_seen": "seen", "definitely_unseen": "unseen"}.get(found.bucket, "mixed")
    assert len(BUCKETS) == 7


def test_the_published_counts_fit_together() -> None:
    counts = {
        "definitely_seen": 4329,
        "amb_perfect_close": 2971,
        "amb_mixed": 5270,
        "amb_perfect_none": 13186,
        "amb_close_only": 5,
        "amb_close_none": 433,
        "definitely_unseen": 314,
    }
    by_labels = {name: labels for labels, name in BUCKETS.items()}
    overlaps = [_overlap(tuple((sorted(by_labels[name]) * 4)[:4])) for name, n in counts.items() for _ in range(n)]
    assert len(overlaps) == 26_508
    found = rates(overlaps)
    assert round(100 * found["strict"]["seen"], 1) == 16.3
    assert round(100 * found["loose"]["seen"], 1) == 27.6
    assert round(100 * found["loose"]["unseen"], 1) == 1.2
    assert round(found["strict"]["unseen"] * 26_508) == 752 == 5 + 433 + 314
    assert found["loose"]["seen"] == (4329 + 2971 + 5) / 26_508


@given(st.lists(st.tuples(*[st.sampled_from((PERFECT, CLOSE, NONE))] * 4), min_size=1, max_size=20))
def test_rates_and_shares_are_those_of_a_plain_loop(rows: list[tuple[str, ...]]) -> None:
    overlaps = [_overlap(row) for row in rows]
    found = rates(overlaps)
    assert found["strict"]["seen"] == sum(set(row) == {PERFECT} for row in rows) / len(rows)
    assert found["strict"]["unseen"] == sum(PERFECT not in row for row in rows) / len(rows)
    assert found["loose"]["seen"] == sum(NONE not in row for row in rows) / len(rows)
    assert found["loose"]["unseen"] == sum(set(row) == {NONE} for row in rows) / len(rows)
    positive = [each for row in rows for each in row[:2]]
    assert shares(overlaps)["positive"][CLOSE] == pytest.approx(positive.count(CLOSE) / len(positive))


def test_a_sample_is_labelled_on_both_sides() -> None:
    found = overlap(Sample("1", [("red", "car")], [("old", "car"), ("blue", "car")]), COUNTS)
    assert (found.positive, found.negative) == ([PERFECT], [CLOSE, NONE])
    assert found.labels == {PERFECT: 1, CLOSE: 1, NONE: 1}
