"""`Contrastive`: the learner of dual encoders. A step compares all its images with all its texts,
embedded by two trained towers, or by a linear layer over frozen embeddings (LABCLIP, Koishigarina
et al. 2026).

Losses take logits, which are cosines divided by the temperature, and return a differentiable
scalar.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.models.bases import TowerEncoder
from evaluator.models.image_options import check_not_overridden
from evaluator.models.network import autocast, training_precision
from evaluator.training.data import Augment, Facts, PreparedImages, Step, TrainingData, check_length
from evaluator.training.fit import Learner, gather, share
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress

_TOGETHER = 64
"""Batch size, in images or texts, for frozen embeddings."""


class Contrastive(Learner):
    """Trains an embedder with the contrastive loss, hard negatives and hard positives.

    embedder: two towers, or a layer over frozen embeddings. Its `logit_scale`, a parameter of its
        `network`, is the
    logarithm of the inverse temperature. bags: a text counts as true of an image if each of its
    words is in a true
    text, in any order, so that training does not teach binding.
    """

    def __init__(
        self, embedder: "Towers | Alignment", data: TrainingData, recipe: Recipe, bags: bool = False
    ):
        self._embedder, self._recipe = embedder, recipe
        self._facts = Facts(data, bags)
        self.network, self.device = embedder.network, embedder.device

    def settle(self) -> None:
        """Clamp the inverse temperature to 1..100, as CLIP's training does."""
        self._embedder.logit_scale.data.clamp_(0, 4.6052)

    def loss(self, step: Step, number: int) -> Tensor:
        """The contrastive loss, with negatives as extra columns (`negclip`) or each against its
        caption (`svlc`), plus the hard-positive loss if `positive_loss` is `analogy`."""
        recipe, n = self._recipe, len(step.images)
        negated, said = np.flatnonzero(step.negatives >= 0), np.flatnonzero(step.positives >= 0)
        rows = np.concatenate([step.captions, step.negatives[negated], step.positives[said]])
        images, texts = self._embedder.embed(step.images, rows, number)
        logits = self._embedder.logit_scale.exp().squeeze() * images @ texts.T
        columns = n + len(negated)
        as_columns = recipe.negative_loss == "negclip"
        shown = columns if as_columns else n
        true = torch.from_numpy(self._facts.true(step.images, rows[:shown])).to(images.device)
        loss = contrastive(logits[:, :shown], true, recipe.negative_weight if as_columns else 1.0)
        if len(negated) and not as_columns:
            pairs = logits[negated, negated], logits[negated, n + np.arange(len(negated))]
            loss = loss + recipe.negative_weight * hard_negative(*pairs)
        if len(said) and recipe.positive_loss == "analogy":
            pairs = logits[said, said], logits[said, columns + np.arange(len(said))]
            loss = loss + recipe.positive_weight * hard_positive(*pairs)
        return loss


class Towers:
    """Embedder: the two towers of a model, in training mode, over `data`.

    precision: of both towers, as in a Recipe; embeddings are compared in float32. Raises UserError
        if the model has no
    learnable temperature, or would truncate a text.
    """

    def __init__(
        self,
        model: TowerEncoder,
        data: TrainingData,
        precision: str,
        augment: Augment | None = None,
    ):
        check_trainable(model)
        check_length(model, data.texts)
        self.network, self.device, self._model = model.network.train(), model.device, model
        self.logit_scale: Tensor = model.network.logit_scale
        self._precision = training_precision(precision, model.device)
        self._inputs = model.text_inputs(data.texts)
        self._images = PreparedImages(data, model.prepare, augment)

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Unit embeddings, float32 (n, d) and (m, d), of images and texts by their indices in the
        data. Each process computes its share."""
        n, m = len(images), len(texts)
        pixels = self._images.of(images[share(n)], range(n)[share(n)], step)
        inputs = {name: values[texts[share(m)]] for name, values in self._inputs.items()}
        with autocast(self.device, self._precision):
            shown, said = self._model.image_features(pixels), self._model.text_features(inputs)
        return gather(F.normalize(shown.float(), dim=-1), n), gather(
            F.normalize(said.float(), dim=-1), m
        )


def check_trainable(model: Any) -> None:
    """Raise UserError unless the model is a dual encoder with gradients and a learnable
    temperature, and has its own preprocessing."""
    check_not_overridden(model)
    if not (
        hasattr(model, "text_features")
        and isinstance(getattr(model.network, "logit_scale", None), nn.Parameter)
    ):
        name = getattr(model, "info", {}).get("weights", type(model).__name__)
        raise UserError(
            f"'{name}' cannot be trained this way: it is no dual encoder with a learnable "
            f"temperature; give an "
            "open_clip: or jackalope: model, or a CLIP, SigLIP or AltCLIP of hf:."
        )


def align(model: Any, spec: str, data: TrainingData, progress: Progress = SILENT) -> "Alignment":
    """Embed all images and texts of the data with a model, and return the layer to train over them,
    in float32.

    Raises UserError for a model that cannot be trained, whose text tower does not end in a linear
    layer, or that would truncate a text.
    """
    check_trainable(model)
    text_head(model.network, spec)
    check_length(model, data.texts)
    batches = [
        range(len(data))[start : start + _TOGETHER] for start in range(0, len(data), _TOGETHER)
    ]
    images = [
        model.encode_images([where.image(name) for where, name in (data.images[i] for i in batch)])
        for batch in progress.each(batches, "encoding images", len(batches))
    ]
    texts = [
        model.encode_texts(data.texts[i : i + _TOGETHER])
        for i in range(0, len(data.texts), _TOGETHER)
    ]
    shown, said = (
        torch.from_numpy(np.concatenate(each)).to(model.device) for each in (images, texts)
    )
    return Alignment(shown, said, model.network.logit_scale.detach().clone())


class Alignment(nn.Module):
    """Embedder: a matrix W (d, d) over the frozen unit embeddings of texts (m, d), and a
    temperature. The unit embeddings of images (n, d) do not change.

    W starts as the identity and has no bias. At the end it is merged into the model's text
    projection.
    """

    def __init__(self, images: Tensor, texts: Tensor, logit_scale: Tensor):
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(texts.shape[1], device=texts.device))
        self.logit_scale = nn.Parameter(logit_scale)
        self._images, self._texts, self.device = images, texts, images.device

    @property
    def network(self) -> nn.Module:
        """The trained module: W and the temperature."""
        return self

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Unit embeddings: the frozen ones of images; of texts after W."""
        return self._images[images], F.normalize(self._texts[texts] @ self.matrix.T, dim=-1)

    @torch.no_grad()
    def give_to(self, network: Any, spec: str) -> None:
        """Merge W into the text projection of the network, and set its temperature."""
        head = text_head(network, spec)
        if isinstance(head, nn.Linear):
            head.weight.copy_(self.matrix @ head.weight)
            if head.bias is not None:
                head.bias.copy_(self.matrix @ head.bias)
        else:
            head.copy_(head @ self.matrix.T)
        network.logit_scale.copy_(self.logit_scale)


def text_head(network: Any, spec: str) -> nn.Linear | nn.Parameter:
    """The final projection of a text tower: a linear layer, or a matrix (width, d). Raises
    UserError if it has none."""
    places = (network, getattr(network, "text", None), getattr(network, "text_model", None))
    found = [getattr(place, name, None) for name in ("text_projection", "head") for place in places]
    for each in found:
        if isinstance(each, nn.Linear | nn.Parameter):
            return each
    raise UserError(
        f"'{spec}' cannot be aligned: its text tower does not end in a linear layer; give a CLIP "
        f"or SigLIP model, or "
        "use `score train finetune`."
    )


def contrastive(logits: Tensor, true: Tensor, negative_weight: float = 1.0) -> Tensor:
    """CLIP's symmetric loss (Radford et al. 2021, section 2.3) of n images and n captions, with m
    negatives appended as columns to the softmax over texts (NegCLIP, Yuksekgonul et al. 2023,
    section 4).

    logits: float (n, n + m); column i < n is the caption of image i, other columns are negatives.
        true: bool, the same
    shape; other true texts of an image are left out of its softmax. negative_weight: w counts each
    negative w times in
    the sum of the softmax; 0 leaves them out, 1 is NegCLIP. Returns the average of the mean over
    images and the mean
    over captions.
    """
    n = len(logits)
    own = torch.eye(n, logits.shape[1], dtype=torch.bool, device=logits.device)
    logits = logits.masked_fill(true & ~own, -torch.inf)
    labels = torch.arange(n, device=logits.device)
    weight = math.log(negative_weight) if negative_weight else -math.inf
    texts = torch.cat([logits[:, :n], logits[:, n:] + weight], dim=1)
    return (F.cross_entropy(texts, labels) + F.cross_entropy(logits[:, :n].T, labels)) / 2


def hard_negative(caption: Tensor, negative: Tensor) -> Tensor:
    """SVLC's negatives loss (Doveh et al. 2023, section 3.3): each image chooses between its
    caption and its negative.

    caption, negative: float (k,), an image's logits with the two. Returns the mean of -log softmax
    of the caption, or 0 for k = 0.
    """
    return F.softplus(negative - caption).sum() / max(1, len(caption))


def hard_positive(caption: Tensor, positive: Tensor) -> Tensor:
    """The hard-positive loss of each image with its caption and its positive (Kamath et al. 2024,
    appendix D.1).

    caption, positive: float (k,), an image's logits with the two. The paper calls it SVLC's analogy
    loss and gives no formula. We use KL((1/2, 1/2) ‖ softmax of the two), the term `kl_pos` of
    SVLC's code: 0 if both logits are equal. Returns the mean, or 0 for k = 0.
    """
    apart = positive - caption
    return (F.softplus(apart) - apart / 2 - math.log(2)).sum() / max(1, len(caption))
