"""The train split of the drawn dataset, and learners whose embeddings are known."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.training.data import TrainingData, read_training_data
from generator.dataset.reader import Benchmark, World


@pytest.fixture(scope="session")
def data(world: World, benchmark: Benchmark) -> TrainingData:
    return read_training_data(world, benchmark, ("plain",), ("swap",))


class Fixed(nn.Module):
    """A learner that looks embeddings up; notes the images and texts that it was asked for."""

    def __init__(self, images: Tensor, texts: Tensor, scale: float = 20.0):
        super().__init__()
        self.images, self.texts = nn.Parameter(images), nn.Parameter(texts)
        self.logit_scale = nn.Parameter(torch.tensor(scale).log().to(images.dtype))
        self.asked: list[tuple[list[int], list[int]]] = []

    @property
    def network(self) -> nn.Module:
        return self

    @property
    def device(self) -> torch.device:
        return self.images.device

    def scale(self) -> Tensor:
        return self.logit_scale.exp()

    def settle(self) -> None:
        pass

    def embed(self, images, texts, step):  # type: ignore[no-untyped-def]
        self.asked.append((images.tolist(), texts.tolist()))
        return F.normalize(self.images[images], dim=-1), F.normalize(self.texts[texts], dim=-1)
