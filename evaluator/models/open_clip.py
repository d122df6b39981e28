"""`open_clip:` models: any architecture and weights of open_clip, local checkpoints and folders, and the Hub.

`open_clip:ARCHITECTURE@TAG`, `open_clip:ARCHITECTURE@/path/to/checkpoint`, `open_clip:local-dir:/path/to/folder`,
`open_clip:hf-hub:owner/name`, `open_clip:hf-hub:owner/name@revision`.
"""

import hashlib
import json
import pickle
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import open_clip
import torch
from PIL import Image
from safetensors import SafetensorError
from torch.nn import functional as F

from evaluator.models.contracts import DualEncoder
from evaluator.models.device import best_device
from evaluator.models.hub import Source, first_line, loading, quiet
from evaluator.models.memory import out_of_memory
from evaluator.models.weights import check_weights_file, check_weights_folder, damage_in, weights_digest
from evaluator.provenance.exposure import recorded_exposure
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json

_QUICK = "-quickgelu"
_FEW = 8
# raised by reading a file that is not a checkpoint of tensors
_NOT_TENSORS = (pickle.UnpicklingError, EOFError, SafetensorError, IndexError, StopIteration, struct.error)
# raised by a checkpoint or configuration that does not fit
_UNFIT = (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError, AssertionError, ZeroDivisionError)


class OpenClipEncoder(DualEncoder):
    """A model of open_clip as a DualEncoder, in the precision of its weights."""

    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, config: dict[str, Any], weights: str, device: torch.device
    ):
        self._model = self.network = model.eval()
        self._preprocess = preprocess
        self._tokenizer = tokenizer
        self.config, self.device, self._dtype = config, device, next(model.parameters()).dtype
        digest = weights_digest(model)
        self.info = {
            "weights": weights,
            "weights_sha256": digest,
            "activation": activation_of(model),
            "preprocessing": " → ".join(_describe(step) for step in getattr(preprocess, "transforms", (preprocess,))),
            "text_length": int(tokenizer.context_length),
            "parameters": sum(p.numel() for p in model.parameters()),
            "precision": str(self._dtype).removeprefix("torch."),
            "device": str(device),
        }
        # the configuration too, since tensors do not tell the number of heads, nor the tokenizer they were trained with
        parts = [
            digest,
            config,
            self.info["preprocessing"],
            self.info["activation"],
            self.info["text_length"],
            device.type,
        ]
        self.key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        ids: np.ndarray = self._tokenizer(list(texts)).numpy()
        return ids

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return _unit(self.text_features(self.text_inputs(texts)))

    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """What the text tower reads, by name: token ids, int64 (n, text_length)."""
        return {"text": self._tokenizer(list(texts))}

    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Embeddings (n, d) before they are normalised, of what `text_inputs` returned; with gradients where they are enabled."""
        features: torch.Tensor = self._model.encode_text(inputs["text"].to(self.device))
        return features

    def image_features(self, images: Sequence[torch.Tensor]) -> torch.Tensor:
        """Embeddings (n, d) before they are normalised, of what `prepare` returned; with gradients where they are enabled."""
        features: torch.Tensor = self._model.encode_image(torch.stack(list(images)).to(self.device, self._dtype))
        return features

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text needs, its start and end included."""
        read = getattr(self._tokenizer, "tokenizer", None)  # of transformers; open_clip's own adds start and end itself
        return [
            len(self._tokenizer.encode(text)) + 2 if read is None else len(read(text)["input_ids"]) for text in texts
        ]

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """An RGB image as the model takes it, float32 (3, h, w)."""
        pixels: torch.Tensor = self._preprocess(image)
        return pixels

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image | torch.Tensor]) -> np.ndarray:
        """Unit embeddings, float32 (n, d), of RGB images or of what `prepare` returned for them."""
        pixels = [image if isinstance(image, torch.Tensor) else self.prepare(image) for image in images]
        return _unit(self.image_features(pixels))


def load_open_clip(name: str, device: str | None) -> OpenClipEncoder:
    """Load `ARCHITECTURE@TAG`, `ARCHITECTURE@FILE`, `local-dir:FOLDER`, `hf-hub:OWNER/NAME` or `hf-hub:OWNER/NAME@REVISION`.

    Published weights choose between GELU and QuickGELU, since their training is known. For a file the architecture's name
    chooses (`ViT-B-32-quickgelu`). `info["activation"]` says which one was used.
    Raises UserError when the architecture or the weights do not exist or do not fit each other.
    """
    if name.startswith("local-dir:"):
        folder = Path(name.removeprefix("local-dir:"))
        if not (folder / CONFIG).is_file():
            raise UserError(f"'{folder}' is no folder with {CONFIG}; give a folder that open_clip wrote.")
        read_json(folder / CONFIG)  # raises UserError where it is damaged
        check_weights_folder(folder)
        exposure = recorded_exposure(folder)
        encoder = _load(name, None, False, device, "by the model's own configuration")
        encoder.exposure = exposure
        return encoder
    if name.startswith("hf-hub:"):
        place, _, revision = name.removeprefix("hf-hub:").partition("@")
        if revision:  # open_clip itself loads the newest one
            source = Source(name, place, revision, "open_clip:hf-hub:")
            with loading(source):
                folder = Path(huggingface_hub.snapshot_download(place, revision=revision))
            check_weights_folder(folder)
            encoder = _load(f"local-dir:{folder}", None, False, device, "by the model's own configuration")
            encoder.info["weights"] = name
            return encoder
        return _load(name, None, False, device, "by the model's own configuration")
    architecture, _, weights = name.partition("@")
    known = open_clip.list_models()
    if architecture not in known:
        raise UserError(f"Unknown open_clip architecture '{architecture}': {_suggest(architecture, known)}")
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not weights:
        some = f", or one of {', '.join(tags[:_FEW])}{', …' * (len(tags) > _FEW)}" if tags else ""
        raise UserError(f"open_clip:{architecture} names no weights: add @ and a checkpoint's path{some}.")
    quick = architecture.endswith(_QUICK)
    if weights in tags:
        trained_quick = bool(open_clip.get_pretrained_cfg(architecture, weights).get("quick_gelu"))
        if quick and not trained_quick:
            raise UserError(
                f"The weights '{weights}' were trained with GELU, not QuickGELU: name the architecture {architecture.removesuffix(_QUICK)}."
            )
        return _load(architecture, weights, trained_quick, device, "as the published weights were trained")
    if not Path(weights).exists():
        raise UserError(
            f"There are no weights '{weights}' for {architecture}: {'give a path that exists.' if '/' in weights else _suggest(weights, tags)}"
        )
    if Path(weights).is_dir():
        raise UserError(
            f"'{weights}' is a folder: give a file in it, or name the folder alone, open_clip:local-dir:{weights}."
        )
    check_weights_file(Path(weights))
    return _load(architecture, weights, quick, device, "by the architecture's name; a weights file cannot tell")


def _suggest(name: str, known: list[str]) -> str:
    """End of an error message: the nearest name, or how to list all names where there are many."""
    if not known:
        return "give a checkpoint's path."
    near = did_you_mean(name, known)
    list_all = "`python -c 'import open_clip; print(open_clip.list_pretrained())'` lists all."
    return list_all if len(known) > _FEW and not near.startswith("did") else near


def _load(name: str, weights: str | None, quick: bool, device: str | None, activation: str) -> OpenClipEncoder:
    target = best_device(device)
    given = weights or name
    try:
        with quiet():
            config = open_clip.get_model_config(name)
            check_open_clip_config(config, given)
            model, preprocess = open_clip.create_model_from_pretrained(
                name, weights, force_quick_gelu=quick, device=target, precision="fp32"
            )
            by_transformers = bool(config["text_cfg"].get("hf_tokenizer_name"))
            tokenizer = open_clip.get_tokenizer(name, **({"trust_remote_code": False} if by_transformers else {}))
    except (*_NOT_TENSORS, *_UNFIT) as error:
        if out_of_memory(error):
            raise UserError(
                f"There is not enough memory to load '{given}'; choose --device cpu or a smaller model."
            ) from None
        if damage := damage_in(Path(given.removeprefix("local-dir:"))):
            raise UserError(f"{damage}; copy it again, or give another checkpoint saved by open_clip.") from None
        raise _unloadable(error, name, given, weights is None) from None
    encoder = OpenClipEncoder(model, preprocess, tokenizer, config, given, target)
    encoder.info["activation_chosen"] = activation
    return encoder


def _unloadable(error: Exception, name: str, given: str, is_folder: bool) -> UserError:
    """What is said of a checkpoint whose file is whole, and yet cannot be loaded."""
    reason = first_line(error)
    if isinstance(error, _NOT_TENSORS):
        return UserError(f"'{given}' is not a checkpoint of tensors alone ({reason}); give a file saved by open_clip.")
    if "download" in str(error) or "HF Hub" in str(error):
        return UserError(f"'{given}' cannot be downloaded ({reason}); check the network, or give a local file.")
    if isinstance(error, RuntimeError) and "state_dict" in str(error):
        mend = f"correct {CONFIG}" if is_folder else "name the architecture they were trained with"
        return UserError(f"The weights '{given}' do not fit {CONFIG if is_folder else name} ({reason}); {mend}.")
    what = f"folder with {CONFIG}" if is_folder else "checkpoint"
    return UserError(f"'{given}' cannot be loaded as {name} ({reason}); give a {what} saved by open_clip.")


def activation_of(model: torch.nn.Module) -> str:
    """Class names of the activation functions among the model's modules, e.g. "GELU" or "QuickGELU"."""
    names = {type(module).__name__ for module in model.modules()} & {"GELU", "QuickGELU", "GELUTanh", "ReLU", "SiLU"}
    return ", ".join(sorted(names))


def _unit(embeddings: torch.Tensor) -> np.ndarray:
    return np.asarray(F.normalize(embeddings.float(), dim=-1).cpu().numpy())


def _describe(step: Any) -> str:
    """A step of the preprocessing with its settings; of a plain function, its name."""
    if callable(step) and not isinstance(step, torch.nn.Module):
        return str(getattr(step, "__name__", type(step).__name__))
    return " ".join(str(step).split())


CONFIG = "open_clip_config.json"
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
# what tokenizers of open_clip may be given; anything else is handed on to transformers, or names a file to read
_TOKENIZER = {"clean", "strip_sep_token", "language", "additional_special_tokens", "reduction_mask"}


def check_open_clip_config(config: Any, given: str) -> None:
    """Raise UserError where a model's configuration asks for foreign code or names a path.

    `config` is the `model_cfg` of open_clip_config.json, `given` what the user named.
    """
    parts: list[Any] = [config.get(name) for name in ("text_cfg", "vision_cfg")] if isinstance(config, Mapping) else []
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise UserError(
            f"The open_clip_config.json of '{given}' has no text_cfg and vision_cfg; give a folder that open_clip wrote."
        )
    text, vision = parts
    options = text.get("tokenizer_kwargs") or {}
    if not isinstance(options, Mapping) or (foreign := sorted(map(str, options.keys() - _TOKENIZER))):
        named = ", ".join(foreign) if isinstance(options, Mapping) else repr(options)
        raise UserError(
            f"The open_clip_config.json of '{given}' gives the tokenizer {named}, which could run code or read other files; "
            f"take it out of tokenizer_kwargs (allowed: {', '.join(sorted(_TOKENIZER))})."
        )
    for part, key in ((text, "hf_tokenizer_name"), (text, "hf_model_name"), (vision, "timm_model_name")):
        name = part.get(key)
        if name and not (isinstance(name, str) and _HUB_NAME.fullmatch(name)):
            raise UserError(
                f"The open_clip_config.json of '{given}' has {key} = {name!r}, expected the plain name of a model; correct it."
            )
    if text.get("hf_model_name"):
        _check_text_model(text["hf_model_name"], given)


def _check_text_model(name: str, given: str) -> None:
    """Refuse a text tower of transformers that brings code of its own, since open_clip cannot be told not to run it."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    if getattr(config, "auto_map", None):
        raise UserError(
            f"The text model '{name}' of '{given}' has code of its own, which is not run; give another model."
        )


def check_plain_sizes(config: Any, given: str) -> None:
    """Raise UserError where an architecture has more than numbers, as `score train` writes it: no name, nothing to look up."""
    found = config if isinstance(config, Mapping) else {}
    towers = [each for each in found.values() if isinstance(each, Mapping)]
    for part in ({key: each for key, each in found.items() if not isinstance(each, Mapping)}, *towers):
        for key, value in part.items():
            if not all(isinstance(each, int | float) for each in (value if isinstance(value, list) else [value])):
                raise UserError(
                    f"The open_clip_config.json of '{given}' has {key} = {value!r}, and `score train` writes numbers alone; load it as "
                    f"open_clip:local-dir:{given} if you trust it."
                )
