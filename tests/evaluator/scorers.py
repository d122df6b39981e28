"""Models that read image and text together, whose scores are known beforehand; and a bag of words
computed by torch."""

import hashlib
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.contracts import BatchSize, Contests, DualEncoder, ImageTextPairs, PairScorer
from tests.evaluator.encoders import DIMENSIONS, word_vector

INFO = {
    "weights": "words",
    "parameters": 0,
    "activation": "none",
    "precision": "float32",
    "device": "cpu",
}


@lru_cache(maxsize=1000)
def seen(pixels: bytes) -> np.ndarray:
    """What a model sees (16,) float32 of an image of 64x64: the mean of each of sixteen columns."""
    return (
        np.frombuffer(pixels, np.uint8)
        .reshape(64, DIMENSIONS, -1)
        .mean(axis=(0, 2))
        .astype(np.float32)
        / 255
    )


@lru_cache(maxsize=1000)
def _vector(word: str) -> np.ndarray:
    return word_vector(word).astype(np.float32)


def score_of(image: Image.Image, text: str, order: bool) -> np.ndarray:
    """Two scores, float32: of the words, in their order or as a bag summed in their order; and
    their number, negated."""
    total = np.zeros(DIMENSIONS, dtype=np.float32)
    for place, word in enumerate(text.split()):
        total = total + _vector(f"{word}{place}" if order else word)
    return np.array([seen(image.tobytes()) @ total, -len(text.split())], dtype=np.float32)


class Reader(PairScorer):
    """A PairScorer. It notes each call: how many images, which pairs, which contests."""

    channels = ("match", "length")
    passes = 3

    def __init__(
        self,
        key: str = "reader",
        order: bool = True,
        room: int = 10**9,
        log: Path | None = None,
        wait: float = 0.0,
    ):
        self.key, self.info, self.batch = key, dict(INFO), BatchSize(128, "pair")
        self._order, self._room, self._log, self._wait = order, room, log, wait
        self.calls: list[tuple[list[bytes], list[tuple[bytes, str]], list[list[int]]]] = []

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Word lengths and first letters: texts of the grid differ in them."""
        rows = [
            [int.from_bytes(word.encode()[:7], "big") for word in text.split()] for text in texts
        ]
        return np.array([row + [0] * (16 - len(row)) for row in rows], dtype=np.int64)

    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """Scores (pairs, 2)."""
        if len(pairs) > self._room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        names = [image.tobytes() for image in images]
        self.calls.append(
            (names, [(names[i], text) for i, text in pairs], [list(c) for c in contests or []])
        )
        time.sleep(self._wait)
        if self._log:
            with self._log.open("a") as file:
                file.write("".join(f"{hash_of(names[i])} {text}\n" for i, text in pairs))
        return np.stack([score_of(images[i], text, self._order) for i, text in pairs])

    @property
    def scored(self) -> list[tuple[bytes, str]]:
        """All pairs that were scored, in order."""
        return [pair for _, pairs, _ in self.calls for pair in pairs]


def hash_of(data: bytes) -> str:
    """A short name of an image."""
    return hashlib.sha256(data).hexdigest()[:16]


class TorchBag(torch.nn.Module, DualEncoder):
    """A DualEncoder by torch: a text is a projected mean of its words' embeddings in their order;
    an image a convolution."""

    def __init__(self, width: int = 48):
        super().__init__()
        torch.manual_seed(0)
        self._words = torch.nn.Embedding(512, width)
        self._text = torch.nn.Linear(width, DIMENSIONS)
        self._image = torch.nn.Conv2d(3, DIMENSIONS, 8, stride=8)
        self.key = "torch-bag"
        self.info: dict[str, Any] = dict(INFO)
        self.dtypes: set[tuple[str, torch.dtype]] = set()

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """A number for each word."""
        rows = [
            [int.from_bytes(word.encode()[-6:], "big") for word in text.split()] for text in texts
        ]
        return np.array([row + [0] * (16 - len(row)) for row in rows], dtype=np.int64)

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings."""
        total = torch.stack([self._sum(text) for text in texts])
        return self._unit("text", self._text(total))

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Unit embeddings."""
        pixels = (
            torch.from_numpy(np.stack([np.asarray(image) for image in images])).permute(0, 3, 1, 2)
            / 255
        )
        return self._unit("image", self._image(pixels).amax((2, 3)))

    def _sum(self, text: str) -> torch.Tensor:
        total = torch.zeros(self._words.embedding_dim)
        for word in text.split():
            total = total + self._words.weight[int(abs(word_vector(word)[0]) * 1e6) % 512]
        return total

    def _unit(self, what: str, vectors: torch.Tensor) -> np.ndarray:
        self.dtypes.add((what, vectors.dtype))
        return torch.nn.functional.normalize(vectors.float(), dim=-1).numpy()


def load_reader(name: str, device: str | None) -> Reader:
    """Loader of a family for the registry: a slow reader that notes what it scores in the file
    `name`."""
    return Reader(log=Path(name), wait=float(os.environ.get("READER_WAIT", "0")))
