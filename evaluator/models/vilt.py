"""`vilt:` models: ViLT with its head for image–text retrieval (Kim et al. 2021, "ViLT: Vision-and-Language
Transformer")."""

from collections.abc import Sequence
from typing import Unpack

import torch
from PIL import Image

from evaluator.models.bases import CrossEncoder
from evaluator.models.pretrained import TOKENIZER_AND_IMAGES, Precision, Pretrained, Wanted, load_pretrained

_WANTED = Wanted(
    "vilt:", "a ViLT model with a retrieval head", {"vilt": "ViltForImageAndTextRetrieval"}, TOKENIZER_AND_IMAGES
)


class ViltScorer(CrossEncoder):
    """A ViLT model as a PairScorer: one transformer reads the image's patches and the words together.

    `itm` is the logit of a match. Patches are embedded once per image; the transformer runs once per pair. All patches
    are read in their order, and `max_image_length` of the configuration is ignored: it would draw patches at random.
    """

    channels = ("itm",)

    def __init__(self, loaded: Pretrained):
        super().__init__(loaded, loaded.model.config.max_position_embeddings)
        self.network, self.device = loaded.model, loaded.device
        self.processors = (loaded.tokenizer, loaded.image_processor)
        self.info |= {"patches": "all"}
        self.key = loaded.key("vilt", self._length)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before any are cut, its first and last included."""
        return [len(ids) for ids in self._loaded.tokenizer(list(texts), verbose=False)["input_ids"]] if texts else []

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """An RGB image as the model takes it, float32 (3, h, w)."""
        return self._loaded.image_processor([image], return_tensors="pt")["pixel_values"][0]

    def match(self, images: Sequence[torch.Tensor], places: Sequence[int], texts: Sequence[str]) -> torch.Tensor:
        """Logits of a match (n,), with gradients, of n texts, each with the prepared image at its place in `images`."""
        features = [self._embed_patches(pixels) for pixels in images]
        return self._score([features[place] for place in places], texts)[:, 0]

    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return [self._embed_patches(self.prepare(image)) for image in images]

    def _embed_patches(self, image: torch.Tensor) -> torch.Tensor:
        """The class token and the embedded patches of a prepared image with their positions, (1 + patches, d)."""
        pixels = image[None].to(self._loaded.device, self._loaded.model.dtype)
        mask = torch.ones(pixels.shape[0], *pixels.shape[2:], dtype=torch.long, device=pixels.device)
        with torch.random.fork_rng(devices=[]):  # the library shuffles the patches
            embedded, _, (cells, (_, width)) = self._loaded.model.vilt.embeddings.visual_embed(pixels, mask, -1)
        order = torch.argsort(cells[0, :, 0] * width + cells[0, :, 1])
        return torch.cat([embedded[0, :1], embedded[0, 1:][order]])

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        words = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
        patches = torch.nn.utils.rnn.pad_sequence(list(features), batch_first=True)
        lengths = torch.tensor([len(each) for each in features], device=patches.device)
        mask = (torch.arange(patches.shape[1], device=patches.device) < lengths[:, None]).long()
        return self._loaded.model(**words.to(self._loaded.device), image_embeds=patches, pixel_mask=mask).logits


def load_vilt(name: str, device: str | None, **how: Unpack[Precision]) -> ViltScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is not a ViLT model with a retrieval head."""
    return ViltScorer(load_pretrained(name, device, _WANTED, **how))
