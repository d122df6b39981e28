"""Scoring pairs image by image, in batches that shrink when memory runs out; for the families that read pairs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.device import out_of_memory
from evaluator.models.pretrained import Loaded
from generator.dataset.commands import say
from generator.dataset.errors import UserError

BATCH = 64


def in_batches(compute: Callable[[Sequence[int]], np.ndarray], order: Sequence[int], batch: int) -> tuple[list[np.ndarray], int]:  # fmt: skip
    """`compute` of consecutive parts of `order`; halves the batch and repeats the part when memory runs out.

    Returns the answers in that order, and the batch that there is room for. Raises UserError when one is too many.
    """
    found: list[np.ndarray] = []
    start = 0
    while start < len(order):
        try:
            found.append(compute(order[start : start + batch]))
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            if batch == 1:
                raise UserError("There is no memory for one pair of image and text; choose --device cpu or a smaller model.") from None  # fmt: skip
            batch //= 2
            say(f"Out of memory: going on with batches of {batch}.")
            continue
        start += batch
    return found, batch


class ByImage(ABC):
    """Scores pairs image by image: what depends on the image alone is computed once and kept while it is needed."""

    channels: tuple[str, ...]
    passes = 1

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        self._loaded = loaded
        self._batch = batch
        self.info = loaded.info

    @abstractmethod
    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """What is computed of each image."""

    @abstractmethod
    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        """Scores (n, channels) of as many features and texts."""

    @torch.inference_mode()
    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        known: dict[int, torch.Tensor] = {}

        def compute(part: Sequence[int]) -> np.ndarray:
            places = sorted({pairs[i][0] for i in part})
            for done in [place for place in known if place < places[0]]:
                del known[done]
            new = [place for place in places if place not in known]
            known.update(zip(new, self._encode([images[place] for place in new]) if new else [], strict=True))
            scores: np.ndarray = self._read([known[pairs[i][0]] for i in part], [pairs[i][1] for i in part]).float().cpu().numpy()  # fmt: skip
            return scores

        order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        found, self._batch = in_batches(compute, order, self._batch)
        scores = np.empty((len(pairs), len(self.channels)), dtype=np.float32)
        if order:
            scores[order] = np.concatenate(found)
        return scores


def token_rows(tokenizer: Any, texts: Sequence[str], length: int) -> np.ndarray:
    """Token ids, int64 (n, length), cut and padded to the length."""
    ids = tokenizer(list(texts), padding="max_length", truncation=True, max_length=length)["input_ids"]
    return np.array(ids, dtype=np.int64).reshape(len(texts), length)
