"""Outcomes and rows of results on small arrays whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from evaluator.protocols.items import Items
from evaluator.protocols.records import split_of
from evaluator.protocols.results import GAPS, difference, error_shares, over_n, recall, tabulate


def make_items(scores: list[list[float]], splits: list[str]) -> Items:
    """Items with one true text in slot c, false ones in n of the kinds a, b, …, and a cluster each."""
    n, m = len(scores), len(scores[0])
    names = np.array([f"i{i}" for i in range(n)], dtype=object)
    none = np.full(n, "", dtype=object)
    truth = np.tile(np.arange(m) == 0, (n, 1))
    slots = np.tile(np.array(["c", *["n"] * (m - 1)], dtype=object), (n, 1))
    kinds = np.tile(np.array(["", *"abcdef"[: m - 1]], dtype=object), (n, 1))
    return Items(
        names,
        names,
        names,
        none,
        none,
        np.array(splits, dtype=object),
        none,
        np.tile([1, 1, 0], (n, 1)),
        np.array(scores, dtype=np.float32),
        truth,
        ~truth,
        slots,
        kinds,
        slots,
        none,
    )


def test_recall_counts_wins_ties_and_chance() -> None:
    items = make_items([[1, 0, 0.5], [0, 0, -1], [0, 1, 2]], ["seen"] * 3)
    first, second = recall(items, items.false), recall(items, items.false, "R@2", 2)
    assert (first.value.tolist(), first.tie.tolist()) == ([1, 0, 0], [False, True, False])
    assert (second.value.tolist(), second.metric) == ([1, 1, 0], "R@2")
    assert first.chance == pytest.approx([1 / 3] * 3)


def test_errors_fall_to_the_winning_kind_and_are_shared_by_ties() -> None:
    items = make_items([[0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 0, 0]], ["seen"] * 4)
    shares = {share.error: share for share in error_shares(items, "share", items.false)}
    assert shares["a"].value.tolist() == [1, 0.5, 0, 0]
    assert shares["b"].value.tolist() == [0, 0.5, 0, 0]
    assert shares["tie"].value.tolist() == [0, 0, 1, 0]
    assert shares["a"].chance.tolist() == [0.5] * 4


def test_rows_have_the_mean_of_each_split_and_the_gaps_between_them() -> None:
    items = make_items([[1, 0], [0, 1], [1, 0], [1, 0]], ["seen", "seen", "unseen", "unseen"])
    rows = {split_of(row): row for row in tabulate(items, [recall(items, items.false)])}
    assert {split: row["value"] for split, row in rows.items()} == {"seen": 0.5, "unseen": 1, "seen - unseen": -0.5}
    assert (rows["seen"]["items"], rows["seen"]["clusters"], rows["seen"]["chance"]) == (2, 2, 0.5)
    assert rows["seen - unseen"]["unit"] == "difference"
    assert ("seen", "unseen") in GAPS


def test_unscored_items_are_counted_and_are_in_no_mean() -> None:
    items = make_items([[1, 0], [0, 1]], ["seen", "seen"])
    items = replace(items, unscored=np.array(["", "why"], dtype=object))
    (row,) = tabulate(items, [recall(items, items.false)])
    assert (row["value"], row["items"], row["unscored"]) == (1, 1, 1)


def test_no_items_give_no_rows() -> None:
    items = make_items([[1, 0]], ["seen"]).take(np.array([False]))
    assert tabulate(items, [recall(items, items.false)], ["kind"]) == []


def test_a_difference_is_taken_item_by_item() -> None:
    items = make_items([[1, 0, 2], [1, 0, 0]], ["seen", "seen"])
    all_false = recall(items, items.false)
    only_a = recall(items, items.false & (items.candidate_kind == "a"))
    gap = difference("gap", only_a, all_false)
    assert (gap.value.tolist(), gap.unit) == ([1, 0], "difference")
    assert gap.chance == pytest.approx([1 / 2 - 1 / 3] * 2)


def test_a_mean_over_n_gives_every_n_the_same_weight() -> None:
    items = make_items([[1, 0], [0, 1], [0, 1], [0, 1]], ["seen"] * 4)
    items = replace(items, counts=np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0]]))
    (row,) = tabulate(items, [recall(items, items.false)], [], gaps=False, over=over_n(items))
    assert (row["value"], row["average"]) == (0.5, "macro (over n)")
    assert row["sd"] == pytest.approx(np.std([1, 0], ddof=1), abs=1e-6)
