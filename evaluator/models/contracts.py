"""What a model must offer to be scored: `DualEncoder`, `PairScorer` and `Answerer`, which are
`typing.Protocol`s. Elsewhere in this package, and below where models are asked, a protocol is a set
of questions (evaluator.protocols).

A family of models inherits from one of them, and thus gets the default attributes. An object of a
user's own needs fewer methods (evaluator.models.user_objects).

A dual encoder in full:

>>> class Lengths(DualEncoder):
...     key = "lengths-1"
...     info = {"weights": "none", "parameters": 0, "precision": "float64", "device": "cpu"}
...
...     def encode_texts(self, texts):
...         angles = np.array([len(text) for text in texts])
...         return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
...
...     def encode_images(self, images):
...         return np.array([[1.0, 0.0] for _ in images], np.float32)
>>> Lengths().encode_texts(["a cube"]).shape
(1, 2)
"""

import hashlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from PIL import Image

from evaluator.metrics.comparison import TOLERANCE
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError

logger = logging.getLogger(__name__)
_TORCH_ERROR = "OutOfMemoryError"
"""The class of torch's error, by name: metrics are computed without importing torch."""
_MEMORY_MESSAGES = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""Phrases in other errors that say that memory ran out."""

Item = TypeVar("Item")
Result = TypeVar("Result")

ImageTextPairs: TypeAlias = Sequence[tuple[int, str]]
"""Pairs (index into the images of the call, text)."""
Contests: TypeAlias = Sequence[Sequence[int]] | None
"""A contest is the pairs whose scores an item compares: an image with its true and its false texts,
say. For each contest the indices of its pairs; None: unknown."""


@dataclass(frozen=True)
class Group:
    """Images that show the same values and categories, and all texts about any of them."""

    images: frozenset[str]
    """The scene_ids of the images."""
    texts: frozenset[str]
    """The texts that are asked about them."""


class _Model(Protocol):
    """Attributes and methods of all models. Of those listed here, `info` and `key` are needed; the
    others have defaults."""

    info: dict[str, Any]
    """The loaded model, for readers and run.json: weights, activation, resolution, normalisation,
    text length. `device` is the torch device that it computes on."""

    key: str
    """Cache key of the model. Models with equal keys must give equal results for equal inputs."""

    reusable: bool = True
    """Whether later runs reuse results cached under `key`. Otherwise the cache is in the run's
    folder and is deleted when the run finishes."""

    exposure: Exposure | None = None
    """Exactly what the model saw in training; None if unknown."""

    counts: dict[str, int] | None = None
    """Counts since loading, for a run to record, such as requests or network evaluations."""

    tie_tolerance: float = TOLERANCE
    """Scores that differ by less are a tie (evaluator.metrics.comparison): above rounding errors,
    below differences between texts."""

    fits_texts: bool = False
    """Whether the model is fitted on the texts of a run before it scores them, as `blind:ngram` is.

    Such a model is not asked retrieval pools: it would recognise the run's texts among the pool's
    many other texts.
    """

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """Fit the model on the texts of the run. Called once if `fits_texts`, before `key` is read
        and before anything is scored.

        Args:
            texts: All distinct texts of the run, true and false alike.
            groups: The images, in groups. The texts of an image's group must be left out when the
                image is scored. No image is in two groups.
        """
        return

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """What the model reads of each text, by which results are cached.

        Args:
            texts: n texts.

        Returns:
            Token ids, int64 (n, length): texts with equal rows are the same to the model. By
            default fingerprints of the whole texts, for models without a limit of length or with
            an unknown one.
        """
        return fingerprints(text.encode() for text in texts)


class BatchSize:
    """Batch size that is halved when memory runs out. It never grows, so later calls start with a
    size that fits.

    Args:
        size: The maximum number of items in a batch.
        item: The name of an item for error messages, such as "pair of image and text".

    >>> [batch for batch, _ in BatchSize(2, "number").run(sum, [1, 2, 3])]
    [[1, 2], [3]]
    """

    def __init__(self, size: int, item: str):
        self.size = size
        """The maximum number of items in a batch; callers may set it."""
        self._item = item

    def run(
        self, compute: Callable[[Sequence[Item]], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Sequence[Item], Result]]:
        """Compute items in batches. A batch that runs out of memory is halved and computed again.

        Args:
            compute: Computes the result of a batch.
            items: The items.

        Yields:
            Consecutive batches of `items`, each with its result; they are never computed again.

        Raises:
            UserError: Memory runs out for a single item.
        """
        start = 0
        while start < len(items):
            batch = items[start : start + self.size]
            try:
                result = compute(batch)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            else:
                yield batch, result
                start += len(batch)
                continue
            # After the handler, since the error's traceback holds the tensors of the failed batch.
            self._shrink(len(batch))

    def fill(
        self,
        compute: Callable[[Sequence[int]], np.ndarray],
        rows: Sequence[int],
        *,
        shape: tuple[int, ...],
    ) -> np.ndarray:
        """Fill rows of an array, batch by batch.

        Args:
            compute: Computes the values of some rows, float32 (rows, …).
            rows: The rows to fill.
            shape: The shape of the array.

        Returns:
            A float32 array of `shape`; NaN in other rows.
        """
        values = np.full(shape, np.nan, dtype=np.float32)
        for batch, computed in self.run(compute, rows):
            values[list(batch)] = computed
        return values

    def _shrink(self, failed_size: int) -> None:
        """Halve the size until a batch of the failed size is no longer tried."""
        if failed_size == 1:
            raise UserError(
                f"Not enough memory for one {self._item}; choose --device cpu or a smaller model. "
                f"What is finished is kept."
            )
        while self.size >= failed_size:
            self.size //= 2
        # Not imported here: metrics are computed without torch.
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.cuda.empty_cache()  # does nothing without a GPU
        logger.info(f"Out of memory: continuing with batches of {self.size}.")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    message = str(error)
    return type(error).__name__ == _TORCH_ERROR or any(
        phrase in message for phrase in _MEMORY_MESSAGES
    )


@runtime_checkable
class DualEncoder(_Model, Protocol):
    """A model that embeds images and texts separately. The score of a pair is the cosine of its
    embeddings."""

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Args:
            texts: n texts.

        Returns:
            Embeddings of unit length, float32 (n, d). NaN marks a text that cannot be embedded.
        """
        ...

    def prepare(self, image: Image.Image) -> Any:
        """Convert an image to an input of `encode_images`. Threads call it ahead of the model.

        Args:
            image: An 8-bit RGB image.

        Returns:
            Anything that `encode_images` takes, such as tensors; by default the image itself.
        """
        return image

    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Embed images.

        Args:
            images: n outputs of `prepare`.

        Returns:
            Embeddings of unit length, float32 (n, d).
        """
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
        self, images: Sequence[Any], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """Score pairs of an image and a text.

        Args:
            images: 8-bit RGB images, or scene_ids unless `reads_images`.
            pairs: n pairs (index into `images`, text).
            contests: Indices of the pairs that a protocol compares.

        Returns:
            float32 (n, channels); higher means that the text fits better. NaN marks a pair without
            a score, which makes its item unscored.
        """
        ...


Model: TypeAlias = DualEncoder | PairScorer
"""A model that scores. An `Answerer` answers in words, and its answers are read."""


@dataclass(frozen=True)
class Chat:
    """A question in words about images."""

    name: str
    """A hash of all that the answer depends on, with the number of the repetition. An answer is
    kept under this name and not asked for again."""
    show: Callable[[], list[Image.Image]]
    """Loads the RGB images."""
    text: str
    """The question."""
    sample: int = 0
    """The number of the repetition, from 0."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, for models that can be held to one; None for any answer."""

    @property
    def seed(self) -> int:
        """A random seed from the name, so that questions and repetitions are sampled
        independently."""
        # Seven digits are 28 bits: endpoints take seeds as signed numbers of 32.
        return int(hashlib.sha256(self.name.encode()).hexdigest()[:7], 16)


@dataclass(frozen=True)
class GenerationConfig:
    """How answers are generated."""

    max_tokens: int
    """Maximum tokens of an answer, reasoning included."""
    temperature: float
    """0: likeliest tokens; above 0: tokens are sampled."""


@dataclass(frozen=True)
class Answer:
    """An answer in words."""

    text: str
    """The whole answer; "" if there is none."""
    finish: str = "stop"
    """The finish reason of chat completions (stop, length, content_filter), `refusal`, or FAILED
    and the reason if there is no answer."""
    prompt_tokens: int = 0
    """Tokens of the question; 0 if unknown."""
    completion_tokens: int = 0
    """Tokens of the answer; 0 if unknown."""
    served: str = ""
    """The model name that the endpoint reported; "" if unknown."""


FAILED = "not answered: "
"""Begins the finish reason of an answer to a request that failed."""


class Answerer(_Model, Protocol):
    """A model that answers questions in words."""

    def answer_all(
        self,
        chats: Iterable[Chat],
        generation: GenerationConfig,
        *,
        keep: Callable[[Chat, Answer], None],
    ) -> None:
        """Answer questions.

        Args:
            chats: The questions, read lazily, as they are asked.
            generation: How answers are generated.
            keep: Called with each answer as soon as it is ready, in any order and from any thread.

        Raises:
            UserError: No further question can be answered.
        """
        ...


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """SHA-256 of each input, int64 (n, 4): rows of `tokens` for models without a limit
    of text length, or with an unknown one.

    >>> fingerprints([b"a", b"b"]).shape
    (2, 4)
    """
    digests = [np.frombuffer(hashlib.sha256(data).digest(), "<i8") for data in inputs]
    return np.array(digests, np.int64).reshape(-1, 4)


def cache_key(*settings: Any) -> str:
    """Cache key of a model, 16 hex digits: a hash of all settings that its results depend on, as
    JSON values.

    >>> cache_key("hf", {"length": 77}) == cache_key("hf", {"length": 77})
    True
    """
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def info_without_network(weights: str, **entries: Any) -> dict[str, Any]:
    """The `info` of a model that reads no image and has no network.

    Args:
        weights: What it knows, in words; "none" for nothing.
        entries: Further entries.
    """
    return {
        "weights": weights,
        "preprocessing": "none: images are not read",
        "activation": "none",
        "parameters": 0,
        "precision": "float64",
        "device": "cpu",
        "text_length": None,
        **entries,
    }
