"""Base classes of torch models: dual encoders with two towers, and cross encoders of image and
text."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.contracts import (
    BatchSize,
    Contests,
    DualEncoder,
    ImageTextPairs,
    PairScorer,
    cache_key,
)
from evaluator.models.image_options import (
    ImageOptions,
    apply_image_options,
    describe_image_options,
)
from evaluator.models.pretrained import Pretrained

BATCH = 64
"""Pairs of image and text that are scored together."""
PAIR = "pair of image and text"


class TowerEncoder(DualEncoder, ABC):
    """A DualEncoder of an image tower and a text tower, which `score train` can train.

    A family implements the abstract methods. It may override `encode_images`, and must not override
    `prepare`, which applies overrides of preprocessing.
    """

    network: Any
    """The torch module with both towers."""
    device: torch.device
    """The device of the network."""
    key: str
    """As `Model.key`."""
    image_options: ImageOptions | None = None
    """Overrides of preprocessing; None for the model's own."""

    @abstractmethod
    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Prepare texts.

        Args:
            texts: n texts.

        Returns:
            Inputs of the text tower by name, int64 (n, length).
        """

    @abstractmethod
    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Embed texts, with gradients if they are enabled.

        Args:
            inputs: The output of `text_inputs` for n texts.

        Returns:
            Embeddings (n, d), not normalised.
        """

    @abstractmethod
    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """Embed images, with gradients if they are enabled.

        Args:
            images: n outputs of `prepare`.

        Returns:
            Embeddings (n, d), not normalised.
        """

    @abstractmethod
    def prepare_image(self, image: Image.Image) -> Any:
        """The model's own preprocessing, for `prepare`.

        Args:
            image: An RGB image, with overrides of preprocessing applied.

        Returns:
            An input of `image_features`.
        """

    @abstractmethod
    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Count tokens, so that a run can say which texts are truncated.

        Args:
            texts: n texts.

        Returns:
            The number of tokens of each text before truncation, special tokens included.
        """

    def override_preprocessing(self, options: ImageOptions) -> None:
        """Set overrides of preprocessing, which the cache key and run.json then hold.

        Args:
            options: The overrides; {} changes nothing.
        """
        if not options:
            return
        self.image_options = options
        steps = describe_image_options(options)
        self.info["preprocessing"] = f"{steps}{self.info['preprocessing']}"
        self.key = cache_key(self.key, options)

    def prepare(self, image: Image.Image) -> Any:
        """The model's input for an RGB image, with overrides of preprocessing."""
        changed = apply_image_options(image, self.image_options or {})
        return self.prepare_image(changed)

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return unit(self.text_features(self.text_inputs(texts)))

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings, float32 (n, d), of RGB images or of outputs of `prepare`."""
        inputs = []
        for image in images:
            is_prepared = not isinstance(image, Image.Image)
            inputs.append(image if is_prepared else self.prepare(image))
        return unit(self.image_features(inputs))


def unit(features: torch.Tensor) -> np.ndarray:
    """Scale vectors to unit length, float32 (n, d).

    >>> unit(torch.tensor([[3.0, 4.0]])).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    # In float32, since protocols compare cosines.
    vectors = F.normalize(features.float(), dim=-1)
    return np.asarray(vectors.cpu().numpy())


class CrossEncoder(PairScorer, ABC):
    """A PairScorer that computes the features of an image once and keeps them while they are
    needed.

    Args:
        loaded: The model, its tokenizer and its image processor.
        positions: The maximum number of tokens of the text tower.
    """

    passes = 1

    def __init__(self, loaded: Pretrained, positions: int):
        self._loaded = loaded
        self._length = min(loaded.tokenizer.model_max_length, positions)
        self.batch = BatchSize(BATCH, PAIR)
        self.info = loaded.info | {"text_length": self._length}
        self.exposure = loaded.exposure

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length), truncated and padded to this length."""
        padded = {"padding": "max_length", "truncation": True, "max_length": self._length}
        ids = self._loaded.tokenizer(list(texts), **padded)["input_ids"]
        return np.array(ids, dtype=np.int64).reshape(len(texts), self._length)

    @abstractmethod
    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """Compute what pairs of an image have in common.

        Args:
            images: RGB images.

        Returns:
            Features of each image, on the model's device.
        """

    @abstractmethod
    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        """Score pairs.

        Args:
            features: The features of the image of each of n pairs; pairs of an image share them.
            texts: The text of each pair.

        Returns:
            Scores (n, channels); higher means that the text fits better.
        """

    @torch.inference_mode()
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs.

        Pairs are scored in the order of their images. Features are dropped once all pairs of an
        image are scored, so that memory holds the images of one batch.
        """
        features: dict[int, torch.Tensor] = {}

        def compute(batch: Sequence[int]) -> np.ndarray:
            needed = sorted({pairs[row][0] for row in batch})
            # Pairs come in the order of their images: those before the batch are done.
            for image in list(features):
                if image < needed[0]:
                    del features[image]
            missing = [image for image in needed if image not in features]
            if missing:
                encoded = self._encode_images([images[image] for image in missing])
                features.update(zip(missing, encoded, strict=True))
            batch_features = [features[pairs[row][0]] for row in batch]
            batch_texts = [pairs[row][1] for row in batch]
            scores = self._score(batch_features, batch_texts)
            return np.asarray(scores.float().cpu().numpy())

        by_image = sorted(range(len(pairs)), key=lambda row: pairs[row][0])
        shape = (len(pairs), len(self.channels))
        return self.batch.fill(compute, by_image, shape=shape)
