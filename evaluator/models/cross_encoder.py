"""Base class of families that read an image and a text together and can encode an image once for all its texts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.contracts import PairScorer
from evaluator.models.memory import BatchSize
from evaluator.models.pretrained import Pretrained

BATCH = 64
PAIR = "pair of image and text"


class CrossEncoder(PairScorer, ABC):
    """A PairScorer that computes what depends on the image alone once, and keeps it while it is needed.

    `batch` is halved when memory runs out.
    """

    passes = 1

    def __init__(self, loaded: Pretrained, batch: int = BATCH):
        self._loaded = loaded
        self.batch = BatchSize(batch, PAIR)
        self.info, self.exposure = loaded.info, loaded.exposure

    @abstractmethod
    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """Features of each image, on the model's device."""

    @abstractmethod
    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        """Scores (n, channels) of n pairs of image features and texts."""

    @torch.inference_mode()
    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
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
        scores = np.empty((len(pairs), len(self.channels)), dtype=np.float32)
        for part, found in self.batch.run(compute, by_image):
            scores[part] = found
        return scores


def padded_tokens(tokenizer: Any, texts: Sequence[str], length: int) -> np.ndarray:
    """Token ids, int64 (n, length), cut and padded to the length."""
    ids = tokenizer(list(texts), padding="max_length", truncation=True, max_length=length)["input_ids"]
    return np.array(ids, dtype=np.int64).reshape(len(texts), length)
