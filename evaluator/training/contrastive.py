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

_EMBEDDING_BATCH = 64
"""Images, or texts, that are embedded together where embeddings are frozen."""
_MAX_LOG_SCALE = 4.6052
"""ln 100, the largest logarithm of the inverse temperature (Radford et al. 2021, section 2.5)."""


class Contrastive(Learner):
    """Trains an embedder with the contrastive loss, hard negatives and hard positives."""

    def __init__(
        self, embedder: "Towers | Alignment", data: TrainingData, recipe: Recipe, bags: bool = False
    ):
        """Prepare the training.

        Args:
            embedder: Two towers, or a layer over frozen embeddings. Its `logit_scale`, a parameter
                of its `network`, is the logarithm of the inverse temperature.
            data: The training data.
            recipe: Its losses and their weights.
            bags: Whether a text counts as true of an image if each of its words is in a true text,
                in any order, so that training does not teach binding.
        """
        self._embedder = embedder
        self._recipe = recipe
        self._facts = Facts(data, bags)
        self.network = embedder.network
        self.device = embedder.device

    def after_update(self) -> None:
        """Clamp the inverse temperature to 1..100, as CLIP's training does."""
        self._embedder.logit_scale.data.clamp_(0, _MAX_LOG_SCALE)

    def loss(self, step: Step, number: int) -> Tensor:
        """Compute the contrastive loss, and the hard-positive loss if the recipe has one.

        Negatives are extra columns (`negclip`), or each is compared with its caption (`svlc`).
        """
        recipe = self._recipe
        n = len(step.images)
        # Columns of the logits: n captions, then the negatives, then the positives.
        with_negative = np.flatnonzero(step.negatives >= 0)
        with_positive = np.flatnonzero(step.positives >= 0)
        negatives = step.negatives[with_negative]
        positives = step.positives[with_positive]
        texts = np.concatenate([step.captions, negatives, positives])
        first_positive = n + len(negatives)
        image_vectors, text_vectors = self._embedder.embed(step.images, texts, number)
        scale = self._embedder.logit_scale.exp().squeeze()
        logits = scale * image_vectors @ text_vectors.T

        # All images against all captions, and for `negclip` against all negatives.
        as_columns = recipe.negative_loss == "negclip"
        columns = first_positive if as_columns else n
        # In a batch from few scenes another image's caption is often true of an image, too.
        truths = self._facts.true(step.images, texts[:columns])
        true = torch.from_numpy(truths).to(logits.device)
        weight = recipe.negative_weight if as_columns else 1.0
        loss = contrastive(logits[:, :columns], true, weight)

        # Each image against its own hard texts.
        if len(with_negative) and not as_columns:
            negative_columns = n + np.arange(len(negatives))
            of_captions = logits[with_negative, with_negative]
            of_negatives = logits[with_negative, negative_columns]
            loss = loss + recipe.negative_weight * hard_negative(of_captions, of_negatives)
        if len(with_positive) and recipe.positive_loss == "analogy":
            positive_columns = first_positive + np.arange(len(positives))
            of_captions = logits[with_positive, with_positive]
            of_positives = logits[with_positive, positive_columns]
            loss = loss + recipe.positive_weight * hard_positive(of_captions, of_positives)
        return loss


class Towers:
    """Embedder: the two towers of a model, in training mode."""

    def __init__(
        self,
        model: TowerEncoder,
        data: TrainingData,
        *,
        precision: str,
        augment: Augment | None = None,
    ):
        """Prepare the inputs of all texts.

        Args:
            model: A dual encoder with a learnable temperature.
            data: The images and texts.
            precision: Of both towers, as in a Recipe. Embeddings are compared in float32.
            augment: Changes an image at random.

        Raises:
            UserError: The model has no learnable temperature, or would truncate a text.
        """
        check_trainable(model)
        check_length(model, data.texts)
        self.network = model.network.train()
        self.device = model.device
        self._model = model
        self.logit_scale: Tensor = model.network.logit_scale
        self._precision = training_precision(precision, model.device)
        self._inputs = model.text_inputs(data.texts)
        self._images = PreparedImages(data, model.prepare, augment)

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Embed images and texts. Each process computes its share of them.

        Args:
            images: Indices of images in the data, int64 (n,).
            texts: Indices of texts in the data, int64 (m,).
            step: Number of the step.

        Returns:
            Unit embeddings, float32 (n, d) and (m, d).
        """
        n = len(images)
        m = len(texts)
        own_images = share(n)
        own_texts = texts[share(m)]
        pixels = self._images.batch(images[own_images], range(n)[own_images], step)
        inputs = {name: values[own_texts] for name, values in self._inputs.items()}
        with autocast(self.device, self._precision):
            image_features = self._model.image_features(pixels)
            text_features = self._model.text_features(inputs)
        image_vectors = F.normalize(image_features.float(), dim=-1)
        text_vectors = F.normalize(text_features.float(), dim=-1)
        return gather(image_vectors, n), gather(text_vectors, m)


def check_trainable(model: Any) -> None:
    """Check that the model is a dual encoder with gradients and a learnable temperature, and with
    its own preprocessing.

    Raises:
        UserError: It is not.
    """
    check_not_overridden(model)
    has_towers = hasattr(model, "text_features")
    temperature = getattr(model.network, "logit_scale", None) if has_towers else None
    if not isinstance(temperature, nn.Parameter):
        name = getattr(model, "info", {}).get("weights", type(model).__name__)
        raise UserError(
            f"'{name}' cannot be trained this way: it is not a dual encoder with a learnable "
            f"temperature; give an open_clip: or jackalope: model, or a CLIP, SigLIP or AltCLIP of "
            f"hf:."
        )


def align(model: Any, spec: str, *, data: TrainingData, progress: Progress = SILENT) -> "Alignment":
    """Embed all images and texts of the data, and make the layer to train over them.

    Args:
        model: A dual encoder.
        spec: The model as the user named it, for messages.
        data: The images and texts.
        progress: Shows the images.

    Returns:
        The layer, float32, which does not yet change a text.

    Raises:
        UserError: The model cannot be trained, would truncate a text, or has a text tower that
            does not end in a linear layer.
    """
    check_trainable(model)
    # Before hours of encoding: the layer could not be merged in the end.
    text_head(model.network, spec)
    check_length(model, data.texts)
    image_parts = []
    starts = range(0, len(data), _EMBEDDING_BATCH)
    for start in progress.follow(starts, "encoding images", total=len(starts)):
        pictures = []
        for source, name in data.images[start : start + _EMBEDDING_BATCH]:
            pictures.append(source.image(name))
        image_parts.append(model.encode_images(pictures))
    text_parts = []
    for start in range(0, len(data.texts), _EMBEDDING_BATCH):
        batch = data.texts[start : start + _EMBEDDING_BATCH]
        text_parts.append(model.encode_texts(batch))
    return Alignment(
        torch.from_numpy(np.concatenate(image_parts)).to(model.device),
        torch.from_numpy(np.concatenate(text_parts)).to(model.device),
        model.network.logit_scale.detach().clone(),
    )


class Alignment(nn.Module):
    """Embedder: a matrix W (d, d) over the frozen unit embeddings of texts, and a temperature. The
    embeddings of images do not change.

    W starts as the identity and has no bias. At the end it is merged into the model's text
    projection.
    """

    def __init__(self, images: Tensor, texts: Tensor, logit_scale: Tensor):
        """Make the layer.

        Args:
            images: Unit embeddings of images, float32 (n, d).
            texts: Unit embeddings of texts, float32 (m, d).
            logit_scale: Logarithm of the inverse temperature, a scalar.
        """
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(texts.shape[1], device=texts.device))
        self.logit_scale = nn.Parameter(logit_scale)
        self._images = images
        self._texts = texts
        self.device = images.device

    @property
    def network(self) -> nn.Module:
        """The trained module: W and the temperature."""
        return self

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Get unit embeddings, as `Towers.embed`: the frozen ones of images; of texts after W."""
        projected = self._texts[texts] @ self.matrix.T
        return self._images[images], F.normalize(projected, dim=-1)

    @torch.no_grad()
    def merge_into(self, network: Any, spec: str) -> None:
        """Merge W into the text projection of the network, and set its temperature.

        Args:
            network: The network whose embeddings were frozen.
            spec: The model as the user named it, for messages.
        """
        head = text_head(network, spec)
        if isinstance(head, nn.Linear):
            head.weight.copy_(self.matrix @ head.weight)
            if head.bias is not None:
                head.bias.copy_(self.matrix @ head.bias)
        else:
            # open_clip multiplies by its matrix from the right.
            head.copy_(head @ self.matrix.T)
        network.logit_scale.copy_(self.logit_scale)


def text_head(network: Any, spec: str) -> nn.Linear | nn.Parameter:
    """Find the final projection of a text tower.

    Args:
        network: A dual encoder of open_clip or transformers.
        spec: The model as the user named it, for messages.

    Returns:
        A linear layer, or a matrix (width, d).

    Raises:
        UserError: The text tower does not end in one.
    """
    # open_clip has the projection in the model or in its text tower, transformers in both under
    # other names.
    modules = (network, getattr(network, "text", None), getattr(network, "text_model", None))
    for name in ("text_projection", "head"):
        for module in modules:
            candidate = getattr(module, name, None)
            if isinstance(candidate, nn.Linear | nn.Parameter):
                return candidate
    raise UserError(
        f"'{spec}' cannot be aligned: its text tower does not end in a linear layer; give a CLIP "
        f"or SigLIP model, or use `score train finetune`."
    )


def contrastive(logits: Tensor, true: Tensor, negative_weight: float = 1.0) -> Tensor:
    """CLIP's symmetric loss (Radford et al. 2021, section 2.3) of n images and n captions, with m
    negatives as further columns in the softmax over texts (NegCLIP, Yuksekgonul et al. 2023,
    section 4).

    Args:
        logits: Float (n, n + m). Column i < n is the caption of image i; others are negatives.
        true: Bool (n, n + m): which texts are true of an image. True texts other than its caption
            are left out of its softmax.
        negative_weight: A negative counts this many times in the sum of the softmax. 0 leaves
            negatives out, 1 is NegCLIP.

    Returns:
        The average of the mean over images and the mean over captions, a scalar.

    >>> logits = torch.tensor([[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> true = torch.eye(2, 3, dtype=torch.bool)
    >>> round(float(contrastive(logits, true, negative_weight=0.0)), 4)
    0.1269
    >>> round(float(contrastive(logits, true)), 4)
    0.313
    """
    n = len(logits)
    is_own_caption = torch.eye(n, logits.shape[1], dtype=torch.bool, device=logits.device)
    # Out of the softmax, and not a further right answer: the loss stays CLIP's.
    logits = logits.masked_fill(true & ~is_own_caption, -torch.inf)
    labels = torch.arange(n, device=logits.device)
    # w times in the sum of exponentials is ln w added to the logit.
    log_weight = math.log(negative_weight) if negative_weight else -math.inf
    texts = torch.cat([logits[:, :n], logits[:, n:] + log_weight], dim=1)
    over_texts = F.cross_entropy(texts, labels)
    over_images = F.cross_entropy(logits[:, :n].T, labels)
    return (over_texts + over_images) / 2


def hard_negative(caption: Tensor, negative: Tensor) -> Tensor:
    """SVLC's negatives loss (Doveh et al. 2023, section 3.3): each image chooses between its
    caption and its negative.

    Args:
        caption: An image's logit with its caption, float (k,).
        negative: Its logit with its negative, float (k,).

    Returns:
        The mean of −log softmax of the caption, a scalar; 0 for k = 0.

    >>> round(float(hard_negative(torch.tensor([1.0]), torch.tensor([1.0]))), 4)
    0.6931
    """
    return F.softplus(negative - caption).sum() / max(1, len(caption))


def hard_positive(caption: Tensor, positive: Tensor) -> Tensor:
    """The hard-positive loss of Kamath et al. 2024 (appendix D.1).

    The paper calls it SVLC's analogy loss and gives no formula. We use
    KL((1/2, 1/2) ‖ softmax of the two logits), the term `kl_pos` of SVLC's code.

    Args:
        caption: An image's logit with its caption, float (k,).
        positive: Its logit with its positive, float (k,).

    Returns:
        The mean over images, a scalar; 0 for k = 0, and if both logits are equal.

    >>> float(hard_positive(torch.tensor([1.0]), torch.tensor([1.0])))
    0.0
    """
    difference = positive - caption
    divergence = F.softplus(difference) - difference / 2 - math.log(2)
    return divergence.sum() / max(1, len(caption))
