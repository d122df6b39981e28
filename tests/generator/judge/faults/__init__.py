"""The faults that `gen verify` has to find, by subject. Importing this package registers them all."""

from tests.generator.judge.faults import (
    declarations,
    records,
    reproduction,
    rotations,
    splits,
    texts,
    training,
)
from tests.generator.judge.faults.catalogue import FAULTS

__all__ = [
    "FAULTS",
    "declarations",
    "records",
    "reproduction",
    "rotations",
    "splits",
    "texts",
    "training",
]
