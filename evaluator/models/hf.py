"""`hf:` models: dual encoders of transformers, chosen by the model type in their configuration.

`hf:OWNER/NAME`, `hf:OWNER/NAME@REVISION`, `hf:/path/to/folder`. No code that comes with a model is ever run.
"""

import hashlib
import json
import logging
import pickle
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors import SafetensorError
from torch.nn import functional as F
from transformers.activations import ACT2CLS
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

from evaluator.models.device import best_device
from evaluator.models.open_clip import weights_digest
from evaluator.models.registry import FAMILIES, fingerprints
from generator.dataset.errors import UserError

_LONG = 128
# written by a library about itself; models that differ in nothing else are the same
_INCIDENTAL = {"transformers_version", "_name_or_path", "name_or_path", "dtype", "torch_dtype", "architectures",
               "is_local", "local_files_only", "processor_class"}  # fmt: skip
_NO_TENSORS = (pickle.UnpicklingError, SafetensorError, EOFError)
_TOGETHER, _SPEAKS = "reads image and text together", "answers in words"
_OTHERS = {
    "vilt": (_TOGETHER, "vilt"), "bridgetower": (_TOGETHER, "bridgetower"), "flava": (_TOGETHER, "flava"),
    "lxmert": (_TOGETHER, "lxmert"), "visual_bert": (_TOGETHER, "visual_bert"), "blip-2": (_TOGETHER, "blip2"),
    **dict.fromkeys(
        ("git", "idefics", "idefics2", "idefics3", "instructblip", "internvl", "kosmos-2", "llava", "llava_next",
         "llava_onevision", "mllama", "gemma3", "paligemma", "pix2struct", "qwen2_vl", "qwen2_5_vl", "smolvlm"),
        (_SPEAKS, "vqa"),
    ),
    "clip_text_model": ("is a text tower alone", ""), "clip_vision_model": ("is an image tower alone", ""),
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """How a type of model is loaded and reads texts, as it was published."""

    model: str
    lower: bool = False
    masked: bool = True
    """Whether the text tower is told which tokens are padding; SigLIP's never was."""
    longest: int | None = None
    """Tokens of a text, where it was trained with fewer than its configuration allows."""


_KINDS = {
    "clip": Kind("CLIPModel"),
    "siglip": Kind("SiglipModel", lower=True, masked=False),
    "siglip2": Kind("Siglip2Model", lower=True, masked=False),
    "align": Kind("AlignModel", longest=64),
    "altclip": Kind("AltCLIPModel"),
    "blip": Kind("BlipForImageTextRetrieval"),
    "qwen3_vl": Kind("Qwen3VLModel", longest=8192),
}


class HfEncoder:
    """A loaded model of transformers as a DualEncoder (registry.py). Weights are float32."""

    def __init__(self, name: str, kind: Kind, model: Any, tokenizer: Any, images: Any, device: torch.device):
        tokenizer.padding_side = "right"
        self._kind, self._model, self._tokenizer, self._images = kind, model, tokenizer, images
        self._device = device
        self._length = _text_length(kind, model.config, tokenizer)
        digest = weights_digest(model)
        self.info: dict[str, Any] = {
            "weights": name,
            "weights_sha256": digest,
            "class": type(model).__name__,
            "activation": _activation(model),
            "preprocessing": self._preprocessing(),
            "text_length": self._length,
            "parameters": sum(p.numel() for p in model.parameters()),
            "precision": "float32",
            "device": str(device),
        }
        parts = [
            digest,
            type(self).__name__,
            _lasting(model.config.to_dict()),
            _lasting(images.to_dict()),
            self.info["preprocessing"],
            _tokenizer_digest(tokenizer),
            self._length,
            device.type,
        ]
        self.key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length); where a text may be very long, fingerprints of them, int64 (n, 4)."""
        if self._length > _LONG:
            ids = self._tokenizer(self._said(texts), truncation=True, max_length=self._length)["input_ids"]
            return fingerprints(np.array(row, np.int64).tobytes() for row in ids)
        padded: np.ndarray = self._tokenized(texts)["input_ids"].numpy().astype(np.int64)
        return padded

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        inputs = self._tokenized(texts)
        if not self._kind.masked:
            inputs.pop("attention_mask", None)
        return _unit(self._text_features(inputs.to(self._device)))

    def prepare(self, image: Image.Image) -> Any:
        """An RGB image as the model takes it: tensors by name, each with a first dimension of 1; threads do this ahead."""
        return self._images(images=[image], return_tensors="pt")

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings of RGB images, prepared or not, float32 (n, d)."""
        ready = [self.prepare(image) if isinstance(image, Image.Image) else image for image in images]
        inputs = {name: torch.cat([each[name] for each in ready]).to(self._device) for name in ready[0]}
        return _unit(self._image_features(inputs))

    def _said(self, texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts] if self._kind.lower else list(texts)

    def _tokenized(self, texts: Sequence[str]) -> Any:
        padding = "longest" if self._length > _LONG else "max_length"
        return self._tokenizer(
            self._said(texts), padding=padding, truncation=True, max_length=self._length, return_tensors="pt"
        )

    def _text_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_text_features(**inputs).pooler_output

    def _image_features(self, inputs: Any) -> torch.Tensor:
        return self._model.get_image_features(**inputs).pooler_output

    def _preprocessing(self) -> str:
        return _described(self._images)


class BlipEncoder(HfEncoder):
    """The contrastive half of BlipForImageTextRetrieval: what it computes with `use_itm_head=False`."""

    def _text_features(self, inputs: Any) -> torch.Tensor:
        hidden = self._model.text_encoder(inputs["input_ids"], attention_mask=inputs["attention_mask"])
        return self._model.text_proj(hidden.last_hidden_state[:, 0])

    def _image_features(self, inputs: Any) -> torch.Tensor:
        return self._model.vision_proj(self._model.vision_model(**inputs).last_hidden_state[:, 0])


class QwenEncoder(HfEncoder):
    """Qwen3-VL-Embedding: the last token's hidden state of a chat with its default instruction.

    As published with the weights (Qwen3-VL-Embedding, src/models/qwen3_vl_embedding.py): texts up to 8,192 tokens, images
    resized to multiples of two patches, between 4 and 1,800 of these.
    """

    INSTRUCTION = "Represent the user's input."
    _CELLS = (4, 1800)

    def __init__(self, name: str, kind: Kind, model: Any, processor: Any, images: Any, device: torch.device):
        self._processor = processor
        self._cell = images.patch_size * images.merge_size
        super().__init__(name, kind, model, processor.tokenizer, images, device)
        self.info["instruction"] = self.INSTRUCTION

    def prepare(self, image: Image.Image) -> Image.Image:
        """The image itself: images and chat are prepared together."""
        return image

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Unit embeddings of RGB images, float32 (n, d)."""
        chats = [self._chat({"type": "image"})] * len(images)
        sized = [self._resized(image) for image in images]
        inputs = self._processor(text=chats, images=sized, do_resize=False, padding=True, return_tensors="pt")
        return _unit(self._text_features(inputs.to(self._device)))

    def _said(self, texts: Sequence[str]) -> list[str]:
        return [self._chat({"type": "text", "text": text}) for text in texts]

    def _chat(self, content: dict[str, str]) -> str:
        turns = [
            {"role": "system", "content": [{"type": "text", "text": self.INSTRUCTION}]},
            {"role": "user", "content": [content]},
        ]
        chat: str = self._processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return chat

    def _text_features(self, inputs: Any) -> torch.Tensor:
        hidden = self._model(**inputs, use_cache=False).last_hidden_state
        last = inputs["attention_mask"].sum(dim=1) - 1
        return hidden[torch.arange(len(last), device=hidden.device), last]

    def _resized(self, image: Image.Image) -> Image.Image:
        low, high = (n * self._cell**2 for n in self._CELLS)
        height, width = smart_resize(image.height, image.width, self._cell, low, high)
        return image.resize((width, height), Image.Resampling.BICUBIC)

    def _preprocessing(self) -> str:
        low, high = self._CELLS
        mean, std = list(self._images.image_mean), list(self._images.image_std)
        return f"resize to multiples of {self._cell} pixels, {low} to {high} of their squares, bicubic → normalise mean {mean} std {std}"


def load_hf(name: str, device: str | None) -> HfEncoder:
    """Load `OWNER/NAME`, `OWNER/NAME@REVISION` or a folder. Raises UserError when it is not there or no dual encoder."""
    source, revision = _source(name)
    target = best_device(device)
    common = {"revision": revision, "trust_remote_code": False}
    with _in_one_sentence(name):
        raw, _ = transformers.PreTrainedConfig.get_config_dict(source, revision=revision)
        kind = _kind(name, source, revision, raw)
        config = transformers.AutoConfig.from_pretrained(source, **common)
        model, report = getattr(transformers, kind.model).from_pretrained(
            source, config=config, dtype=torch.float32, output_loading_info=True, **common
        )
        if raw["model_type"] == "align":
            model.text_model.pooler = None  # not part of the embedding, and not in every file
        _check_weights(name, kind.model, model, report)
        images = transformers.AutoImageProcessor.from_pretrained(source, **common)
        if raw["model_type"] == "qwen3_vl":
            tokenizer = transformers.AutoProcessor.from_pretrained(source, **common)
        else:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, config=config, **common)
        _check_tokenizer(name, getattr(tokenizer, "tokenizer", tokenizer), config)
    encoder = {"blip": BlipEncoder, "qwen3_vl": QwenEncoder}.get(raw["model_type"], HfEncoder)
    try:
        model = model.eval().to(target)
    except torch.OutOfMemoryError:
        raise UserError(
            f"The GPU has no memory for '{name}' in float32; choose --device cpu or a smaller model."
        ) from None
    return encoder(name, kind, model, tokenizer, images, target)


def _source(name: str) -> tuple[str, str | None]:
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise UserError(
                f"The folder '{name}' has no config.json; give one that save_pretrained wrote, or open_clip:local-dir:{name} for open_clip's format."
            )
        return str(folder), None
    owner_name, _, revision = name.partition("@")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", owner_name) or owner_name.startswith((".", "/")):
        raise UserError(
            f"There is no folder '{name}'; give one that exists, or OWNER/NAME of a model on the Hugging Face hub."
        )
    return owner_name, revision or None


def _kind(name: str, source: str, revision: str | None, raw: dict[str, Any]) -> Kind:
    """The kind of model that a configuration describes. Raises UserError when it is no dual encoder."""
    model_type = str(raw.get("model_type"))
    if model_type == "qwen3_vl" and not _is_embedding(source, revision):
        raise UserError(
            f"'{name}' is a Qwen3-VL that answers in words, not an embedding model: it has no 1_Pooling/config.json that says 'lasttoken'"
            f"{_score_as('vqa', name)}."
        )
    made_for = next(iter(raw.get("architectures") or []), "")
    if model_type == "blip" and made_for not in ("", "BlipForImageTextRetrieval"):
        raise UserError(
            f"'{name}' is a {made_for}, which has no contrastive head; give weights of BlipForImageTextRetrieval, such as Salesforce/blip-itm-base-coco."
        )
    if model_type in _KINDS:
        return _KINDS[model_type]
    if model_type in _OTHERS:
        what, family = _OTHERS[model_type]
        raise UserError(
            f"'{name}' is a {model_type} model, which {what} and is no dual encoder{_score_as(family, name)}."
        )
    raise UserError(
        f"'{name}' is a model of type '{model_type}', which is none of the dual encoders of hf: ({', '.join(_KINDS)}); "
        f"a class of your own can score it, see python: in docs/models.md."
    )


def _score_as(family: str, name: str) -> str:
    return f"; score it as {family}:{name}" if family in FAMILIES else ""


def _is_embedding(source: str, revision: str | None) -> bool:
    if "embedding" in Path(source).name.lower():
        return True
    try:
        path = transformers.utils.cached_file(source, "1_Pooling/config.json", revision=revision)
        return "lasttoken" in Path(path or "").read_text()
    except OSError:
        return False


def _check_weights(name: str, wanted: str, model: Any, report: Any) -> None:
    """Refuse weights that leave a part of the model random, or that hold more layers than the configuration says."""
    if missing := sorted(set(report["missing_keys"]) & set(model.state_dict())):
        raise UserError(
            f"The weights of '{name}' do not fit {wanted}: {len(missing)} tensors are missing, the first is {missing[0]}; give weights saved with their own config.json."
        )
    layered = {re.sub(r"\d+", "0", key) for key in model.state_dict()}
    if more := sorted(key for key in report["unexpected_keys"] if re.sub(r"\d+", "0", key) in layered):
        raise UserError(
            f"The weights of '{name}' do not fit its config.json: they also hold {more[0]} and {len(more) - 1} other tensors of layers that it does not have; restore config.json."
        )


def _check_tokenizer(name: str, tokenizer: Any, config: Any) -> None:
    spelled = {tuple(ids) for ids in tokenizer([*"abcdefghijklmnopqrstuvwxyz"], add_special_tokens=False)["input_ids"]}
    if len(spelled) == 1:  # transformers makes an empty one where the files are missing
        raise UserError(f"'{name}' has no tokenizer files; add those that the model was published with.")
    size = config.get_text_config().vocab_size
    if max(tokenizer.get_vocab().values()) >= size:
        raise UserError(
            f"The tokenizer of '{name}' has ids up to {max(tokenizer.get_vocab().values())}, its text tower only {size} words; give the tokenizer it was trained with."
        )


def _text_length(kind: Kind, config: Any, tokenizer: Any) -> int:
    text = config.get_text_config()
    positions = int(getattr(text, "max_position_embeddings", _LONG))
    if config.model_type == "altclip":  # XLM-RoBERTa counts positions from after its padding id
        positions -= text.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length, kind.longest or positions))


def _activation(model: Any) -> str:
    known = {each[0] if isinstance(each, tuple) else each for each in ACT2CLS.values()}
    return ", ".join(sorted({type(module).__name__ for module in model.modules() if type(module) in known}))


def _described(images: Any) -> str:
    """Every step of an image processor with what it is done with."""
    settings = {name: value for name, value in images.to_dict().items() if value is not None}
    if "resample" in settings:
        settings["resample"] = Image.Resampling(settings["resample"]).name.lower()
    steps = {"resize": ("size", "resample", "patch_size", "max_num_patches"), "center_crop": ("crop_size",), "rescale": ("rescale_factor",),
             "normalize": ("image_mean", "image_std")}  # fmt: skip
    done = [name for name in steps if settings.get(f"do_{name}")]
    said = [" ".join([name, *(f"{key}={settings[key]}" for key in steps[name] if key in settings)]) for name in done]
    return " → ".join([type(images).__name__, *said])


def _tokenizer_digest(tokenizer: Any) -> str:
    """SHA-256 of the files that the tokenizer writes of itself."""
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        for path in sorted(Path(folder).iterdir()):
            content = path.read_bytes()
            if path.name == "tokenizer_config.json":
                content = json.dumps(_lasting(json.loads(content)), sort_keys=True).encode()
            digest.update(f"{path.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _lasting(settings: Any) -> Any:
    """Settings without what a library writes about itself, at every depth."""
    if isinstance(settings, dict):
        return {str(key): _lasting(value) for key, value in settings.items() if key not in _INCIDENTAL}
    return [_lasting(each) for each in settings] if isinstance(settings, list | tuple) else settings


def _unit(features: torch.Tensor) -> np.ndarray:
    unit: np.ndarray = F.normalize(features.float(), dim=-1).cpu().numpy()
    return unit


@contextmanager
def _in_one_sentence(name: str) -> Iterator[None]:
    """Turns what loading raises into a UserError; keeps the library's own log and progress bars quiet."""
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    logging.disable(logging.CRITICAL)
    try:
        yield
    except _NO_TENSORS as error:
        raise UserError(
            f"The weights of '{name}' are not tensors alone ({_first_line(error)}); give a model.safetensors."
        ) from None
    except ImportError as error:
        raise UserError(f"'{name}' needs a package that is not installed ({_first_line(error)}).") from None
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        text = str(error)
        if "connect" in text or "offline mode" in text or "Hub" in text:
            raise UserError(
                f"'{name}' cannot be downloaded ({_first_line(error)}); check the name and the network, or give a local folder."
            ) from None
        if "mismatch" in text:
            raise UserError(
                f"The weights of '{name}' do not fit its config.json (tensors of other shapes); give weights saved with their own config.json."
            ) from None
        raise UserError(
            f"'{name}' cannot be loaded ({_first_line(error)}); give a folder that save_pretrained wrote, or OWNER/NAME."
        ) from None
    finally:
        logging.disable(logging.NOTSET)
        if bars:
            transformers.utils.logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:160].rstrip(":. ")
