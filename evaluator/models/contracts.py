"""What the scoring needs of a model: the protocols `DualEncoder`, `PairScorer` and `FitsTexts`."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from PIL import Image


class DualEncoder(Protocol):
    """A model that embeds images and texts separately. The score of a pair is the cosine of its embeddings.

    A model may also have a method `prepare(image)`. Threads then call it ahead of the model, and `encode_images` gets
    what it returned in place of the images. Any model may have an attribute `exposure` (evaluator.exposure.Exposure): what
    it was shown in training, and nothing else. Without it that is unknown.
    """

    info: dict[str, Any]
    """What was loaded, for people and for run.json: weights, activation, resolution, normalisation, text length."""

    key: str
    """Name of the model in the cache. Equal keys promise equal embeddings of equal inputs."""

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of each text, int64 (n, length). The model cannot tell texts with equal rows apart."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of unit length, float32 (n, d)."""
        ...

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Embeddings of RGB images, of unit length, float32 (n, d)."""
        ...


class PairScorer(Protocol):
    """A model that reads an image and a text together: a cross encoder, a generative or a diffusion model.

    A model whose scores depend on the other pairs of a contest sets the attribute `contested` to True. Its contests are
    then scored in one call, and its cached scores are reused only for the same contests. A model that sets `reads_images` to
    False gets the scene_id of each image in place of the image.
    """

    info: dict[str, Any]
    """What was loaded, as for a dual encoder."""

    key: str
    """Name of the model in the cache. Equal keys promise equal scores of equal pairs."""

    channels: tuple[str, ...]
    """Names of the scores of a pair. Protocols measure the first one unless told otherwise."""

    passes: int
    """Forward passes of the large network that one pair takes. Used to state the cost of a run before it starts."""

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, as for a dual encoder."""
        ...

    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """Scores, float32 (pairs, channels); higher means that the text fits better. NaN marks a pair without a score.

        A pair is (index into `images`, text). Each contest lists indices of `pairs` that a protocol compares.
        """
        ...


@dataclass(frozen=True)
class Group:
    """Images that show the same values and categories (by scene_id), and every text that is asked of any of them."""

    images: frozenset[str]
    texts: frozenset[str]


@runtime_checkable
class FitsTexts(Protocol):
    """A model that is fitted on the texts of a run before it scores them, as `blind:ngram` is.

    It is not asked pools of texts: most of a pool is of no scene of the run, so it would know the texts that are asked about.
    """

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """Called once with all distinct texts of the run, before `key` is read and before anything is scored.

        Texts of an image's group may not count when the image is scored. No image is in two groups.
        """
        ...


Model: TypeAlias = DualEncoder | PairScorer


def is_pair_scorer(model: Model) -> TypeGuard[PairScorer]:
    """Whether a model reads image and text together."""
    return hasattr(model, "score_pairs")


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """SHA-256 of each input, int64 (n, 4): rows for `tokens` where texts have no limit of length."""
    return np.array([np.frombuffer(hashlib.sha256(each).digest(), "<i8") for each in inputs], np.int64).reshape(-1, 4)
