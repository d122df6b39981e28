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

_TRIES = 64


class Matching(Learner):
    """Trains a cross encoder on image–text matching.

    Each image of a step has one matching text, its caption, and two that do not match: its
    negative, and a caption from the data that is not true of it. Raises UserError if the model
    would truncate a text.
    """

    def __init__(
        self, model: ViltScorer, data: TrainingData, recipe: Recipe, augment: Augment | None = None
    ):
        check_length(model, data.texts)
        self.network, self.device, self._model = model.network.train(), model.device, model
        self._data, self._recipe, self._facts = data, recipe, Facts(data)
        self._images = PreparedImages(data, model.prepare, augment)
        self._precision = training_precision(recipe.precision, model.device)
        self._captions = data.captions[data.captions >= 0]

    def loss(self, step: Step, number: int) -> Tensor:
        """The weighted mean of the pairs' binary cross-entropy; negatives have weight
        `negative_weight`, others 1. Each process scores its share of the pairs.
        """
        places, texts, true, weights = self.pairs(step, number)
        own = share(len(texts))
        shown, image_of = np.unique(places[own], return_inverse=True)
        images = self._images.of(step.images[shown], shown.tolist(), number)
        with autocast(self.device, self._precision):
            logits = self._model.match(
                images, image_of.tolist(), [self._data.texts[text] for text in texts[own]]
            )
        logits = gather(logits.float(), len(texts))
        losses = F.binary_cross_entropy_with_logits(logits, _tensor(true, logits), reduction="none")
        weight = _tensor(weights, logits)
        return (weight * losses).sum() / weight.sum()

    def pairs(
        self, step: Step, number: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of a step: places of images in the step, texts of the data, whether they match,
        and weights."""
        n = len(step.images)
        texts = np.concatenate([step.captions, step.negatives, self._others(step.images, number)])
        true = np.repeat([1.0, 0.0, 0.0], n)
        weights = np.repeat([1.0, self._recipe.negative_weight, 1.0], n)
        there = np.flatnonzero((texts >= 0) & (weights > 0))
        return np.tile(np.arange(n), 3)[there], texts[there], true[there], weights[there]

    def _others(self, images: np.ndarray, number: int) -> np.ndarray:
        """For each image a random caption of the data that is not true of it; -1 if none is found
        in 64 tries."""
        stream = Stream(self._recipe.seed, "others", number)
        found = np.full(len(images), -1)
        for _ in range(_TRIES):
            if not len(missing := np.flatnonzero(found < 0)):
                break
            drawn = self._captions[[stream.below(len(self._captions)) for _ in missing]]
            true = self._facts.true(images[missing], drawn).diagonal()
            found[missing[~true]] = drawn[~true]
        return found


def _tensor(values: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(values).to(like.device, torch.float32)
