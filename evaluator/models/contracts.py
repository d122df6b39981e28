"""What the scoring needs of a model: the protocols `DualEncoder` and `PairScorer`.

Families inherit from them, so that a capability that a family does not name has the value that stands here.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from PIL import Image

from evaluator.models.memory import BatchSize
from evaluator.provenance.exposure import Exposure

Pairs: TypeAlias = Sequence[tuple[int, str]]
"""Pairs of (index into some images, text)."""
Contests: TypeAlias = Sequence[Sequence[int]] | None
"""Indices of the pairs that a protocol compares, for each contest."""


@dataclass(frozen=True)
class Group:
    """Images that show the same values and categories (by scene_id), and every text that is asked of any of them."""

    images: frozenset[str]
    texts: frozenset[str]


class _Scorer(Protocol):
    """What models of both kinds have."""

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
        """Token ids of each text, int64 (n, length). The model cannot tell texts with equal rows apart."""
        ...


@runtime_checkable
class DualEncoder(_Scorer, Protocol):
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
class PairScorer(_Scorer, Protocol):
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


def fingerprints(inputs: Iterable[bytes]) -> np.ndarray:
    """SHA-256 of each input, int64 (n, 4): rows for `tokens` where texts have no limit of length."""
    return np.array([np.frombuffer(hashlib.sha256(each).digest(), "<i8") for each in inputs], np.int64).reshape(-1, 4)
