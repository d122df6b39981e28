"""The search itself, over rows that are as simple as can be."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.plan.balance.search import search


class Numbers:
    """Rows that each choose a number below 3; all numbers shall be equally frequent. Some rows never move."""

    def __init__(self, chosen: Sequence[int], fixed: set[int]):
        self.chosen = list(chosen)
        self.fixed, self.moves, self.seen = fixed, 0, [self.excess()]

    def excess(self) -> int:
        counts = [self.chosen.count(number) for number in range(3)]
        return sum(max(count - min(counts) - 1, 0) for count in counts)

    def at_fault(self) -> list[int]:
        counts = [self.chosen.count(number) for number in range(3)]
        return [row for row, number in enumerate(self.chosen) if counts[number] > min(counts) + 1]

    def move(self, row: int) -> None:
        self.moves += 1
        if row not in self.fixed:
            others = Counter(dict.fromkeys(range(3), 0))
            others.update(number for i, number in enumerate(self.chosen) if i != row)
            self.chosen[row] = min(range(3), key=others.__getitem__)
        self.seen.append(self.excess())

    def put(self, row: int, choice: int) -> None:
        self.chosen[row] = choice


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(0, 99))
def test_what_can_be_even_becomes_even(chosen: list[int], seed: int) -> None:
    rows = Numbers(chosen, set())
    assert search(rows, Stream(seed)) == rows.excess() == 0


@given(st.lists(st.integers(0, 2), min_size=1, max_size=20), st.sets(st.integers(0, 19)), st.integers(0, 9))
def test_the_result_is_the_excess_of_the_choices_and_never_more_than_at_first(
    chosen: list[int], fixed: set[int], seed: int
) -> None:
    rows = Numbers(chosen, fixed)
    before = rows.excess()
    assert search(rows, Stream(seed)) == rows.excess() <= before


def test_rows_that_are_even_do_not_move() -> None:
    rows = Numbers([0, 1, 2, 0], set())
    assert search(rows, Stream(0)) == rows.moves == 0


def test_the_search_ends_when_nothing_gets_better() -> None:
    rows = Numbers([0] * 10, set(range(10)))
    assert search(rows, Stream(0)) == 18 // 2
    assert 0 < rows.moves < 10_000


class Wandering(Numbers):
    """Rows that choose anything: the choices get worse after they were good."""

    def __init__(self, seed: int):
        self.stream = Stream(seed)
        super().__init__([self.stream.below(3) for _ in range(40)], set())

    def excess(self) -> int:
        return 1 + super().excess()

    def move(self, row: int) -> None:
        self.chosen[row] = self.stream.below(3)


@given(st.integers(0, 5))
def test_the_best_choices_are_kept_where_the_last_are_worse(seed: int) -> None:
    rows = Wandering(seed)
    at_first = rows.excess()
    assert search(rows, Stream(seed)) == rows.excess() <= at_first
    assert rows.excess() == 1
