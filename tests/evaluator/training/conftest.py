"""The train split of the drawn dataset, tiny models to start from, and learners whose embeddings
are known."""

import multiprocessing
import os
import pickle
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.models.registry import load_model
from evaluator.training.data import TrainingData
from evaluator.training.methods import Method
from evaluator.training.recipe import HARD_KINDS, Recipe
from evaluator.training.session import train
from evaluator.training.source import benchmark_source
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip

T = TypeVar("T")
KINDS = ("plain", "relations", "graded", "synonyms")


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """What `work(rank)` returns, or the error that it raises, in each of so many processes that
    share a training."""
    context = multiprocessing.get_context("fork")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(rank: int, pipe: Any) -> None:
        from accelerate import PartialState

        torch.set_num_threads(
            1
        )  # a forked process has none of the threads that OpenMP would wait for
        PartialState._reset_state()
        names = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_PORT": port,
        }
        os.environ.update(
            {name: str(value) for name, value in names.items()}, MASTER_ADDR="127.0.0.1"
        )
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
    kinds = {
        "texts": ",".join(texts),
        "negatives": ",".join(negatives),
        "positives": ",".join(positives),
    }
    return benchmark_source(world, benchmark, Recipe(**kinds, positive_loss=positive_loss)).data


def toy_data(
    captions: Sequence[int],
    true: Sequence[Sequence[int]],
    negatives: Sequence[int] | None = None,
    positives: Sequence[int] | None = None,
    images: Any = None,
    texts: Sequence[str] = (),
) -> TrainingData:
    """A caption for each of a few images, with its negative and its positive; -1 for none."""
    n = len(captions)
    all_texts = texts or [f"text {i}" for i in range(9)]
    of = (np.reshape(rows or [-1] * n, (n, 1, 1)) for rows in (negatives, positives))
    return TrainingData(
        all_texts,
        np.reshape(captions, (n, 1)),
        *of,
        np.array(true),
        [(images, str(i)) for i in range(n)],
        True,
    )


@pytest.fixture(scope="session")
def data(world: World, benchmark: Benchmark) -> TrainingData:
    return read(world, benchmark, ("plain",), ("swap",))


@pytest.fixture(scope="session")
def all_kinds(world: World, benchmark: Benchmark) -> TrainingData:
    return read(world, benchmark, KINDS, *HARD_KINDS.values())


@pytest.fixture
def trains(world: World, benchmark: Benchmark, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Trains by a method on the train split into a folder of `tmp_path`; returns the record."""

    def run(method: Method, base: str = "", out: str = "out") -> dict[str, Any]:
        return train(
            method,
            benchmark_source(world, benchmark, method),
            tmp_path / out,
            model=base,
            device="cpu",
        )

    return run


@pytest.fixture
def continue_training(trains: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Any]:
    """Continues the training of a model; returns the record, and the model before and after."""

    def run(method: Method, base: str) -> tuple[dict[str, Any], Any, Any]:
        return (
            trains(method, base),
            load_model(base, "cpu"),
            load_model(f"jackalope:{tmp_path / 'out'}", "cpu"),
        )

    return run


@pytest.fixture
def make_base(tiny: Callable[..., Tiny], tmp_path: Path) -> Callable[..., str]:
    """Makes a tiny dual encoder of a family, with random weights; returns its spec."""

    def make(family: str = "open_clip", **changes: Any) -> str:
        if family == "open_clip":
            model = tiny(**changes)
            return f"open_clip:{model.name}@{model.save(tmp_path / f'{model.name}.pt')}"
        return f"hf:{make_clip(tmp_path / family, family)}"

    return make


@pytest.fixture
def base(make_base: Callable[..., str]) -> str:
    return make_base()


class Fixed(nn.Module):
    """An embedder that looks embeddings up; notes the images and texts that it was asked for."""

    def __init__(self, images: Tensor, texts: Tensor, scale: float = 20.0):
        super().__init__()
        self.images, self.texts = nn.Parameter(images), nn.Parameter(texts)
        self.logit_scale = nn.Parameter(torch.tensor(scale).log().to(images.dtype))
        self.device = images.device
        self.requests: list[tuple[list[int], list[int]]] = []

    @property
    def network(self) -> nn.Module:
        return self

    def embed(self, images, texts, step):  # type: ignore[no-untyped-def]
        self.requests.append((images.tolist(), texts.tolist()))
        return F.normalize(self.images[images], dim=-1), F.normalize(self.texts[texts], dim=-1)
