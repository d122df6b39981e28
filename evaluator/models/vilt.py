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
    LoadTarget,
    Precision,
    Pretrained,
    load_pretrained,
)

_TARGET = LoadTarget(
    option="vilt:",
    description="a ViLT model with a retrieval head",
    classes={"vilt": "ViltForImageAndTextRetrieval"},
    readers=TOKENIZER_AND_IMAGES,
)


class ViltScorer(CrossEncoder):
    """A ViLT model as a PairScorer: one transformer reads the image's patches and the words
    together.

    `itm` is the logit of a match. Patches are embedded once per image; the transformer runs once
    per pair. All patches are read in order; `max_image_length` of the configuration, which would
    sample patches at random, is ignored.
    """

    channels = ("itm",)

    def __init__(self, loaded: Pretrained):
        super().__init__(loaded, loaded.model.config.max_position_embeddings)
        self.network = loaded.model
        self.device = loaded.device
        self.processors = (loaded.tokenizer, loaded.image_processor)
        self.info |= {"patches": "all"}
        self.key = loaded.key("vilt", self._length)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text before truncation, start and end included."""
        if not texts:
            return []
        ids = self._loaded.tokenizer(list(texts), verbose=False)["input_ids"]
        return [len(row) for row in ids]

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """The model's input for an RGB image, float32 (3, h, w)."""
        return self._loaded.image_processor([image], return_tensors="pt")["pixel_values"][0]

    def match(
        self, images: Sequence[torch.Tensor], image_of_text: Sequence[int], texts: Sequence[str]
    ) -> torch.Tensor:
        """Score pairs with gradients, for training.

        Args:
            images: Prepared images.
            image_of_text: The index of the image of each of n texts.
            texts: The texts.

        Returns:
            Logits of a match (n,).
        """
        features = self._embed_patches(images)
        return self._score([features[image] for image in image_of_text], texts)[:, 0]

    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return self._embed_patches([self.prepare(image) for image in images])

    def _embed_patches(self, images: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The class token and the embedded patches of each prepared image with their positions, (1
        + patches, d).

        Like `visual_embed` of transformers, but batched by image shape and without shuffling the
        patches.
        """
        embeddings, config = self._loaded.model.vilt.embeddings, self._loaded.model.config
        # The first position is that of the class token. The others are of the patches of a square;
        # they are stretched to each image's shape.
        all_positions = embeddings.position_embeddings
        class_token = embeddings.cls_token + all_positions[:, :1]
        side = config.image_size // config.patch_size
        square_positions = all_positions[:, 1:].transpose(1, 2).unflatten(2, (side, side))

        # Images of one shape are embedded together.
        images_of_shape: dict[torch.Size, list[int]] = defaultdict(list)
        for index, image in enumerate(images):
            images_of_shape[image.shape].append(index)

        embedded: dict[int, torch.Tensor] = {}
        for indices in images_of_shape.values():
            pixels = torch.stack([images[index] for index in indices])
            patches = embeddings.patch_embeddings(pixels.to(self.device, self.network.dtype))
            positions = F.interpolate(
                square_positions, size=patches.shape[2:], mode="bilinear", align_corners=True
            )
            patches = (patches + positions).flatten(2).transpose(1, 2)
            tokens = torch.cat([class_token.expand(len(patches), -1, -1), patches], 1)
            embedded |= zip(indices, embeddings.dropout(tokens).unbind(), strict=True)
        return [embedded[index] for index in range(len(images))]

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        words = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
        # Images of several shapes are padded to the longest, once each, and then repeated. Tensors
        # have no cheap equality, so an image that several texts share is known by its id.
        distinct = list({id(image): image for image in features}.values())
        index_of = {id(image): index for index, image in enumerate(distinct)}
        lengths = [len(image) for image in distinct]
        longest = max(lengths)
        padded = []
        for image in distinct:
            padded.append(F.pad(image, (0, 0, 0, longest - len(image))))
        mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
        rows = torch.tensor([index_of[id(image)] for image in features], device=self.device)
        images = {
            "image_embeds": torch.stack(padded)[rows],
            "pixel_mask": mask.long().to(self.device)[rows],
        }
        return self._loaded.model(**words.to(self.device), **images).logits


def load_vilt(name: str, device: str | None, **precision: Unpack[Precision]) -> ViltScorer:
    """Load ViLT with its retrieval head.

    Args:
        name: A folder, or a name on the Hub.
        device: The device that the user named; None for the best one.
        precision: The number format.

    Raises:
        UserError: It is not a ViLT model with a retrieval head.
    """
    return ViltScorer(load_pretrained(name, device, _TARGET, **precision))
