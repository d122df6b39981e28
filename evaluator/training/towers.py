"""`Towers`: a dual encoder as a training sees it: embeddings with gradients, over the same code that scores it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.models.device import autocast, training_precision
from evaluator.training.data import TrainingData
from evaluator.training.prepared import PreparedImages
from evaluator.training.processes import gather, share
from generator.base.errors import UserError

Augment = Callable[[Tensor, Sequence[int], int], Tensor]
"""Changes images (n, ...) by their places in a step and its number."""


class Trainable(Protocol):
    """A dual encoder that can be trained: OpenClipEncoder, or an HfEncoder with a learnable temperature."""

    network: Any
    device: torch.device
    info: dict[str, Any]

    def text_inputs(self, texts: Sequence[str]) -> dict[str, Tensor]: ...
    def text_features(self, inputs: Mapping[str, Tensor]) -> Tensor: ...
    def prepare(self, image: Any) -> Any: ...
    def image_features(self, images: Sequence[Any]) -> Tensor: ...
    def token_counts(self, texts: Sequence[str]) -> list[int]: ...


class Reader(Protocol):
    """A model that reads at most `info["text_length"]` tokens of a text."""

    info: dict[str, Any]

    def token_counts(self, texts: Sequence[str]) -> list[int]: ...


class Towers:
    """The two towers of a model over some data, in training mode.

    augment: called with images float (n, 3, h, w), their places in the step, and the step's number. precision: of both towers, as in a Recipe; embeddings are
    compared in float32. Raises UserError where the model has no
    learnable temperature, and where it would cut a text.
    """

    def __init__(
        self, model: Trainable, data: TrainingData, augment: Augment | None = None, precision: str = "auto"
    ):  # fmt: skip
        check_trainable(model)
        check_length(model, data.texts)
        self.network: nn.Module = model.network.train()
        self.device = model.device
        self._model, self._augment = model, augment
        self._precision = training_precision(precision, model.device)
        self._inputs = model.text_inputs(data.texts)
        self._images = PreparedImages(data, model.prepare)

    def scale(self) -> Tensor:
        """The inverse of the temperature."""
        return torch.as_tensor(self.network.logit_scale).exp().squeeze()

    def settle(self) -> None:
        """Called after each step: keeps the inverse of the temperature between 1 and 100, as CLIP's training does."""
        torch.as_tensor(self.network.logit_scale).data.clamp_(0, 4.6052)

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Unit embeddings, float32 (n, d) and (m, d), of images and texts by their indices in the data. Each process computes its
        share."""
        n, m = len(images), len(texts)
        pixels = self._images.of(images[share(n)])
        if self._augment is not None:
            pixels = list(self._augment(torch.stack(pixels), range(n)[share(n)], step))
        inputs = {name: values[texts[share(m)]] for name, values in self._inputs.items()}
        with autocast(self.device, self._precision):
            shown, said = self._model.image_features(pixels), self._model.text_features(inputs)
        return gather(F.normalize(shown.float(), dim=-1), n), gather(F.normalize(said.float(), dim=-1), m)


def check_trainable(model: Any) -> None:
    """Raise UserError for a model that is no dual encoder with gradients and a learnable temperature."""
    if not (hasattr(model, "text_features") and isinstance(getattr(model.network, "logit_scale", None), nn.Parameter)):
        name = getattr(model, "info", {}).get("weights", type(model).__name__)
        raise UserError(
            f"'{name}' cannot be trained this way: it is no dual encoder with a learnable temperature; give an open_clip: model, a "
            "jackalope: one, or a CLIP, SigLIP or AltCLIP of hf:."
        )


def check_length(model: Reader, texts: Sequence[str]) -> None:
    """Raise UserError, with the length that is needed, where the model would cut one of the texts."""
    counts = model.token_counts(texts) if texts else []
    longest, most = max(counts, default=0), int(model.info["text_length"])
    if longest > most:
        n = sum(count > most for count in counts)
        raise UserError(
            f"The model reads {most} tokens and {n:,} of {len(counts):,} training texts need up to {longest}, such as "
            f"'{texts[counts.index(longest)]}'; give a model that reads {longest} tokens, or choose shorter --texts."
        )
