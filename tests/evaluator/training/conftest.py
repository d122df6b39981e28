"""The train split of the drawn dataset as tensors."""

import pytest

from evaluator.training.data import TrainingSet, read_training_set
from generator.dataset.reader import Benchmark, World


@pytest.fixture(scope="session")
def data(world: World, benchmark: Benchmark) -> TrainingSet:
    return read_training_set(world, benchmark, 64, 16)
