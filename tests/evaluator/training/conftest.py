"""The train split of the drawn dataset, and learners whose embeddings are known."""

import multiprocessing
import os
import pickle
import socket
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.training.data import TrainingData
from evaluator.training.recipe import Recipe
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, World

T = TypeVar("T")


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """What `work(rank)` returns, or the error that it raises, in each of so many processes that share a training."""
    context = multiprocessing.get_context("fork")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(rank: int, pipe: Any) -> None:
        from accelerate import PartialState

        torch.set_num_threads(1)  # a forked process has none of the threads that OpenMP would wait for
        PartialState._reset_state()
        names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": port}
        os.environ.update({name: str(each) for name, each in names.items()}, MASTER_ADDR="127.0.0.1")
        try:
            pipe.send_bytes(pickle.dumps(work(rank)))
        except Exception as error:
            pipe.send_bytes(pickle.dumps(error))
        PartialState().destroy_process_group()

    started = []
    for rank in range(count):
        ours, theirs = context.Pipe()
        started.append((context.Process(target=run, args=(rank, theirs)), ours))
    for process, _ in started:
        process.start()
    try:
        assert all(ours.poll(300) for _, ours in started)
        return [pickle.loads(ours.recv_bytes()) for _, ours in started]
    finally:
        for process, _ in started:
            process.join(5)
            process.kill()


def read(
    world: World,
    benchmark: Benchmark,
    texts: Sequence[str] = (),
    negatives: Sequence[str] = (),
    positives: Sequence[str] = (),
    positive_loss: Literal["caption", "analogy"] = "analogy",
) -> TrainingData:
    """The train split with these kinds of texts."""
    kinds = (",".join(each) for each in (texts, negatives, positives))
    return benchmark_source(world, benchmark, Recipe(**dict(zip(("texts", "negatives", "positives"), kinds, strict=True)), positive_loss=positive_loss)).data


@pytest.fixture(scope="session")
def data(world: World, benchmark: Benchmark) -> TrainingData:
    return read(world, benchmark, ("plain",), ("swap",))


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

    def embed(self, images, texts, step):  # type: ignore[no-untyped-def]
        self.asked.append((images.tolist(), texts.tolist()))
        return F.normalize(self.images[images], dim=-1), F.normalize(self.texts[texts], dim=-1)
