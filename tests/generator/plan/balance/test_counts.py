"""Counts of cells, compared with counting from scratch."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from generator.plan.balance.counts import Counts


def test_names_of_different_classes_have_different_cells() -> None:
    counts = Counts()
    cells = [counts.cell("value", "red"), counts.cell("object", "red"), counts.cell("value", "blue")]
    assert len(set(cells)) == 3
    assert counts.cell("value", "red") == cells[0]
    assert counts.classes == {"value": [cells[0], cells[2]], "object": [cells[1]]}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30), st.booleans())
def test_excess_is_what_exceeds_the_least_filled_cell_by_more_than_one(
    options: list[tuple[int, int]], loose: bool
) -> None:
    counts = Counts(("second",) if loose else ())
    cells = {("first", i): counts.cell("first", i) for i in range(4)}
    cells |= {("second", i): counts.cell("second", i) for i in range(3)}
    for first, second in options:
        counts.add((cells["first", first], cells["second", second]))
    expected = 0
    for among, place, size in (("first", 0, 4), ("second", 1, 3)):
        filled = Counter(option[place] for option in options)
        least = min(filled[i] for i in range(size))
        excess = [max(filled[i] - least - 1, 0) for i in range(size)]
        if loose and among == "second":
            excess = [0] * size
        expected += sum(excess)
        assert [cells[among, i] in counts.crowded() for i in range(size)] == [each > 0 for each in excess]
    assert counts.excess() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5)), min_size=1))
def test_cost_orders_options_by_what_they_add_to_the_sum_of_squares(options: list[tuple[int, int]]) -> None:
    counts = Counts()
    for cell in range(6):
        assert counts.cell("all", cell) == cell
    for option in options:
        counts.add(option)
    before = list(counts.filled)

    def grown(option: tuple[int, int]) -> int:
        counts.add(option)
        squares = sum(n * n for n in counts.filled)
        counts.add(option, -1)
        assert list(counts.filled) == before
        return squares

    assert sorted(options, key=counts.cost) == sorted(options, key=grown)
