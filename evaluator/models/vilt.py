"""`vilt:` models: ViLT with its head for image–text retrieval (Kim et al. 2021, "ViLT:
Vision-and-Language Transformer")."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Unpack

import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.bases import CrossEncoder
from evaluator.models.pretrained import (
    TOKENIZER_AND_IMAGES,
    Precision,
    Pretrained,
    Wanted,
    load_pretrained,
)

_WANTED = Wanted(
    "vilt:",
    "a ViLT model with a retrieval head",
    {"vilt": "ViltForImageAndTextRetrieval"},
    TOKENIZER_AND_IMAGES,
)


class ViltScorer(CrossEncoder):
    """A ViLT model as a PairScorer: one transformer reads the image's patches and the words
    together.

    `itm` is the logit of a match. Patches are embedded once per image; the transformer runs once
    per pair. All patches
    are read in order; `max_image_length` of the configuration, which would sample patches at
    random, is ignored.
    """

    channels = ("itm",)

    def __init__(self, loaded: Pretrained):
        super().__init__(loaded, loaded.model.config.max_position_embeddings)
        self.network, self.device = loaded.model, loaded.device
        self.processors = (loaded.tokenizer, loaded.image_processor)
        self.info |= {"patches": "all"}
        self.key = loaded.key("vilt", self._length)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before truncation, start and end included."""
        return (
            [len(ids) for ids in self._loaded.tokenizer(list(texts), verbose=False)["input_ids"]]
            if texts
            else []
        )

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """The model's input for an RGB image, float32 (3, h, w)."""
        return self._loaded.image_processor([image], return_tensors="pt")["pixel_values"][0]

    def match(
        self, images: Sequence[torch.Tensor], places: Sequence[int], texts: Sequence[str]
    ) -> torch.Tensor:
        """Logits of a match (n,), with gradients: text i with the prepared image
        images[places[i]]."""
        features = self._embed_patches(images)
        return self._score([features[place] for place in places], texts)[:, 0]

    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return self._embed_patches([self.prepare(image) for image in images])

    def _embed_patches(self, images: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The class token and the embedded patches of each prepared image with their positions, (1
        + patches, d).

        Like `visual_embed` of transformers, but batched by image shape and without shuffling the
        patches.
        """
        parts, size = self._loaded.model.vilt.embeddings, self._loaded.model.config
        side = size.image_size // size.patch_size
        square = parts.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, (side, side))
        first = parts.cls_token + parts.position_embeddings[:, :1]
        of_shape: dict[torch.Size, list[int]] = defaultdict(list)
        for place, image in enumerate(images):
            of_shape[image.shape].append(place)
        embedded: dict[int, torch.Tensor] = {}
        for places in of_shape.values():
            pixels = torch.stack([images[place] for place in places]).to(
                self.device, self.network.dtype
            )
            patches = parts.patch_embeddings(pixels)
            positions = F.interpolate(
                square, size=patches.shape[2:], mode="bilinear", align_corners=True
            )
            patches = (patches + positions).flatten(2).transpose(1, 2)
            whole = torch.cat([first.expand(len(patches), -1, -1), patches], 1)
            embedded |= zip(places, parts.dropout(whole).unbind(), strict=True)
        return [embedded[place] for place in range(len(images))]

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        words = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
        distinct = list({id(each): each for each in features}.values())
        places = {id(each): place for place, each in enumerate(distinct)}
        lengths = [len(each) for each in distinct]
        rows = torch.tensor([places[id(each)] for each in features], device=self.device)
        filled = [
            F.pad(each, (0, 0, 0, max(lengths) - n))
            for each, n in zip(distinct, lengths, strict=True)
        ]
        there = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        images = {
            "image_embeds": torch.stack(filled)[rows],
            "pixel_mask": there.long().to(self.device)[rows],
        }
        return self._loaded.model(**words.to(self.device), **images).logits


def load_vilt(name: str, device: str | None, **how: Unpack[Precision]) -> ViltScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is not a ViLT model with a
    retrieval head."""
    return ViltScorer(load_pretrained(name, device, _WANTED, **how))
