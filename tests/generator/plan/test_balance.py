"""The balancer: rows take one of their options so that counts become even."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.plan.balance import CellCounts, Cells, choose

ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5)), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=6,
)


def filled(options: Sequence[Cells]) -> CellCounts:
    """CellCounts of six cells in two classes of three that hold the options."""
    counts = CellCounts()
    for cell in range(6):
        assert counts.cell(cell // 3, cell) == cell
    for option in options:
        counts.add(option)
    return counts


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5)), max_size=30))
def test_excess_is_what_exceeds_the_least_filled_cell_of_the_class_by_more_than_one(
    options: list[Cells],
) -> None:
    counts, excess = filled(options), 0
    for cells in (range(3), range(3, 6)):
        numbers = [sum(cell in option for option in options) for cell in cells]
        over = [max(n - min(numbers) - 1, 0) for n in numbers]
        assert [counts.is_crowded(cell) for cell in cells] == [n > 0 for n in over]
        excess += sum(over)
    assert counts.excess() == excess == sum(counts.crowded().values())


@given(ROWS.map(lambda rows: [option for row in rows for option in row]), st.data())
def test_a_change_costs_what_the_squares_of_all_counts_grow_by(
    options: list[Cells], data: st.DataObject
) -> None:
    old, new = (
        data.draw(st.sampled_from(options)),
        data.draw(st.tuples(st.integers(0, 2), st.integers(3, 5))),
    )
    counts, others = filled(options), filled(options)
    others.add(old, -1)
    others.add(new)
    squares = [sum(n * n for n in cell_counts.filled) for cell_counts in (counts, others)]
    assert 2 * counts.growth(old, new) == squares[1] - squares[0]
    assert counts.filled == filled(options).filled


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True), min_size=1, max_size=6
    ),
    st.integers(0, 99),
)
def test_one_class_becomes_even_where_any_choice_makes_it_even(
    rows: list[list[int]], seed: int
) -> None:
    """A surplus reaches a gap by moves of zero cost. With several classes two rows may have to move
    at once, which the search does not do."""
    least = min(
        max(map(choices.count, range(3))) - min(map(choices.count, range(3)))
        for choices in product(*rows)
    )
    counts = filled([])
    choose([[(cell,) for cell in row] for row in rows], counts, Stream(seed))
    assert (counts.excess() == 0) == (least <= 1)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 99))
def test_every_row_takes_one_of_its_own_options_the_same_for_the_same_stream(
    rows: list[list[Cells]], seed: int
) -> None:
    counts = filled([])
    picks = choose(rows, counts, Stream(seed))
    assert (
        counts.filled == filled([row[pick] for row, pick in zip(rows, picks, strict=True)]).filled
    )
    assert picks == choose(rows, filled([]), Stream(seed))


def test_counts_carry_over_from_one_choice_to_the_next() -> None:
    counts, rows = filled([]), [[(a, 3 + b) for a, b in product(range(3), repeat=2)]] * 5
    for _ in range(7):
        choose(rows, counts, Stream("x"))
    assert sorted(counts.filled) == [11, 11, 12, 12, 12, 12]
    assert choose([], counts, Stream("x")) == []
