from typing import Any, ClassVar

from generator.dataset.streams import Stream
from generator.plan.balance.search import search


class _NoRows:
    """No rows to move, beside an excess that earlier blocks have left."""

    chosen: ClassVar[list[Any]] = []

    def excess(self) -> int:
        return 3

    def at_fault(self) -> list[int]:
        return []

    def move(self, row: int) -> None:
        raise IndexError(row)

    def put(self, row: int, choice: Any) -> None:
        raise IndexError(row)


def test_without_rows_an_excess_is_returned_as_it_is() -> None:
    assert search(_NoRows(), Stream("none")) == 3
