"""The search that makes choices even: rows change their choices one by one until nothing is wrong with them together."""

from typing import Any, Protocol

from generator.base.streams import Stream

_AT_ONCE = 300  # rows at fault that move in each sweep
_OTHERS = 40  # other rows that move with them, to make room
_PATIENCE = 4_000  # moves without improvement


class Rows(Protocol):
    """Rows, such as scenes or objects, each of which has chosen something."""

    chosen: list[Any]

    def excess(self) -> int:
        """How far the choices together are from what is wanted; 0 ends the search."""
        ...

    def at_fault(self) -> list[int]:
        """The rows that contribute to the excess."""
        ...

    def move(self, row: int) -> None:
        """Let the row choose anew: the best choice, by chance among equals, and never a worse one than before."""
        ...

    def put(self, row: int, choice: Any) -> None:
        """Let the row choose this."""
        ...


def search(rows: Rows, stream: Stream) -> int:
    """Move rows until there is no excess, or until moving no longer lowers it. Returns the excess of the best choices found.

    Each sweep moves some of the rows that are at fault and a few others. Zero-cost moves are allowed, so that surpluses
    can drift and cancel.
    """
    n = len(rows.chosen)
    excess = least = rows.excess()
    best, patience = list(rows.chosen), _PATIENCE
    while n and excess and patience > 0:
        at_fault = rows.at_fault()
        moving = {at_fault[stream.below(len(at_fault))] for _ in range(min(_AT_ONCE, len(at_fault)))}
        moving |= {stream.below(n) for _ in range(_OTHERS)}
        for row in stream.shuffled(sorted(moving)):
            rows.move(row)
        excess = rows.excess()
        patience -= len(moving)
        if excess < least:
            least, best, patience = excess, list(rows.chosen), _PATIENCE
    for row in range(n):
        if rows.chosen[row] != best[row]:
            rows.put(row, best[row])
    return least
