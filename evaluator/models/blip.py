"""`blip:` models: BLIP with its heads for image–text retrieval (Li et al. 2022), by folder or by name on the Hub."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.by_image import BATCH, ByImage, token_rows
from evaluator.models.pretrained import Loaded, load_pretrained


class BlipScorer(ByImage):
    """A BLIP model as a PairScorer (registry.py): the vision encoder runs once an image, the text attends to it.

    `itm` is the matching head's logit of a match less that of none, so the log odds of a match; `itc` is the cosine of
    the image's and the text's own embeddings.
    """

    channels = ("itm", "itc")

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        super().__init__(loaded, batch)
        self._length = min(loaded.tokenizer.model_max_length, loaded.model.config.text_config.max_position_embeddings)
        self._vectors: dict[str, torch.Tensor] = {}
        self.info |= {"text_length": self._length}
        self.key = loaded.key("blip", self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        return token_rows(self._loaded.tokenizer, texts, self._length)

    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        self._vectors = {}
        return super().score_pairs(images, pairs, contests)

    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return list(blip_states(self._loaded, images))

    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        model, states = self._loaded.model, torch.stack(list(features))
        words = blip_words(self._loaded, texts, self._length)
        read = model.text_encoder(**words, encoder_hidden_states=states, encoder_attention_mask=_all(states))
        odds = model.itm_head(read.last_hidden_state[:, 0])
        seen = F.normalize(model.vision_proj(states[:, 0]), dim=-1)
        cosine = (seen * self._texts(texts)).sum(1)
        return torch.stack([odds[:, 1] - odds[:, 0], cosine], dim=1)

    def _texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit embeddings (n, d) of texts without an image, each distinct one computed once."""
        if new := sorted(set(texts) - self._vectors.keys()):
            read = self._loaded.model.text_encoder(**blip_words(self._loaded, new, self._length))
            unit = F.normalize(self._loaded.model.text_proj(read.last_hidden_state[:, 0]), dim=-1)
            self._vectors.update(zip(new, unit, strict=True))
        return torch.stack([self._vectors[text] for text in texts])


def blip_states(loaded: Loaded, images: Sequence[Image.Image]) -> torch.Tensor:
    """The vision encoder's states (n, patches, d) of images."""
    seen = loaded.processor.image_processor(list(images), return_tensors="pt").to(loaded.device)
    states: torch.Tensor = loaded.model.vision_model(pixel_values=seen["pixel_values"]).last_hidden_state
    return states


def blip_words(loaded: Loaded, texts: Sequence[str], length: int) -> dict[str, torch.Tensor]:
    """Token ids and their mask (n, longest)."""
    cut = {"padding": True, "truncation": True, "max_length": length, "return_token_type_ids": False}
    words = loaded.tokenizer(list(texts), **cut, return_tensors="pt").to(loaded.device)
    return {"input_ids": words["input_ids"], "attention_mask": words["attention_mask"]}


def _all(states: torch.Tensor) -> torch.Tensor:
    return torch.ones(states.shape[:2], dtype=torch.long, device=states.device)


def load_blip(name: str, device: str | None) -> BlipScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is not a BLIP model with retrieval heads."""
    return BlipScorer(load_pretrained(name, device, "blip", {"blip": "BlipForImageTextRetrieval"}, "BlipProcessor"))
