"""`Contrastive`: the learner of dual encoders. A step compares each of its images with each of its texts."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from evaluator.training.data import TrainingData
from evaluator.training.facts import ByWords, Facts
from evaluator.training.losses import contrastive, hard_negative, hard_positive
from evaluator.training.recipe import ANALOGY, NEGCLIP, Recipe
from evaluator.training.steps import Step


class Embedder(Protocol):
    """Embeddings with gradients, and a temperature: `Towers`, or a layer over frozen embeddings."""

    @property
    def network(self) -> nn.Module: ...
    @property
    def device(self) -> torch.device: ...
    def scale(self) -> Tensor: ...
    def settle(self) -> None: ...
    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]: ...


class Contrastive:
    """Trains an embedder on the contrastive loss, hard negatives and hard positives.

    bags: a text counts as true of an image if each of its words is in a true text, in any order, so that nothing is learnt of what
    belongs together.
    """

    def __init__(self, embedder: Embedder, data: TrainingData, recipe: Recipe, bags: bool = False):
        self._embedder, self._recipe = embedder, recipe
        self._facts = ByWords(data) if bags else Facts(data)
        self.network, self.device = embedder.network, embedder.device

    def settle(self) -> None:
        """Called after each step."""
        self._embedder.settle()

    def loss(self, step: Step, number: int) -> Tensor:
        """Contrastive, with negatives as columns (`negclip`) or against each caption (`svlc`), and analogies."""
        recipe, n = self._recipe, len(step.images)
        negated, said = np.flatnonzero(step.negatives >= 0), np.flatnonzero(step.positives >= 0)
        rows = np.concatenate([step.captions, step.negatives[negated], step.positives[said]])
        images, texts = self._embedder.embed(step.images, rows, number)
        logits = self._embedder.scale() * images @ texts.T
        columns = n + len(negated)
        as_columns = recipe.negative_loss == NEGCLIP
        shown = columns if as_columns else n
        true = torch.from_numpy(self._facts.true(step.images, rows[:shown])).to(images.device)
        loss = contrastive(logits[:, :shown], true, recipe.negative_weight if as_columns else 1.0)
        if len(negated) and not as_columns:
            pairs = logits[negated, negated], logits[negated, n + np.arange(len(negated))]
            loss = loss + recipe.negative_weight * hard_negative(*pairs)
        if len(said) and recipe.positive_loss == ANALOGY:
            pairs = logits[said, said], logits[said, columns + np.arange(len(said))]
            loss = loss + recipe.positive_weight * hard_positive(*pairs)
        return loss
