"""`blip:` models: BLIP with its heads for image–text retrieval (Li et al. 2022, "BLIP: Bootstrapping Language-Image Pre-training")."""

from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.cross_encoder import BATCH, CrossEncoder, padded_tokens
from evaluator.models.pretrained import TOKENIZER_AND_IMAGES, Precision, Pretrained, Wanted, load_pretrained
from generator.base.errors import UserError

FirstToken = Literal["cls", "enc"]
ENCODES = "[ENC]"
_WANTED = Wanted(
    "blip:", "a BLIP model with retrieval heads", {"blip": "BlipForImageTextRetrieval"}, TOKENIZER_AND_IMAGES
)


class BlipScorer(CrossEncoder):
    """A BLIP model as a PairScorer: the vision encoder runs once per image, and the text encoder attends to its output.

    `itm` is the matching head's logit of a match minus its logit of no match, which is the log odds of a match. `itc` is
    the cosine of the image's and the text's own embeddings.
    """

    channels = ("itm", "itc")

    def __init__(self, loaded: Pretrained, batch: int = BATCH, first_token: FirstToken = "cls"):
        super().__init__(loaded, batch)
        self._first = first_id(loaded, first_token)
        self._length = min(loaded.tokenizer.model_max_length, loaded.model.config.text_config.max_position_embeddings)
        self._text_embeddings: dict[str, torch.Tensor] = {}
        self.info |= {"text_length": self._length, "first_token": first_token}
        self.key = loaded.key("blip", self._length, *([] if self._first is None else [self._first]))

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        return padded_tokens(self._loaded.tokenizer, texts, self._length)

    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        self._text_embeddings = {}
        return super().score_pairs(images, pairs, contests)

    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return list(encode_blip_images(self._loaded, images))

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        model, states = self._loaded.model, torch.stack(list(features))
        words = tokenize_blip(self._loaded, texts, self._length, self._first)
        mask = torch.ones(states.shape[:2], dtype=torch.long, device=states.device)
        read = model.text_encoder(**words, encoder_hidden_states=states, encoder_attention_mask=mask)
        match = model.itm_head(read.last_hidden_state[:, 0])
        image_embeddings = F.normalize(model.vision_proj(states[:, 0]), dim=-1)
        cosine = (image_embeddings * self._embed_texts(texts)).sum(1)
        return torch.stack([match[:, 1] - match[:, 0], cosine], dim=1)

    def _embed_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit embeddings (n, d) of texts without an image; each distinct text is embedded once."""
        if new := sorted(set(texts) - self._text_embeddings.keys()):
            read = self._loaded.model.text_encoder(**tokenize_blip(self._loaded, new, self._length))
            unit = F.normalize(self._loaded.model.text_proj(read.last_hidden_state[:, 0]), dim=-1)
            self._text_embeddings.update(zip(new, unit, strict=True))
        return torch.stack([self._text_embeddings[text] for text in texts])


def encode_blip_images(loaded: Pretrained, images: Sequence[Image.Image]) -> torch.Tensor:
    """Hidden states (n, patches, d) of BLIP's vision encoder."""
    inputs = loaded.image_processor(list(images), return_tensors="pt").to(loaded.device)
    states: torch.Tensor = loaded.model.vision_model(
        pixel_values=inputs["pixel_values"].to(loaded.model.dtype)
    ).last_hidden_state
    return states


def tokenize_blip(
    loaded: Pretrained, texts: Sequence[str], length: int, first: int | None = None
) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask`, each (n, longest text), of texts cut to `length` tokens. first: the token that stands in
    place of the first one; None leaves it."""
    options = {"padding": True, "truncation": True, "max_length": length, "return_token_type_ids": False}
    words = loaded.tokenizer(list(texts), **options, return_tensors="pt").to(loaded.device)
    if first is not None:
        words["input_ids"][:, 0] = first
    return {"input_ids": words["input_ids"], "attention_mask": words["attention_mask"]}


def first_id(loaded: Pretrained, first_token: FirstToken) -> int | None:
    """The id of the first token of a text that is read together with an image; None for the tokenizer's own, [CLS].

    The published code adds [DEC] and then [ENC] to BERT's words, and begins these texts with [ENC]. transformers has both
    embeddings and names [DEC] in the configuration, and its tokenizers lack [ENC]. Raises UserError for a model without it.
    """
    if first_token == "cls":
        return None
    tokenizer, config = loaded.tokenizer, loaded.model.config.text_config
    if ENCODES in tokenizer.get_vocab():
        return int(tokenizer.convert_tokens_to_ids(ENCODES))
    if config.bos_token_id == len(tokenizer) == config.vocab_size - 2:
        return int(config.bos_token_id + 1)
    raise UserError(f"'{loaded.info['weights']}' has no token {ENCODES} after its words; leave first_token=enc out.")


def load_blip(
    name: str, device: str | None, *, first_token: FirstToken = "cls", **how: Unpack[Precision]
) -> BlipScorer:
    """Load a folder or a name on the Hub. first_token: what texts begin with that are read together with an image, [CLS] as in
    transformers or [ENC] as in the published code.

    Raises UserError when it is not a BLIP model with retrieval heads, or has no [ENC].
    """
    return BlipScorer(load_pretrained(name, device, _WANTED, **how), first_token=first_token)
