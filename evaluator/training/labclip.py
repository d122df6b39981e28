"""LABCLIP (Koishigarina et al. 2026): a linear layer over frozen text embeddings, trained with CLIP's loss.

W starts as the identity and has no bias. It ends in the model's own text projection, so the result is an ordinary
model.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.training.contrastive import check_trainable
from evaluator.training.data import TrainingData, check_length
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress

_TOGETHER = 64


def align(model: Any, spec: str, data: TrainingData, progress: Progress = SILENT) -> "Alignment":
    """The layer over the frozen embeddings of a model of all images and texts. The layer is trained in float32.

    Raises UserError for a model without a linear layer at the end of its text tower.
    """
    check_trainable(model)
    text_head(model.network, spec)
    check_length(model, data.texts)
    batches = [range(len(data))[start : start + _TOGETHER] for start in range(0, len(data), _TOGETHER)]
    images = [
        model.encode_images([where.image(name) for where, name in (data.images[i] for i in batch)])
        for batch in progress.each(batches, "encoding images", len(batches))
    ]
    texts = [model.encode_texts(data.texts[i : i + _TOGETHER]) for i in range(0, len(data.texts), _TOGETHER)]
    shown, said = (torch.from_numpy(np.concatenate(each)).to(model.device) for each in (images, texts))
    return Alignment(shown, said, model.network.logit_scale.detach().clone())


class Alignment(nn.Module):
    """W (d, d) over the frozen unit embeddings of images (n, d) and texts (m, d), and a temperature."""

    def __init__(self, images: Tensor, texts: Tensor, logit_scale: Tensor):
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(texts.shape[1], device=texts.device))
        self.logit_scale = nn.Parameter(logit_scale)
        self._images, self._texts, self.device = images, texts, images.device

    @property
    def network(self) -> nn.Module:
        """What is trained: W and the temperature."""
        return self

    def embed(self, images: np.ndarray, texts: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Unit embeddings: of images as they are frozen, of texts after W."""
        return self._images[images], F.normalize(self._texts[texts] @ self.matrix.T, dim=-1)

    @torch.no_grad()
    def give_to(self, network: Any, spec: str) -> None:
        """Multiply the text projection of the network by W, and give it the temperature."""
        head = text_head(network, spec)
        if isinstance(head, nn.Linear):
            head.weight.copy_(self.matrix @ head.weight)
            if head.bias is not None:
                head.bias.copy_(self.matrix @ head.bias)
        else:
            head.copy_(head @ self.matrix.T)
        network.logit_scale.copy_(self.logit_scale)


def text_head(network: Any, spec: str) -> nn.Linear | nn.Parameter:
    """The last, linear step of a text tower: a layer, or a matrix (width, d). Raises UserError where there is none."""
    places = (network, getattr(network, "text", None), getattr(network, "text_model", None))
    found = [getattr(place, name, None) for name in ("text_projection", "head") for place in places]
    for each in found:
        if isinstance(each, nn.Linear | nn.Parameter):
            return each
    raise UserError(
        f"'{spec}' cannot be aligned: its text tower does not end in a linear layer; give a CLIP or SigLIP model, or "
        "use `score train finetune`."
    )
