"""The train split of the drawn dataset as tensors."""

import pytest

from evaluator.training.data import TrainingSet, read_training_texts, with_images
from generator.dataset.reader import Benchmark, World


@pytest.fixture(scope="session")
def data(world: World, benchmark: Benchmark) -> TrainingSet:
    return with_images(read_training_texts(benchmark, ("plain",), ("swap",)), world, 64)
