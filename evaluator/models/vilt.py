"""`vilt:` models: ViLT with its head for image–text retrieval (Kim et al. 2021), by folder or by name on the Hub."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from evaluator.models.by_image import BATCH, ByImage, token_rows
from evaluator.models.pretrained import Loaded, load_pretrained


class ViltScorer(ByImage):
    """A ViLT model as a PairScorer (registry.py): one transformer reads the patches and the words together.

    The linear embedding of an image's patches is computed once an image; the transformer runs once a pair. All patches
    are read, in their order, whatever `max_image_length` says: that limit draws patches at random.
    """

    channels = ("itm",)

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        super().__init__(loaded, batch)
        self._length = min(loaded.tokenizer.model_max_length, loaded.model.config.max_position_embeddings)
        self.info |= {"text_length": self._length, "patches": "all"}
        self.key = loaded.key("vilt", self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        return token_rows(self._loaded.tokenizer, texts, self._length)

    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return [self._patches(image) for image in images]

    def _patches(self, image: Image.Image) -> torch.Tensor:
        """Embedded patches and their positions, after the class token: (1 + patches, d)."""
        seen = self._loaded.processor.image_processor([image], return_tensors="pt").to(self._loaded.device)
        pixels = seen["pixel_values"]
        mask = torch.ones(pixels.shape[0], *pixels.shape[2:], dtype=torch.long, device=pixels.device)
        with torch.random.fork_rng(devices=[]):  # the library shuffles the patches
            patches, _, (place, (_, width)) = self._loaded.model.vilt.embeddings.visual_embed(pixels, mask, -1)
        order = torch.argsort(place[0, :, 0] * width + place[0, :, 1])
        return torch.cat([patches[0, :1], patches[0, 1:][order]])

    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        words = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
        patches = torch.nn.utils.rnn.pad_sequence(list(features), batch_first=True)
        sizes = torch.tensor([len(each) for each in features], device=patches.device)
        mask = (torch.arange(patches.shape[1], device=patches.device) < sizes[:, None]).long()
        logits: torch.Tensor = self._loaded.model(
            **words.to(self._loaded.device), image_embeds=patches, pixel_mask=mask
        ).logits
        return logits


def load_vilt(name: str, device: str | None) -> ViltScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is not a ViLT model with a retrieval head."""
    return ViltScorer(load_pretrained(name, device, "vilt", {"vilt": "ViltForImageAndTextRetrieval"}, "ViltProcessor"))
