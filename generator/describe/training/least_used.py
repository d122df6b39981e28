"""Picks options so that all are used about equally often, and rare ones whenever they can be."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

from generator.base.streams import Stream

T = TypeVar("T", bound=Hashable)


class LeastUsed:
    """Counts what it picked.

    >>> used = LeastUsed()
    >>> sorted(used.pick(["left", "right"], Stream(0)) for _ in range(4))
    ['left', 'left', 'right', 'right']
    """

    def __init__(self) -> None:
        self._used: Counter[Hashable] = Counter()

    def pick(self, options: Sequence[T], stream: Stream) -> T:
        """One of the options that were picked least often, at random."""
        fewest = min(self._used[option] for option in options)
        least = [option for option in options if self._used[option] == fewest]
        chosen = least[stream.below(len(least))]
        self._used[chosen] += 1
        return chosen
