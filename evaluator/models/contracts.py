"""Interfaces of models: the protocols `DualEncoder`, `PairScorer` and `Answerer`, and the sizing of
batches.

Families inherit from the protocols and thus get the default attributes.
"""

import hashlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from PIL import Image

from evaluator.metrics.comparison import TOLERANCE
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError

logger = logging.getLogger(__name__)
_TORCHS_OWN = "OutOfMemoryError"
_SIGNS = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")

Item = TypeVar("Item")
Result = TypeVar("Result")

Pairs: TypeAlias = Sequence[tuple[int, str]]
"""Pairs (index into the given images, text)."""
Contests: TypeAlias = Sequence[Sequence[int]] | None
"""For each contest, the indices of the pairs that a protocol compares."""


@dataclass(frozen=True)
class Group:
    """Images (scene_ids) that show the same values and categories, and all texts that are asked
    about any of them."""

    images: frozenset[str]
    texts: frozenset[str]


class _Model(Protocol):
    """Attributes and methods of all models."""

    info: dict[str, Any]
    """The loaded model, for readers and run.json: weights, activation, resolution, normalisation,
    text length."""

    key: str
    """Cache key of the model. Models with equal keys must give equal results for equal inputs."""

    reusable: bool = True
    """Whether later runs reuse results cached under `key`. Otherwise the cache is in the run's
    folder and is deleted when the run finishes."""

    exposure: Exposure | None = None
    """Exactly what the model was shown in training; None if unknown."""

    counts: dict[str, int] | None = None
    """Counts since loading, for a run to record, such as requests or network evaluations."""

    tie_tolerance: float = TOLERANCE
    """Tolerance for ties (evaluator.metrics.comparison): above rounding errors, below differences
    between texts."""

    fits_texts: bool = False
    """Whether the model is fitted on the texts of a run before it scores them, as `blind:ngram` is.

    Such a model is not asked retrieval pools: it would recognise the run's texts among the pool's
    many other texts.
    """

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """Fit the model on all distinct texts of the run. Called once if `fits_texts`, before `key`
        is read and before anything is scored.

        The texts of an image's group must be left out when the image is scored. No image is in two
        groups.
        """
        return

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of each text, int64 (n, length), by which results are cached: texts with equal
        rows are the same to the model. By default fingerprints of the texts, for models whose
        truncation is unknown.
        """
        return fingerprints(text.encode() for text in texts)


class BatchSize:
    """Batch size that is halved when memory runs out. It never grows, so later calls start with a
    size that fits.

    size: the maximum number of items. item: the name of an item for error messages, such as "pair
        of image and text".
    """

    def __init__(self, size: int, item: str):
        self.size = size
        self._item = item

    def run(
        self, compute: Callable[[Sequence[Item]], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Sequence[Item], Result]]:
        """Yield consecutive batches of `items`, each with its result of `compute`.

        A batch that runs out of memory is halved and computed again; yielded batches are never
        recomputed. Raises UserError when memory runs out for a single item.
        """
        start = 0
        while start < len(items):
            part = items[start : start + self.size]
            try:
                result = compute(part)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            else:
                yield part, result
                start += len(part)
                continue
            # after the handler, since the error's traceback holds the tensors of the failed batch
            self._shrink(len(part))

    def fill(
        self,
        compute: Callable[[Sequence[int]], np.ndarray],
        rows: Sequence[int],
        shape: tuple[int, ...],
    ) -> np.ndarray:
        """A float32 array of `shape` whose `rows` are filled by `compute`, batch by batch; NaN in
        other rows."""
        found = np.full(shape, np.nan, dtype=np.float32)
        for part, values in self.run(compute, rows):
            found[list(part)] = values
        return found

    def _shrink(self, tried: int) -> None:
        if tried == 1:
            raise UserError(
                f"Not enough memory for one {self._item}; choose --device cpu or a smaller model. "
                f"What is finished is kept."
            )
        while self.size >= tried:
            self.size //= 2
        if torch := sys.modules.get("torch"):  # not imported here: metrics are computed without it
            torch.cuda.empty_cache()  # does nothing without a GPU
        logger.info(f"Out of memory: continuing with batches of {self.size}.")


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    named = type(error).__name__ == _TORCHS_OWN or any(sign in str(error) for sign in _SIGNS)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and named)


@runtime_checkable
class DualEncoder(_Model, Protocol):
    """A model that embeds images and texts separately. The score of a pair is the cosine of its
    embeddings."""

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of unit length, float32 (n, d)."""
        ...

    def prepare(self, image: Image.Image) -> Any:
        """Convert an RGB image to an input of `encode_images`: tensors, or the image itself.
        Threads call it ahead of the model."""
        return image

    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Embeddings of unit length, float32 (n, d), of outputs of `prepare`."""
        ...


@runtime_checkable
class PairScorer(_Model, Protocol):
    """A model that reads an image and a text together: a cross encoder, a generative or a diffusion
    model."""

    channels: tuple[str, ...]
    """Names of the scores of a pair. By default protocols measure the first channel."""

    image_channel: str | None = None
    """The channel for protocols that compare images, if it is not the first one."""

    passes: int
    """Forward passes of the large network that one pair takes. Used to state the cost of a run
    before it starts."""

    batch: BatchSize
    """Batch size in pairs (diffusion: evaluations). It starts at the family's default, or at the
    size given for the run."""

    contested: bool = False
    """Whether a pair's scores depend on the other pairs of its contests. Contests are then scored
    in one call, and cached scores are reused only for the same contests."""

    reads_images: bool = True
    """Whether the model gets images. Otherwise it gets their scene_ids instead."""

    asks_again: bool = False
    """Whether later runs ask pairs without a score again, for example because an endpoint did not
    answer."""

    def score_pairs(
        self, images: Sequence[Any], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """Scores, float32 (pairs, channels); higher means that the text fits better. NaN marks a
        pair without a score."""
        ...


Model: TypeAlias = DualEncoder | PairScorer


@dataclass(frozen=True)
class Chat:
    """A question in words about images. name: identifies the question; equal names have equal
    answers. show: loads the RGB images. sample: the index of the repetition."""

    name: str
    show: Callable[[], list[Image.Image]]
    text: str
    sample: int = 0

    @property
    def seed(self) -> int:
        """A random seed from a hash of the name, so that questions are sampled independently."""
        return int(hashlib.sha256(self.name.encode()).hexdigest()[:7], 16)


@dataclass(frozen=True)
class How:
    """Generation settings: maximum tokens of an answer, reasoning included, and temperature (0:
    likeliest tokens)."""

    max_tokens: int
    temperature: float


@dataclass(frozen=True)
class Answer:
    """An answer in words. finish: the finish reason of chat completions (stop, length,
    content_filter), `refusal`, or FAILED and the reason if there is no answer. prompt_tokens,
    completion_tokens: counts, 0 if unknown. served: the model name that the endpoint reported."""

    text: str
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    served: str = ""


FAILED = "not answered: "


class Answerer(_Model, Protocol):
    """A model that answers questions in words."""

    def answer_all(
        self, chats: Iterable[Chat], how: How, keep: Callable[[Chat, Answer], None]
    ) -> None:
        """Answer questions and call `keep` with each answer as soon as it is ready, in any order
        and from any thread.

        `chats` is read lazily, as questions are asked. Raises UserError if no further question can
        be answered.
        """
        ...


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """SHA-256 of each input, int64 (n, 4): rows of `tokens` for models without a maximum text
    length."""
    return np.array(
        [np.frombuffer(hashlib.sha256(each).digest(), "<i8") for each in inputs], np.int64
    ).reshape(-1, 4)


def cache_key(*decides: Any) -> str:
    """Cache key of a model, 16 hex digits: a hash of all settings that its results depend on, as
    JSON values."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def info_without_network(weights: str, **more: Any) -> dict[str, Any]:
    """The `info` of a model that reads no image and has no network.

    Args:
        weights: What it knows, in words; "none" for nothing.
        more: Further entries.
    """
    return {
        "weights": weights,
        "preprocessing": "none: images are not read",
        "activation": "none",
        "parameters": 0,
        "precision": "float64",
        "device": "cpu",
        "text_length": None,
        **more,
    }
