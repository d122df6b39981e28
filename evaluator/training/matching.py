"""`Matching`: the learner of cross encoders. In a step the model classifies whether texts are true
of images."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from evaluator.models.network import autocast, training_precision
from evaluator.models.vilt import ViltScorer
from evaluator.training.data import Augment, Facts, PreparedImages, Step, TrainingData, check_length
from evaluator.training.fit import Learner, gather, share
from evaluator.training.recipe import Recipe
from generator.base.streams import Stream

_MAX_DRAWS = 64
"""Draws of a false caption for an image. Without one, the image has no such pair in this step."""


class Matching(Learner):
    """Trains a cross encoder on image–text matching.

    Each image of a step has one matching text, its caption, and two that do not match: its
    negative, and a caption from the data that is not true of it.
    """

    def __init__(
        self,
        model: ViltScorer,
        data: TrainingData,
        *,
        recipe: Recipe,
        augment: Augment | None = None,
    ):
        """Prepare the training.

        Args:
            model: The cross encoder.
            data: The training data.
            recipe: Its seed, precision and weight of negatives.
            augment: Changes an image at random.

        Raises:
            UserError: The model would truncate a text.
        """
        check_length(model, data.texts)
        self.network = model.network.train()
        self.device = model.device
        self._model = model
        self._data = data
        self._recipe = recipe
        self._facts = Facts(data)
        self._images = PreparedImages(data, model.prepare, augment)
        self._precision = training_precision(recipe.precision, model.device)
        self._captions = data.captions[data.captions >= 0]

    def loss(self, step: Step, number: int) -> Tensor:
        """Compute the weighted mean of the pairs' binary cross-entropy.

        Negatives have weight `negative_weight`, others 1. Each process scores its share of the
        pairs.
        """
        places, texts, true, weights = self.pairs(step, number)
        own = share(len(texts))
        # An image of several pairs is prepared once.
        own_places, image_of_pair = np.unique(places[own], return_inverse=True)
        images = self._images.batch(step.images[own_places], own_places.tolist(), number)
        own_texts = [self._data.texts[text] for text in texts[own]]
        with autocast(self.device, self._precision):
            logits = self._model.match(images, image_of_pair.tolist(), own_texts)
        # The loss is of the pairs of all processes: their weights are averaged together.
        logits = gather(logits.float(), len(texts))
        targets = _to_tensor(true, logits.device)
        weight = _to_tensor(weights, logits.device)
        losses = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        return (weight * losses).sum() / weight.sum()

    def pairs(
        self, step: Step, number: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """List the pairs of a step.

        Args:
            step: Its images, captions and negatives.
            number: Of the step.

        Returns:
            For each pair the place of its image in the step, int64; its text in the data, int64;
            1.0 if they match, else 0.0; and its weight.
        """
        n = len(step.images)
        false_captions = self._draw_false_captions(step.images, number)
        # Three blocks of n pairs: with the captions, the negatives and the false captions.
        texts = np.concatenate([step.captions, step.negatives, false_captions])
        true = np.repeat([1.0, 0.0, 0.0], n)
        weights = np.repeat([1.0, self._recipe.negative_weight, 1.0], n)
        places = np.tile(np.arange(n), 3)
        # A text is -1 where an image has none of its kind.
        exists = np.flatnonzero((texts >= 0) & (weights > 0))
        return places[exists], texts[exists], true[exists], weights[exists]

    def _draw_false_captions(self, images: np.ndarray, number: int) -> np.ndarray:
        """For each image a random caption of the data that is not true of it, int64 (n,); -1 where
        all draws are true."""
        stream = Stream(self._recipe.seed, "others", number)
        false_captions = np.full(len(images), -1)
        for _ in range(_MAX_DRAWS):
            missing = np.flatnonzero(false_captions < 0)
            if len(missing) == 0:
                break
            rows = [stream.below(len(self._captions)) for _ in missing]
            candidates = self._captions[rows]
            # Truths are of every image with every text; the diagonal has each with its own.
            truths = self._facts.true(images[missing], candidates)
            is_false = ~truths.diagonal()
            false_captions[missing[is_false]] = candidates[is_false]
        return false_captions


def _to_tensor(values: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device, torch.float32)
