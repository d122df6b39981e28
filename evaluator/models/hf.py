"""`hf:` models: dual encoders of transformers. The `model_type` in config.json chooses the class
and its conventions.

`hf:OWNER/NAME`, `hf:OWNER/NAME@REVISION`, `hf:/path/to/folder`. To add a model type, add a line to
_TYPES, and a subclass of HfEncoder to _ENCODERS if it computes embeddings in another way.
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
from evaluator.models.hub import ModelSource, find_source
from evaluator.models.image_options import ImageOptions, split_image_options
from evaluator.models.pretrained import (
    PROCESSOR,
    TOKENIZER_AND_IMAGES,
    LoadTarget,
    Precision,
    Pretrained,
    load_pretrained,
    read_config,
    read_pooling,
)
from generator.base.errors import UserError

_LONG = 128
"""For longer text lengths, `tokens` gives fingerprints, and texts with a mask are padded to the
longest of a batch."""


@dataclass(frozen=True)
class TypeConventions:
    """How a model type is loaded and reads texts, as published."""

    model: str
    """The class of transformers."""
    lower: bool = False
    """Whether texts are put in lower case."""
    masked: bool = True
    """Whether the text tower gets an attention mask. SigLIP was trained without one."""
    longest: int | None = None
    """Maximum tokens of a text, if the model was trained with fewer than its configuration
    allows."""
    readers: tuple[str, ...] = TOKENIZER_AND_IMAGES
    """As `LoadTarget.readers`."""
    unused: tuple[str, ...] = ()
    """As `LoadTarget.unused`."""


_TYPES = {
    "clip": TypeConventions("CLIPModel"),
    "siglip": TypeConventions("SiglipModel", lower=True, masked=False),
    "siglip2": TypeConventions("Siglip2Model", lower=True, masked=False),
    # The pooler is not part of the embedding, and not in every file.
    "align": TypeConventions("AlignModel", longest=64, unused=("text_model.pooler",)),
    "altclip": TypeConventions("AltCLIPModel"),
    "blip": TypeConventions("BlipForImageTextRetrieval"),
    "qwen3_vl": TypeConventions("Qwen3VLModel", longest=8192, readers=PROCESSOR),
}
"""The model types that are dual encoders."""


class HfArguments(Precision, ImageOptions, total=False):
    """The arguments of a SPEC."""


class HfEncoder(TowerEncoder):
    """A model of transformers as a DualEncoder."""

    def __init__(self, loaded: Pretrained):
        self._type = _TYPES[loaded.model.config.model_type]
        self._model = self.network = loaded.model
        self.device = loaded.device
        self.processors = (loaded.tokenizer, loaded.image_processor)
        self._tokenizer, self._image_processor = self.processors
        self._tokenizer.padding_side = "right"
        self._length = _text_length(self._type, loaded.model.config, loaded.tokenizer)
        self.info = loaded.info | {"text_length": self._length}
        self.exposure = loaded.exposure
        self.key = loaded.key("hf", self._type.model, self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length), or their fingerprints, int64 (n, 4), if texts may be
        longer than _LONG."""
        # Rows of thousands of ids for each text would be most of what a run stores.
        if self._length > _LONG:
            encoded = self._tokenizer(
                self._texts_to_read(texts), truncation=True, max_length=self._length
            )
            return fingerprints(np.array(row, np.int64).tobytes() for row in encoded["input_ids"])
        return np.asarray(self._tokenize(texts)["input_ids"].numpy().astype(np.int64))

    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Inputs of the text tower by name, int64 (n, text_length)."""
        inputs = self._tokenize(texts)
        if not self._type.masked:
            inputs.pop("attention_mask", None)
        return dict(inputs)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """As TowerEncoder.token_counts."""
        ids = self._tokenizer(self._texts_to_read(texts))["input_ids"]
        return [len(row) for row in ids]

    def prepare_image(self, image: Image.Image) -> Any:
        """The model's inputs for an RGB image: tensors by name, each with a first dimension of
        1."""
        return self._image_processor(images=[image], return_tensors="pt")

    def _texts_to_read(self, texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts] if self._type.lower else list(texts)

    def _tokenize(self, texts: Sequence[str]) -> Any:
        # Without a mask the padding is read too, so it must have the length of training.
        padding = "longest" if self._length > _LONG and self._type.masked else "max_length"
        return self._tokenizer(
            self._texts_to_read(texts),
            padding=padding,
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )

    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """As TowerEncoder.text_features."""
        on_device = {name: values.to(self.device) for name, values in inputs.items()}
        return self._text_features(on_device)

    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """As TowerEncoder.image_features."""
        inputs = {}
        for name in images[0]:
            values = torch.cat([image[name] for image in images]).to(self.device)
            # Sizes and masks stay whole numbers.
            if values.is_floating_point():
                values = values.to(self._model.dtype)
            inputs[name] = values
        return self._image_features(inputs)

    def _text_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_text_features(**inputs).pooler_output

    def _image_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_image_features(**inputs).pooler_output


class BlipEncoder(HfEncoder):
    """The contrastive head of BlipForImageTextRetrieval, as the model computes it with
    `use_itm_head=False`."""

    def _text_features(self, inputs: Any) -> torch.Tensor:
        output = self._model.text_encoder(
            inputs["input_ids"], attention_mask=inputs["attention_mask"]
        )
        first_token = output.last_hidden_state[:, 0]
        return self._model.text_proj(first_token)

    def _image_features(self, inputs: Any) -> torch.Tensor:
        output = self._model.vision_model(**inputs)
        first_token = output.last_hidden_state[:, 0]
        return self._model.vision_proj(first_token)


class QwenEncoder(HfEncoder):
    """Qwen3-VL-Embedding: the hidden state of the last token of a chat with the default
    instruction.

    As published with the weights (Qwen3-VL-Embedding, src/models/qwen3_vl_embedding.py): texts have
    up to 8,192 tokens, and images are resized to hold 4 to 1,800 squares of two by two patches.
    """

    INSTRUCTION = "Represent the user's input."
    _SQUARES = (4, 1800)
    """Least and most squares of an image."""

    def __init__(self, loaded: Pretrained):
        self._processor = loaded.processor
        self._square = loaded.image_processor.patch_size * loaded.image_processor.merge_size
        super().__init__(loaded)
        mean = list(loaded.image_processor.image_mean)
        std = list(loaded.image_processor.image_std)
        low, high = self._SQUARES
        self.info |= {
            "instruction": self.INSTRUCTION,
            "preprocessing": f"resize to multiples of {self._square} pixels, {low} to {high} of "
            f"their squares, bicubic → normalise mean {mean} std {std}",
        }
        prompt = [self.INSTRUCTION, self._SQUARES, self._processor.chat_template]
        self.key = loaded.key("hf", self._type.model, self._length, prompt)

    def prepare_image(self, image: Image.Image) -> Image.Image:
        """The image itself, since the processor prepares images and chat together."""
        return image

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Unit embeddings of RGB images or of outputs of `prepare`, float32 (n, d)."""
        chats = [self._chat({"type": "image"})] * len(images)
        resized = [self._resize(image) for image in images]
        inputs = self._processor(
            text=chats, images=resized, do_resize=False, padding=True, return_tensors="pt"
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
        # Padding is on the right, so the last token of a text is where its mask ends.
        last = inputs["attention_mask"].sum(dim=1) - 1
        return hidden[torch.arange(len(last), device=hidden.device), last]

    def _resize(self, image: Image.Image) -> Image.Image:
        fewest, greatest = self._SQUARES
        pixels_of_square = self._square**2
        least, most = fewest * pixels_of_square, greatest * pixels_of_square
        height, width = smart_resize(image.height, image.width, self._square, least, most)
        return image.resize((width, height), Image.Resampling.BICUBIC)


_ENCODERS = {"blip": BlipEncoder, "qwen3_vl": QwenEncoder}
"""By type of model, the encoder of models that compute embeddings in their own way."""


def load_hf(name: str, device: str | None, **arguments: Unpack[HfArguments]) -> HfEncoder:
    """Load a dual encoder.

    Args:
        name: `OWNER/NAME`, `OWNER/NAME@REVISION` or a folder.
        device: The device that the user named; None for the best one.
        arguments: Number format, and overrides of preprocessing.

    Raises:
        UserError: The model is missing or is not a dual encoder.
    """
    source = find_source(name, "hf:")
    config = read_config(source)
    model_type = str(config.get("model_type"))
    architectures = config.get("architectures") or [""]
    _check_is_dual_encoder(source, model_type, architectures[0])
    conventions = _TYPES[model_type]
    target = LoadTarget(
        option="hf:",
        description="a dual encoder",
        classes={model_type: conventions.model},
        readers=conventions.readers,
        unused=conventions.unused,
    )
    overrides, precision = split_image_options(dict(arguments))
    encoder_class = _ENCODERS.get(model_type, HfEncoder)
    encoder = encoder_class(load_pretrained(name, device, target, **precision))
    encoder.override_preprocessing(overrides)
    return encoder


def as_dual_encoder(loaded: Pretrained) -> HfEncoder | None:
    """The dual encoder of a loaded model; None if its class is not among the dual encoders of this
    family."""
    model_type = loaded.model.config.model_type
    conventions = _TYPES.get(model_type)
    if conventions is None or conventions.model != type(loaded.model).__name__:
        return None
    return _ENCODERS.get(model_type, HfEncoder)(loaded)


def _check_is_dual_encoder(source: ModelSource, model_type: str, architecture: str) -> None:
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
    if model_type not in _TYPES:
        family = ""
        if model_type == "vilt":
            family = "vilt"
        elif model_type in ANSWERING:
            family = "vqa"
        advice = (
            f"score it as {family}:{name}"
            if family
            else "a class of your own can score it, see docs/models.md"
        )
        raise UserError(
            f"'{name}' is a model of type '{model_type}', which is not a dual encoder of hf: "
            f"({', '.join(_TYPES)}); {advice}."
        )


def _is_embedding(source: ModelSource) -> bool:
    """Whether a Qwen3-VL is an embedding model: it has "embedding" in its name, or pools the last
    token."""
    if "embedding" in Path(source.place).name.lower():
        return True
    return "lasttoken" in str(read_pooling(source))


def _text_length(conventions: TypeConventions, config: Any, tokenizer: Any) -> int:
    """Maximum tokens of a text."""
    text = config.get_text_config()
    positions = int(getattr(text, "max_position_embeddings", _LONG))
    if config.model_type == "altclip":  # XLM-RoBERTa starts its positions after the padding id
        positions -= text.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length, conventions.longest or positions))
