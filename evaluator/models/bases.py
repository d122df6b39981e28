"""Base classes of torch models: dual encoders with two towers, and cross encoders of image and
text."""

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
        """Inputs of the text tower by name, int64 (n, length)."""

    @abstractmethod
    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Embeddings (n, d), not normalised, of the output of `text_inputs`; with gradients if
        enabled."""

    @abstractmethod
    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """Embeddings (n, d), not normalised, of outputs of `prepare`; with gradients if enabled."""

    @abstractmethod
    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before truncation, special tokens included."""

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return unit(self.text_features(self.text_inputs(texts)))

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings, float32 (n, d), of RGB images or of outputs of `prepare`."""
        ready = [
            self.prepare(image) if isinstance(image, Image.Image) else image for image in images
        ]
        return unit(self.image_features(ready))


def unit(features: torch.Tensor) -> np.ndarray:
    """Scale vectors to unit length, float32 (n, d)."""
    return np.asarray(F.normalize(features.float(), dim=-1).cpu().numpy())


class CrossEncoder(PairScorer, ABC):
    """A PairScorer that computes the features of an image once and keeps them while they are
    needed.

    `batch` is halved when memory runs out.
    """

    passes = 1

    def __init__(self, loaded: Pretrained, positions: int):
        """positions: the maximum number of tokens of the text tower."""
        self._loaded, self._length = loaded, min(loaded.tokenizer.model_max_length, positions)
        self.batch = BatchSize(BATCH, PAIR)
        self.info, self.exposure = loaded.info | {"text_length": self._length}, loaded.exposure

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length), truncated and padded to this length."""
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
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        features: dict[int, torch.Tensor] = {}

        def compute(part: Sequence[int]) -> np.ndarray:
            used = sorted({pairs[i][0] for i in part})
            for finished in [image for image in features if image < used[0]]:
                del features[finished]
            if new := [image for image in used if image not in features]:
                features.update(
                    zip(new, self._encode_images([images[image] for image in new]), strict=True)
                )
            scores = self._score([features[pairs[i][0]] for i in part], [pairs[i][1] for i in part])
            return np.asarray(scores.float().cpu().numpy())

        by_image = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        return self.batch.fill(compute, by_image, (len(pairs), len(self.channels)))
