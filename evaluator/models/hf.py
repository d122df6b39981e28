"""`hf:` models: dual encoders of transformers. The `model_type` in config.json chooses the class
and its conventions.

`hf:OWNER/NAME`, `hf:OWNER/NAME@REVISION`, `hf:/path/to/folder`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from PIL import Image
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as ANSWERING,
)
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

from evaluator.models.bases import TowerEncoder, unit
from evaluator.models.contracts import fingerprints
from evaluator.models.hub import Source, find_source
from evaluator.models.pretrained import (
    PROCESSOR,
    TOKENIZER_AND_IMAGES,
    Precision,
    Pretrained,
    Wanted,
    load_pretrained,
    read_config,
    read_pooling,
)
from generator.base.errors import UserError

_LONG = 128
"""For longer text lengths, `tokens` gives fingerprints, and texts with a mask are padded to the
longest of a batch."""


@dataclass(frozen=True)
class Kind:
    """How a model type is loaded and reads texts, as published."""

    model: str
    lower: bool = False
    """Whether texts are put in lower case."""
    masked: bool = True
    """Whether the text tower gets an attention mask. SigLIP was trained without one."""
    longest: int | None = None
    """Maximum tokens of a text, if the model was trained with fewer than its configuration
    allows."""
    readers: tuple[str, ...] = TOKENIZER_AND_IMAGES
    unused: tuple[str, ...] = ()


_KINDS = {
    "clip": Kind("CLIPModel"),
    "siglip": Kind("SiglipModel", lower=True, masked=False),
    "siglip2": Kind("Siglip2Model", lower=True, masked=False),
    # the pooler is not part of the embedding, and not in every file
    "align": Kind("AlignModel", longest=64, unused=("text_model.pooler",)),
    "altclip": Kind("AltCLIPModel"),
    "blip": Kind("BlipForImageTextRetrieval"),
    "qwen3_vl": Kind("Qwen3VLModel", longest=8192, readers=PROCESSOR),
}


class HfEncoder(TowerEncoder):
    """A model of transformers as a DualEncoder."""

    def __init__(self, loaded: Pretrained):
        self._kind = kind = _KINDS[loaded.model.config.model_type]
        self._model, self.device = loaded.model, loaded.device
        self.network, self.processors = loaded.model, (loaded.tokenizer, loaded.image_processor)
        self._tokenizer, self._image_processor = self.processors
        self._tokenizer.padding_side = "right"
        self._length = _text_length(kind, loaded.model.config, loaded.tokenizer)
        self.info, self.exposure = loaded.info | {"text_length": self._length}, loaded.exposure
        self.key = loaded.key("hf", kind.model, self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length), or their fingerprints, int64 (n, 4), if texts may be
        longer than _LONG."""
        if self._length > _LONG:
            ids = self._tokenizer(
                self._texts_to_read(texts), truncation=True, max_length=self._length
            )["input_ids"]
            return fingerprints(np.array(row, np.int64).tobytes() for row in ids)
        return np.asarray(self._tokenize(texts)["input_ids"].numpy().astype(np.int64))

    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Inputs of the text tower by name, int64 (n, text_length)."""
        inputs = self._tokenize(texts)
        if not self._kind.masked:
            inputs.pop("attention_mask", None)
        return dict(inputs)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """As TowerEncoder.token_counts."""
        return [len(row) for row in self._tokenizer(self._texts_to_read(texts))["input_ids"]]

    def prepare(self, image: Image.Image) -> Any:
        """The model's inputs for an RGB image: tensors by name, each with a first dimension of
        1."""
        return self._image_processor(images=[image], return_tensors="pt")

    def _texts_to_read(self, texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts] if self._kind.lower else list(texts)

    def _tokenize(self, texts: Sequence[str]) -> Any:
        padding = "longest" if self._length > _LONG and self._kind.masked else "max_length"
        return self._tokenizer(
            self._texts_to_read(texts),
            padding=padding,
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )

    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """As TowerEncoder.text_features."""
        return self._text_features(
            {name: values.to(self.device) for name, values in inputs.items()}
        )

    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """As TowerEncoder.image_features."""
        together = {
            name: torch.cat([each[name] for each in images]).to(self.device) for name in images[0]
        }
        dtype = self._model.dtype
        return self._image_features(
            {
                name: values.to(dtype) if values.is_floating_point() else values
                for name, values in together.items()
            }
        )

    def _text_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_text_features(**inputs).pooler_output

    def _image_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_image_features(**inputs).pooler_output


class BlipEncoder(HfEncoder):
    """The contrastive head of BlipForImageTextRetrieval, as the model computes it with
    `use_itm_head=False`."""

    def _text_features(self, inputs: Any) -> torch.Tensor:
        hidden = self._model.text_encoder(
            inputs["input_ids"], attention_mask=inputs["attention_mask"]
        )
        return self._model.text_proj(hidden.last_hidden_state[:, 0])

    def _image_features(self, inputs: Any) -> torch.Tensor:
        return self._model.vision_proj(self._model.vision_model(**inputs).last_hidden_state[:, 0])


class QwenEncoder(HfEncoder):
    """Qwen3-VL-Embedding: the hidden state of the last token of a chat with the default
    instruction.

    As published with the weights (Qwen3-VL-Embedding, src/models/qwen3_vl_embedding.py): texts have
    up to 8,192 tokens, and images are resized to hold 4 to 1,800 squares of two by two patches.
    """

    INSTRUCTION = "Represent the user's input."
    _SQUARES = (4, 1800)

    def __init__(self, loaded: Pretrained):
        self._processor = loaded.processor
        self._square = loaded.image_processor.patch_size * loaded.image_processor.merge_size
        super().__init__(loaded)
        mean, std = list(loaded.image_processor.image_mean), list(loaded.image_processor.image_std)
        low, high = self._SQUARES
        self.info |= {
            "instruction": self.INSTRUCTION,
            "preprocessing": f"resize to multiples of {self._square} pixels, {low} to {high} of "
            f"their squares, bicubic → normalise mean {mean} std {std}",
        }
        asked = [self.INSTRUCTION, self._SQUARES, self._processor.chat_template]
        self.key = loaded.key("hf", self._kind.model, self._length, asked)

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image itself, since the processor prepares images and chat together."""
        return image

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Unit embeddings of RGB images, float32 (n, d)."""
        chats = [self._chat({"type": "image"})] * len(images)
        sized = [self._resized(image) for image in images]
        inputs = self._processor(
            text=chats, images=sized, do_resize=False, padding=True, return_tensors="pt"
        )
        return unit(self._text_features(inputs.to(self.device)))

    def _texts_to_read(self, texts: Sequence[str]) -> list[str]:
        return [self._chat({"type": "text", "text": text}) for text in texts]

    def _chat(self, content: dict[str, str]) -> str:
        turns = [
            {"role": "system", "content": [{"type": "text", "text": self.INSTRUCTION}]},
            {"role": "user", "content": [content]},
        ]
        return self._processor.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=False
        )

    def _text_features(self, inputs: Any) -> torch.Tensor:
        hidden = self._model(**inputs, use_cache=False).last_hidden_state
        last = inputs["attention_mask"].sum(dim=1) - 1
        return hidden[torch.arange(len(last), device=hidden.device), last]

    def _resized(self, image: Image.Image) -> Image.Image:
        low, high = (n * self._square**2 for n in self._SQUARES)
        height, width = smart_resize(image.height, image.width, self._square, low, high)
        return image.resize((width, height), Image.Resampling.BICUBIC)


_ENCODERS = {"blip": BlipEncoder, "qwen3_vl": QwenEncoder}


def load_hf(name: str, device: str | None, **how: Unpack[Precision]) -> HfEncoder:
    """Load `OWNER/NAME`, `OWNER/NAME@REVISION` or a folder. Raises UserError when the model is
    missing or is not a dual encoder."""
    source = find_source(name, "hf:")
    config = read_config(source)
    model_type = str(config.get("model_type"))
    _check_is_dual_encoder(source, model_type, next(iter(config.get("architectures") or []), ""))
    kind = _KINDS[model_type]
    wanted = Wanted("hf:", "a dual encoder", {model_type: kind.model}, kind.readers, kind.unused)
    return _ENCODERS.get(model_type, HfEncoder)(load_pretrained(name, device, wanted, **how))


def as_dual_encoder(loaded: Pretrained) -> HfEncoder | None:
    """The dual encoder of a loaded model; None if its class is not among the dual encoders of this
    family."""
    model_type = loaded.model.config.model_type
    kind = _KINDS.get(model_type)
    if kind is None or kind.model != type(loaded.model).__name__:
        return None
    return _ENCODERS.get(model_type, HfEncoder)(loaded)


def _check_is_dual_encoder(source: Source, model_type: str, architecture: str) -> None:
    """Raises UserError for other models, naming the family that scores them, if any."""
    name = source.name
    if model_type == "qwen3_vl" and not _is_embedding(source):
        raise UserError(
            f"'{name}' is a Qwen3-VL that answers in words, not an embedding model: it has no "
            f"1_Pooling/config.json with 'lasttoken'; score it as vqa:{name}."
        )
    if model_type == "blip" and architecture not in ("", "BlipForImageTextRetrieval"):
        raise UserError(
            f"'{name}' is a {architecture}, which has no contrastive head; give weights of "
            f"BlipForImageTextRetrieval, such as Salesforce/blip-itm-base-coco."
        )
    if model_type not in _KINDS:
        family = "vilt" if model_type == "vilt" else "vqa" * (model_type in ANSWERING)
        mend = (
            f"score it as {family}:{name}"
            if family
            else "a class of your own can score it, see docs/models.md"
        )
        raise UserError(
            f"'{name}' is a model of type '{model_type}', which is not a dual encoder of hf: "
            f"({', '.join(_KINDS)}); {mend}."
        )


def _is_embedding(source: Source) -> bool:
    """Whether a Qwen3-VL is an embedding model: it has "embedding" in its name, or pools the last
    token."""
    return "embedding" in Path(source.place).name.lower() or "lasttoken" in str(
        read_pooling(source)
    )


def _text_length(kind: Kind, config: Any, tokenizer: Any) -> int:
    """Maximum tokens of a text."""
    text = config.get_text_config()
    positions = int(getattr(text, "max_position_embeddings", _LONG))
    if config.model_type == "altclip":  # XLM-RoBERTa starts its positions after the padding id
        positions -= text.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length, kind.longest or positions))
