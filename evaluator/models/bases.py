"""Base classes of models that torch computes: two towers, and models that read an image and a text together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.contracts import BatchSize, Contests, DualEncoder, Pairs, PairScorer
from evaluator.models.pretrained import Pretrained

BATCH = 64
PAIR = "pair of image and text"


class TowerEncoder(DualEncoder, ABC):
    """A DualEncoder of an image tower and a text tower, which `score train` can train."""

    network: Any
    device: torch.device

    @abstractmethod
    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """What the text tower reads: int64 (n, length) by name."""

    @abstractmethod
    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Embeddings (n, d) before they are normalised, of what `text_inputs` returned; with gradients if enabled."""

    @abstractmethod
    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """Embeddings (n, d) before they are normalised, of what `prepare` returned; with gradients if enabled."""

    @abstractmethod
    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text needs, special ones included."""

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return unit(self.text_features(self.text_inputs(texts)))

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings, float32 (n, d), of RGB images or of what `prepare` returned for them."""
        ready = [self.prepare(image) if isinstance(image, Image.Image) else image for image in images]
        return unit(self.image_features(ready))


def unit(features: torch.Tensor) -> np.ndarray:
    """Vectors of unit length, float32 (n, d)."""
    return np.asarray(F.normalize(features.float(), dim=-1).cpu().numpy())


class CrossEncoder(PairScorer, ABC):
    """A PairScorer that computes what depends on the image alone once, and keeps it while it is needed.

    `batch` is halved when memory runs out.
    """

    passes = 1

    def __init__(self, loaded: Pretrained, positions: int):
        """positions: how many tokens the text tower has positions for."""
        self._loaded, self._length = loaded, min(loaded.tokenizer.model_max_length, positions)
        self.batch = BatchSize(BATCH, PAIR)
        self.info, self.exposure = loaded.info | {"text_length": self._length}, loaded.exposure

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length), cut and padded to the length."""
        padded = {"padding": "max_length", "truncation": True, "max_length": self._length}
        ids = self._loaded.tokenizer(list(texts), **padded)["input_ids"]
        return np.array(ids, dtype=np.int64).reshape(len(texts), self._length)

    @abstractmethod
    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """Features of each image, on the model's device."""

    @abstractmethod
    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        """Scores (n, channels) of n pairs of image features and texts."""

    @torch.inference_mode()
    def score_pairs(self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None) -> np.ndarray:
        """As PairScorer.score_pairs."""
        features: dict[int, torch.Tensor] = {}

        def compute(part: Sequence[int]) -> np.ndarray:
            used = sorted({pairs[i][0] for i in part})
            for finished in [image for image in features if image < used[0]]:
                del features[finished]
            if new := [image for image in used if image not in features]:
                features.update(zip(new, self._encode_images([images[image] for image in new]), strict=True))
            scores = self._score([features[pairs[i][0]] for i in part], [pairs[i][1] for i in part])
            return np.asarray(scores.float().cpu().numpy())

        by_image = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        return self.batch.fill(compute, by_image, (len(pairs), len(self.channels)))
