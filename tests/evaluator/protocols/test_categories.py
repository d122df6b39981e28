"""Means over categories against plain means of means."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.questions import category_weights
from evaluator.protocols.measuring import MeasuringRules
from evaluator.protocols.outcomes import Outcome, recall
from evaluator.protocols.results import category_means, kinds_and_skills, tabulate
from tests.evaluator.protocols.plain import make_items

NAMES = st.sampled_from("abc")
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=30)


def _mean(values: Sequence[tuple[tuple[str, ...], float]]) -> float:
    """The mean of the means of each first name; of whole paths, of their values."""
    whole = [value for path, value in values if not path]
    parts = [
        [(path[1:], value) for path, value in values if path and path[0] == name]
        for name in sorted({path[0] for path, _ in values if path})
    ]
    return fmean([*([fmean(whole)] if whole else []), *map(_mean, parts)])


@given(PATHS, st.randoms(use_true_random=False))
def test_weights_are_those_of_a_mean_of_means(paths: list[tuple[str, ...]], random) -> None:
    values = [random.random() for _ in paths]
    weights = category_weights(paths)
    assert weights.sum() == pytest.approx(1)
    assert weights @ values == pytest.approx(_mean(list(zip(paths, values, strict=True))))


def _accuracy(*value: float, ties: Sequence[int] = ()) -> Outcome:
    return Outcome(
        "accuracy", np.array(value), np.isin(range(len(value)), ties), np.full(len(value), 0.5)
    )


def test_each_kind_with_several_categories_has_a_row_and_all_kinds_have_one() -> None:
    items = make_items(
        np.zeros((5, 2)),
        kind=[*"aaabb"],
        skill=["x", "x", "y", "", ""],
        unscored=["", "", "", "", "lost"],
    )
    outcome = _accuracy(1, 0, 0, 1, 1, ties=[1])
    score = replace(outcome, metric="mean score", unit="score")
    rows = category_means(items, [outcome, score], kinds_and_skills(items))
    assert [
        (row["metric"], row["kind"], row["value"], row["items"], row["ties"], row["unscored"])
        for row in rows
    ] == [
        ("accuracy, mean of categories", None, 0.625, 4, 1, 1),
        ("accuracy, mean of categories", "a", 0.25, 3, 1, 0),
    ]
    assert all(row["average"] == "macro (over categories)" and row["chance"] == 0.5 for row in rows)
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert [
        row["kind"]
        for row in category_means(items, [outcome], kinds_and_skills(items), overall=False)
    ] == ["a"]


def test_a_kind_without_scored_items_has_no_mean() -> None:
    items = make_items(
        np.zeros((2, 2)), kind=["a", "a"], skill=["x", "y"], unscored=["lost", "lost"]
    )
    (row,) = category_means(items, [_accuracy(1, 1)], kinds_and_skills(items))
    assert (row["value"], row["items"], row["unscored"]) == (None, 0, 2)


def test_partitions_have_a_mean_of_all_and_empty_ones_none() -> None:
    items = make_items(np.zeros((3, 2)), ["seen", "unseen", "unseen"], kind=["a", "a", "b"])
    items = replace(items, rules=MeasuringRules(partitioned=True))
    rows = category_means(items, [_accuracy(1, 0, 1)], kinds_and_skills(items))
    assert [(row["split"], row["value"]) for row in rows] == [
        ("full", 0.75),
        ("seen", 1),
        ("mixed", None),
        ("unseen", 0.5),
    ]


def test_no_items_give_no_rows() -> None:
    items = make_items([[1, 0]]).take(np.array([False]))
    assert tabulate(items, [recall(items, items.false)], ["kind"]) == []
