"""Encoders whose scores are known beforehand, to see what the scoring makes of them."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from evaluator.models.contracts import DualEncoder
from generator.dataset.reader import Dataset

DIMENSIONS = 16


def word_vector(word: str) -> np.ndarray:
    """A fixed random vector (16,) of a word, the same in every process."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIMENSIONS)


class WordBag(DualEncoder):
    """A text is the normalised sum of its words' vectors, whatever their order; an image is the bag
    of its true caption.

    `read` says how a text is read (its words, after truncation and the like); `rounding` is applied
    to embeddings.
    """

    def __init__(
        self,
        captions: dict[bytes, str],
        rounding: type[np.floating[Any]] = np.float32,
        read: Callable[[str], list[str]] = str.split,
        key: str = "bag",
    ):
        self._captions, self._rounding, self._read, self.key = captions, rounding, read, key
        self.info: dict[str, Any] = {
            "weights": "words",
            "parameters": 0,
            "activation": "none",
            "precision": rounding.__name__,
            "device": "cpu",
            "text_length": 16,
            "preprocessing": "none",
        }

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """The words in their order, as ids."""
        ids = [
            [int.from_bytes(hashlib.sha256(w.encode()).digest()[:7], "big") for w in self._read(t)]
            for t in texts
        ]
        return np.array([row + [0] * (16 - len(row)) for row in ids], dtype=np.int64)

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Sums in the order of the words, so that float32 rounds two orders differently."""
        return np.stack([self._bag(self._read(text)) for text in texts])

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """The bag of the caption of each picture."""
        return np.stack([self._bag(self._captions[image.tobytes()].split()) for image in images])

    def _bag(self, words: list[str]) -> np.ndarray:
        # float16: exact sums first, since a rounding of a rounding could fall to either side
        total = np.zeros(
            DIMENSIONS, dtype=np.float32 if self._rounding is np.float32 else np.float64
        )
        for word in words:
            total = total + word_vector(word).astype(total.dtype)
        return (total / np.linalg.norm(total)).astype(self._rounding).astype(np.float32)


class Sharp(WordBag):
    """An encoder that binds: word pairs count, so that a caption and its swap differ."""

    def _bag(self, words: list[str]) -> np.ndarray:
        mentions = " ".join(words).split(" and ")
        return super()._bag([f"{phrase.split()[-2]}-{phrase.split()[-1]}" for phrase in mentions])


class Wrapped(DualEncoder):
    """Passes everything on to another encoder; what it lacks comes from there."""

    def __init__(self, inner: DualEncoder):
        self._inner = inner
        self.key, self.info = inner.key, inner.info

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Passed on."""
        return self._inner.tokens(texts)

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Passed on."""
        return self._inner.encode_texts(texts)

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Passed on."""
        return self._inner.encode_images(images)


class Counting(Wrapped):
    """Notes every text and image that was encoded."""

    def __init__(self, inner: DualEncoder):
        super().__init__(inner)
        self.texts: list[str] = []
        self.images: list[bytes] = []

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Noted and passed on."""
        self.texts += texts
        return super().encode_texts(texts)

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Noted and passed on."""
        self.images += [image.tobytes() for image in images]
        return super().encode_images(images)


def captions_by_image(root: Path) -> dict[bytes, str]:
    """A true caption by the pixels of each image of a dataset."""
    dataset = Dataset.open(root)
    benchmark = dataset.benchmark()
    caption = {
        row["scene_id"]: benchmark.text_of[row["text_id"]]
        for row in benchmark.candidates.to_pylist()
        if row["truth"] and row["slot"] == "c"
    }
    pixels = {}
    for scene_id, text in caption.items():
        with Image.open(dataset.world.image_path(scene_id)) as image:
            pixels[image.convert("RGB").tobytes()] = text
    return pixels


def load_bag(name: str, device: str | None) -> WordBag:
    """Loader of a family for the registry: `float32@FOLDER`, `float16@FOLDER` or `sharp@FOLDER` of
    a dataset."""
    kind, _, root = name.partition("@")
    captions = captions_by_image(Path(root))
    if kind == "sharp":
        return Sharp(captions, key="sharp")
    return WordBag(captions, {"float32": np.float32, "float16": np.float16}[kind], key=kind)
