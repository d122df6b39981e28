"""Models of transformers by folder or by name on the Hub, for the families that read pairs; and what a run records of them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluator.models.device import best_device, out_of_memory
from evaluator.models.open_clip import weights_digest
from generator.dataset.errors import UserError

_MEND = "give a folder written by save_pretrained, or a name on the Hugging Face Hub."
_STEPS = ("size", "size_divisor", "crop_size", "min_pixels", "max_pixels", "resample", "image_mean", "image_std")
_ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function", "feed_forward_proj", "qformer_hidden_act")


@dataclass(frozen=True)
class Loaded:
    """A model of transformers in evaluation mode, its processor (or tokenizer), and what a run records of both."""

    model: Any
    processor: Any
    device: torch.device
    info: dict[str, Any]
    identity: str

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, alone or inside the processor."""
        return getattr(self.processor, "tokenizer", self.processor)

    def key(self, *more: Any) -> str:
        """What identifies scores: the weights, their configuration, the processor, the device and `more`."""
        return hashlib.sha256(json.dumps([self.identity, *more]).encode()).hexdigest()[:16]


def load_pretrained(name: str, device: str | None, family: str, kinds: Mapping[str, str], processor: str) -> Loaded:
    """Load a folder, `OWNER/NAME` or `OWNER/NAME@REVISION` in float32, running no foreign code.

    `kinds` gives the class of transformers that reads each type of model; `processor` is the class of the processor or
    tokenizer. Raises UserError when the model does not exist, is of another type, or when its weights do not fill it.
    """
    import transformers

    target = best_device(device)
    source, revision = _source(name, family)
    common: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(source, **common)
            if config.model_type not in kinds:
                raise UserError(f"'{name}' is a model of type '{config.model_type}', which {family}: does not read; name a {family} model.")  # fmt: skip
            reader = getattr(transformers, processor).from_pretrained(source, **common)
            model, found = getattr(transformers, kinds[config.model_type]).from_pretrained(
                source, dtype=torch.float32, output_loading_info=True, **common
            )
    except UserError:
        raise
    except Exception as error:  # every loader of transformers has errors of its own
        reason = _short(" ".join(str(error).split()).rstrip(".") or type(error).__name__)
        away = any(sign in str(error) for sign in ("connect", "offline", "resolve"))
        if away and not Path(source).is_dir():
            raise UserError(f"'{name}' is not on this machine and cannot be downloaded ({reason}); check the network, or give a folder.") from error  # fmt: skip
        raise UserError(
            f"Cannot load '{name}' as a {family}: model ({type(error).__name__}: {reason}); {_MEND}"
        ) from error
    if lacking := sorted(found["missing_keys"]):
        more = f" and {len(lacking) - 1:,} more tensors" * (len(lacking) > 1)
        raise UserError(f"The weights of '{name}' do not fit {type(model).__name__}: {lacking[0]}{more} would be random; name a model trained for this task.")  # fmt: skip
    try:
        model = model.to(target).eval()
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        raise UserError(f"'{name}' does not fit in the memory of {target}; choose --device cpu or a smaller model.") from None  # fmt: skip
    return _described(name, model, reader, target)


def _source(name: str, family: str) -> tuple[str, str | None]:
    """The folder, or the name on the Hub and its revision."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder), None
    source, _, revision = name.partition("@")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", source) or source.startswith("."):
        raise UserError(f"There is no folder '{name}' for {family}: models; {_MEND}")
    return source, revision or None


def _described(name: str, model: Any, processor: Any, device: torch.device) -> Loaded:
    digest, config = weights_digest(model), _without_places(model.config.to_dict())
    images = getattr(processor, "image_processor", None)
    steps = {} if images is None else images.to_dict()
    tokenizer = getattr(processor, "tokenizer", processor)
    if not tokenizer.get_vocab().keys() - set(tokenizer.all_special_tokens):
        raise UserError(f"The tokenizer of '{name}' has no words; put the tokenizer's files beside the weights.")
    told = "; ".join(f"{step} {steps[step]}" for step in _STEPS if steps.get(step) is not None)
    info = {
        "weights": name,
        "weights_sha256": digest,
        "architecture": type(model).__name__,
        "activation": ", ".join(sorted(_activations(config))),
        "preprocessing": "none" if images is None else f"{type(images).__name__}: {told}",
        "text_length": None,
        "parameters": sum(p.numel() for p in model.parameters()),
        "precision": str(model.dtype).removeprefix("torch."),
        "device": str(device),
    }
    vocabulary = getattr(tokenizer, "backend_tokenizer", None)
    words = vocabulary.to_str() if vocabulary is not None else sorted(tokenizer.get_vocab().items())
    parts = [digest, config, steps, words, info["precision"], device.type]
    return Loaded(model, processor, device, info, json.dumps(parts, sort_keys=True, default=str))


def _without_places(config: Any) -> Any:
    """A configuration without what differs between copies of a model: folders and the versions that wrote them."""
    if isinstance(config, dict):
        kept = {k: v for k, v in config.items() if k not in ("_name_or_path", "name_or_path", "transformers_version")}
        return {key: _without_places(value) for key, value in kept.items()}
    return config


def _activations(config: Any) -> set[str]:
    if not isinstance(config, dict):
        return set()
    here = {str(config[name]) for name in _ACTIVATIONS if config.get(name)}
    return here.union(*(_activations(part) for part in config.values()))


@contextmanager
def _quiet() -> Iterator[None]:
    """The library's own reports are said in one sentence instead."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
