"""Options: every row takes one of its own, and counts become as even as they can."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.plan.balance.counts import Counts, Option
from generator.plan.balance.options import choose, choose_shared

ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5)), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=6,
)


def empty() -> Counts:
    """Counts of six cells in two classes of three."""
    counts = Counts()
    for cell in range(6):
        assert counts.cell(cell // 3, cell) == cell
    return counts


def filled(options: Sequence[Option]) -> Counts:
    """Counts that hold the options."""
    counts = empty()
    for option in options:
        counts.add(option)
    return counts


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True), min_size=1, max_size=6),
    st.integers(0, 99),
)
def test_one_class_becomes_even_where_any_choice_makes_it_even(rows: list[list[int]], seed: int) -> None:
    """A surplus reaches a gap by moves of zero cost. With several classes two rows may have to move at once, which the
    search does not do."""
    options: list[list[Option]] = [[(cell,) for cell in row] for row in rows]
    least = min(max(map(each.count, range(4))) - min(map(each.count, range(4))) for each in product(*rows))
    counts = Counts()
    for cell in range(4):
        assert counts.cell("all", cell) == cell
    choose(options, counts, Stream(seed))
    assert (counts.excess() == 0) == (least <= 1)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 99))
def test_every_row_takes_one_of_its_own_options(rows: list[list[Option]], seed: int) -> None:
    counts = empty()
    picks = choose(rows, counts, Stream(seed))
    assert counts.filled == filled([row[pick] for row, pick in zip(rows, picks, strict=True)]).filled


@settings(max_examples=50, deadline=None)
@given(ROWS, st.integers(0, 99))
def test_the_result_is_as_even_as_the_greedy_choice(rows: list[list[Option]], seed: int) -> None:
    counts, greedy, stream = empty(), empty(), Stream(seed)
    choose(rows, counts, Stream(seed))
    for row in rows:
        least = min(map(greedy.cost, row))
        best = [option for option in row if greedy.cost(option) == least]
        greedy.add(best[stream.below(len(best))] if len(best) > 1 else best[0])
    assert counts.excess() <= greedy.excess()


def test_counts_carry_over_from_one_choice_to_the_next() -> None:
    counts, rows = empty(), [[(a, 3 + b) for a, b in product(range(3), repeat=2)]] * 5
    for _ in range(7):
        choose(rows, counts, Stream("x"))
    assert sorted(counts.filled) == [11, 11, 12, 12, 12, 12]
    assert choose([], counts, Stream("x")) == []


@pytest.mark.parametrize("n", [1, 7, 100, 601])
def test_shared_options_become_even_in_every_class(n: int) -> None:
    """Pairs of different numbers below 8: each number is as frequent as every other, in all and at either place."""
    counts = Counts()
    pairs = [(a, b) for a, b in product(range(8), repeat=2) if a != b]
    options = [
        (counts.cell("all", a), counts.cell("all", b), counts.cell("left", a), counts.cell("right", b))
        for a, b in pairs
    ]
    picks = choose_shared(options, n, counts, Stream("x"))
    assert len(picks) == n
    assert set(picks) <= set(range(len(options)))
    assert counts.excess() == 0
    assert sum(counts.filled) == 4 * n
    again = Counts()
    for option, (a, b) in zip(options, pairs, strict=True):
        cells = (again.cell("all", a), again.cell("all", b), again.cell("left", a), again.cell("right", b))
        assert cells == option
    assert choose_shared(options, n, again, Stream("x")) == picks


def test_loose_classes_are_as_even_as_the_others_allow() -> None:
    """All pairs may be equally frequent beside even numbers; where one number must be rare the pairs give way."""
    counts = Counts(("pair",))
    pairs = list(product(range(4), repeat=2))
    options = [(counts.cell("left", a), counts.cell("right", b), counts.cell("pair", (a, b))) for a, b in pairs]
    choose_shared(options, 64, counts, Stream("x"))
    assert counts.excess() == 0
    assert max(counts.filled[option[2]] for option in options) <= 5
    uneven = Counts(("pair",))
    few = [pair for pair in pairs if pair[0] or not pair[1]]  # 0 stands on the left with 0 alone
    options = [(uneven.cell("left", a), uneven.cell("right", b), uneven.cell("pair", (a, b))) for a, b in few]
    choose_shared(options, 64, uneven, Stream("x"))
    assert uneven.excess() == 0
    assert uneven.filled[uneven.cell("pair", (0, 0))] == 16


def test_classes_are_even_within_themselves() -> None:
    """Options of two classes: each class is even, however often it is chosen."""
    counts = Counts()
    options = [(counts.cell("a", name),) for name in "uvw"] + [(counts.cell("b", name),) for name in "xy"]
    choose_shared(options, 31, counts, Stream("x"))
    assert counts.excess() == 0
