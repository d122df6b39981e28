"""The list of all faults. Each module of this folder registers the faults of one subject in it."""

from collections.abc import Callable

from tests.generator.judge.faults.worlds import ALL
from tests.generator.judge.planted import Fault, Planted

NOT_REPRODUCED = "not reproduced"
"""The fault of files that differ when the dataset is made again. The judge reports all others."""

BenchmarkOf = tuple[str, str]
"""A dataset of worlds.py and the name of a benchmark in it."""
Plant = Callable[[Planted], Fault]
"""Changes a dataset, and returns the fault that has to be found with words of its finding."""

FAULTS: dict[str, tuple[BenchmarkOf, Plant]] = {}
"""By name of a fault: the benchmark that it is planted into, and its plant."""


def fault(benchmark: BenchmarkOf = ALL) -> Callable[[Plant], Plant]:
    """Register a fault under the name of its function."""

    def register(plant: Plant) -> Plant:
        add_fault(plant.__name__, benchmark, plant)
        return plant

    return register


def add_fault(name: str, benchmark: BenchmarkOf, plant: Plant) -> None:
    """Register a fault of a table."""
    assert name not in FAULTS, f"two faults are called {name}"
    FAULTS[name] = (benchmark, plant)
