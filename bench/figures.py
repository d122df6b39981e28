"""What a benchmark hands back: named figures, measured several times."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One figure in one unit; `values` are repeated measurements of it."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle measurement."""
        return median(self.values)


def repeated(name: str, unit: str, measure: Callable[[], float], times: int = 3) -> Figure:
    """Measure a figure several times."""
    return Figure(name, unit, tuple(measure() for _ in range(times)))


def seconds(action: Callable[[], object]) -> float:
    """Wall time of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
