"""The results of a benchmark: named figures, each measured several times."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One figure, measured several times."""

    name: str
    """What is measured, and its bar if it has one."""
    unit: str
    """Such as "s" or "CPU s"."""
    values: tuple[float, ...]
    """Repeated measurements of it, in that unit."""

    @property
    def median(self) -> float:
        """The middle measurement."""
        return median(self.values)


def repeated(name: str, unit: str, measure: Callable[[], float], times: int = 3) -> Figure:
    """Measure a figure several times.

    Args:
        name: what is measured.
        unit: of the measurements.
        measure: measures it once.
        times: how often.
    """
    return Figure(name, unit, tuple(measure() for _ in range(times)))


def seconds(action: Callable[[], object]) -> float:
    """Wall time of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(name: str) -> list[Figure]:
    """The figures of a benchmark, and the peak memory of its largest process."""
    figures = import_module(f"bench.{name}").figures()
    kilobytes = max(
        resource.getrusage(who).ru_maxrss
        # Of this process, and of the largest one that it has waited for.
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return [*figures, Figure("memory of its largest process", "MB", (kilobytes / 1e3,))]
