"""What the scoring needs of a model: the protocols `DualEncoder` and `PairScorer`, and how batches are sized.

Families inherit from them, so that a capability that a family does not name has the value that stands here.
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
"""Pairs of (index into some images, text)."""
Contests: TypeAlias = Sequence[Sequence[int]] | None
"""Indices of the pairs that a protocol compares, for each contest."""


@dataclass(frozen=True)
class Group:
    """Images that show the same values and categories (by scene_id), and every text that is asked of any of them."""

    images: frozenset[str]
    texts: frozenset[str]


class _Model(Protocol):
    """What models of all kinds have."""

    info: dict[str, Any]
    """What was loaded, for people and for run.json: weights, activation, resolution, normalisation, text length."""

    key: str
    """Name of the model in the cache. Equal keys promise equal results of equal inputs."""

    reusable: bool = True
    """Whether results are kept for later runs under `key`; else they are kept in the run's folder while it is
    scored."""

    exposure: Exposure | None = None
    """What the model was shown in training, and nothing else; None where that is unknown."""

    counts: dict[str, int] | None = None
    """What a run records of how the model was asked, such as requests or evaluations of a network, since loading."""

    tie_tolerance: float = TOLERANCE
    """How close two scores tie (evaluator.metrics.comparison): above what rounding changes, below what texts change."""

    fits_texts: bool = False
    """Whether the model is fitted on the texts of a run before it scores them, as `blind:ngram` is.

    It is not asked pools of texts: most of a pool is of no scene of the run, so it would know the texts that are asked
    about.
    """

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """Called once with all distinct texts of the run where `fits_texts`, before `key` is read and anything is
        scored.

        Texts of an image's group may not count when the image is scored. No image is in two groups.
        """
        return

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of each text, int64 (n, length): the model cannot tell texts with equal rows apart, and results are
        kept under them. By default fingerprints of the texts, where it is not known how the model cuts them.
        """
        return fingerprints(text.encode() for text in texts)


class BatchSize:
    """How many items are computed at once. It only ever shrinks, so later calls start with a size that fits.

    `size` is the largest batch; `item` says in the error message what one item is, such as "pair of image and text".
    """

    def __init__(self, size: int, item: str):
        self.size = size
        self._item = item

    def run(
        self, compute: Callable[[Sequence[Item]], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Sequence[Item], Result]]:
        """Yield consecutive batches of `items`, each with what `compute` returns for it.

        A batch that runs out of memory is halved and computed again; what was yielded is never computed twice. Raises
        UserError when memory runs out for a single item.
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
        self, compute: Callable[[Sequence[int]], np.ndarray], rows: Sequence[int], shape: tuple[int, ...]
    ) -> np.ndarray:
        """What `compute` returns for batches of rows, each in its rows of a float32 array of a shape; NaN in other
        rows."""
        found = np.full(shape, np.nan, dtype=np.float32)
        for part, values in self.run(compute, rows):
            found[list(part)] = values
        return found

    def _shrink(self, tried: int) -> None:
        if tried == 1:
            raise UserError(
                f"There is no memory for one {self._item}; choose --device cpu or a smaller model. What is finished "
                f"is kept."
            )
        while self.size >= tried:
            self.size //= 2
        if torch := sys.modules.get("torch"):  # not imported here, since results are measured without it
            torch.cuda.empty_cache()  # does nothing where no GPU is used
        logger.info(f"Out of memory: going on with batches of {self.size}.")


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    named = type(error).__name__ == _TORCHS_OWN or any(sign in str(error) for sign in _SIGNS)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and named)


@runtime_checkable
class DualEncoder(_Model, Protocol):
    """A model that embeds images and texts separately. The score of a pair is the cosine of its embeddings."""

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of unit length, float32 (n, d)."""
        ...

    def prepare(self, image: Image.Image) -> Any:
        """What `encode_images` takes for an RGB image: the image itself, or tensors. Threads call it ahead of the
        model."""
        return image

    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Embeddings of unit length, float32 (n, d), of what `prepare` returned."""
        ...


@runtime_checkable
class PairScorer(_Model, Protocol):
    """A model that reads an image and a text together: a cross encoder, a generative or a diffusion model."""

    channels: tuple[str, ...]
    """Names of the scores of a pair. Protocols measure the first one unless told otherwise."""

    image_channel: str | None = None
    """The channel for protocols that compare images, where it is not the first."""

    passes: int
    """Forward passes of the large network that one pair takes. Used to state the cost of a run before it starts."""

    batch: BatchSize
    """How many pairs (diffusion: evaluations) are computed at once; its first size is the family's default. A run that
    is asked for a batch size sets it."""

    contested: bool = False
    """Whether a pair's scores depend on the other pairs of its contests. Contests are then scored in one call, and
    cached scores are reused only for the same contests."""

    reads_images: bool = True
    """Whether the model gets images. Otherwise it gets the scene_id of each in place of it."""

    asks_again: bool = False
    """Whether pairs without a score are asked again in later runs, as where an endpoint did not answer."""

    def score_pairs(self, images: Sequence[Any], pairs: Pairs, contests: Contests = None) -> np.ndarray:
        """Scores, float32 (pairs, channels); higher means that the text fits better. NaN marks a pair without a
        score."""
        ...


Model: TypeAlias = DualEncoder | PairScorer


@dataclass(frozen=True)
class Chat:
    """A question in words about some images, asked for the `sample`-th time. name: tells questions apart; equal ones
    have equal answers. show: loads the images, RGB."""

    name: str
    show: Callable[[], list[Image.Image]]
    text: str
    sample: int = 0

    @property
    def seed(self) -> int:
        """A seed that follows from the name, so that no two questions draw alike."""
        return int(hashlib.sha256(self.name.encode()).hexdigest()[:7], 16)


@dataclass(frozen=True)
class How:
    """How answers are made: the most tokens of one, reasoning and all, and the temperature, 0 for the most likely."""

    max_tokens: int
    temperature: float


@dataclass(frozen=True)
class Answer:
    """A whole answer. finish: why it ended, as chat completions say it (stop, length, content_filter), `refusal`, or
    FAILED and the reason where there is none. prompt_tokens, completion_tokens: as counted, 0 where unknown. served:
    the name under which an endpoint answered."""

    text: str
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    served: str = ""


FAILED = "not answered: "


class Answerer(_Model, Protocol):
    """A model that answers questions in words."""

    def answer_all(self, chats: Iterable[Chat], how: How, keep: Callable[[Chat, Answer], None]) -> None:
        """Answer questions and call `keep` with each answer as soon as it is there, in any order and from any thread.

        `chats` is read no further ahead than questions are asked. Raises UserError where no more can be answered.
        """
        ...


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """SHA-256 of each input, int64 (n, 4): rows for `tokens` where texts have no limit of length."""
    return np.array([np.frombuffer(hashlib.sha256(each).digest(), "<i8") for each in inputs], np.int64).reshape(-1, 4)


def cache_key(*decides: Any) -> str:
    """Name of a model in the cache, 16 hex digits, from all that decides what it computes, as JSON values."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:16]
