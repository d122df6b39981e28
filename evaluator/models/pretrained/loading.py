"""Load a model of transformers with its tokenizer and image processor, without running foreign code."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import torch

from evaluator.models.device import best_device
from evaluator.models.memory import out_of_memory
from evaluator.models.pretrained.checks import check_tokenizer, check_weights
from evaluator.models.pretrained.record import activations, describe_preprocessing, tokenizer_digest, without_incidental
from evaluator.models.pretrained.source import Source, find_source, loading
from evaluator.models.pretrained.storage import Storage, check_in_memory, storage_options
from evaluator.models.weights import weights_digest
from evaluator.provenance.exposure import Exposure, recorded_exposure
from generator.base.errors import UserError

TOKENIZER = ("AutoTokenizer",)
TOKENIZER_AND_IMAGES = ("AutoTokenizer", "AutoImageProcessor")
PROCESSOR = ("AutoProcessor",)


@dataclass(frozen=True)
class Wanted:
    """What a family (or an option) loads.

    `option` is how the user names the family, such as `vilt:`, and `description` says what it reads, such as "a ViLT
    model": error messages hold both. `classes` gives the class of transformers for each `model_type`. `readers` is what
    is loaded beside the model: TOKENIZER, TOKENIZER_AND_IMAGES, or PROCESSOR for a processor of both. `unused` names
    modules that the scores do not depend on; they are dropped, so that weights without them can be loaded.
    """

    option: str
    description: str
    classes: Mapping[str, str]
    readers: tuple[str, ...]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pretrained:
    """A model in evaluation mode on its device, with what prepares its inputs.

    `image_processor` is None for a model of texts alone. `processor` is None unless PROCESSOR was wanted. `info` is what
    a run records. `identity` is JSON of all that decides the model's output. `exposure` is what the folder records of the training.
    """

    model: Any
    tokenizer: Any
    image_processor: Any
    processor: Any
    device: torch.device
    info: dict[str, Any]
    identity: str
    exposure: Exposure | None = None

    def key(self, *more: Any) -> str:
        """Name of the model in the cache, 16 hex digits, from its identity and from what a family adds as JSON values."""
        return hashlib.sha256(json.dumps([self.identity, *more], sort_keys=True).encode()).hexdigest()[:16]


def load_pretrained(name: str, device: str | None, wanted: Wanted, **how: Unpack[Storage]) -> Pretrained:
    """Load `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION` of the Hugging Face Hub, stored as `how` says (storage.py).

    Raises UserError when the model does not exist, has another `model_type`, or does not fit in memory; when its weights
    or its tokenizer do not fit its configuration; and when a file holds more than tensors.
    """
    import transformers

    target = best_device(device)
    source = find_source(name, wanted.option)
    model_type = str(read_config(source).get("model_type"))
    if model_type not in wanted.classes:
        raise UserError(f"'{name}' is a model of type '{model_type}'; give {wanted.option} {wanted.description}.")
    options = storage_options(how, device)
    where: dict[str, Any] = {"revision": source.revision, "trust_remote_code": False}
    with loading(source):
        config = transformers.AutoConfig.from_pretrained(source.place, **where)
        model, report = getattr(transformers, wanted.classes[model_type]).from_pretrained(
            source.place, config=config, output_loading_info=True, **options, **where
        )
    for unused in wanted.unused:
        _drop(model, unused)
    check_weights(name, model, report)
    with loading(source):
        readers = {
            reader: getattr(transformers, reader).from_pretrained(source.place, config=config, **where)
            for reader in wanted.readers
        }
        processor = readers.get("AutoProcessor")
        tokenizer = readers["AutoTokenizer"] if processor is None else processor.tokenizer
        image_processor = readers.get("AutoImageProcessor", getattr(processor, "image_processor", None))
        check_tokenizer(name, tokenizer, config)
    try:
        model = model.eval() if "device_map" in options else model.eval().to(target)
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        raise UserError(
            f"'{name}' does not fit in the memory of {target}; choose --device cpu or a smaller model."
        ) from None
    check_in_memory(name, model)
    loaded = describe_pretrained(name, model, tokenizer, image_processor, processor)
    loaded.info.update({key: value for key, value in how.items() if key != "dtype"})
    return replace(loaded, exposure=recorded_exposure(Path(source.place)))


def describe_pretrained(name: str, model: Any, tokenizer: Any, image_processor: Any, processor: Any) -> Pretrained:
    """A model that is on its device, in evaluation mode, with what a run records of it and what identifies it."""
    target: torch.device = model.device
    info = {
        "weights": name,
        "weights_sha256": weights_digest(model),
        "architecture": type(model).__name__,
        "activation": activations(model),
        "preprocessing": "none" if image_processor is None else describe_preprocessing(image_processor),
        "text_length": None,
        "parameters": sum(p.numel() for p in model.parameters()),
        "precision": str(model.dtype).removeprefix("torch."),
        "device": str(target),
    }
    identity = [
        info["weights_sha256"],
        without_incidental(model.config.to_dict()),
        None if image_processor is None else without_incidental(image_processor.to_dict()),
        tokenizer_digest(tokenizer),
        info["precision"],
        target.type,
    ]
    return Pretrained(
        model, tokenizer, image_processor, processor, target, info, json.dumps(identity, sort_keys=True, default=str)
    )


def read_config(source: Source) -> dict[str, Any]:
    """The contents of a model's config.json. Raises UserError when it cannot be read."""
    import transformers

    with loading(source):
        config: dict[str, Any] = transformers.PreTrainedConfig.get_config_dict(source.place, revision=source.revision)[
            0
        ]
    if kernel := _kernel(config):
        raise UserError(
            f"The config.json of '{source.name}' asks for the code '{kernel}' of the Hub, which is not run; take attn_implementation out."
        )
    return config


def _kernel(config: Mapping[str, Any]) -> str | None:
    """The repository from which a configuration would load its attention; None where transformers has it itself."""
    for key, value in config.items():
        if isinstance(value, Mapping) and (found := _kernel(value)):
            return found
        if "attn_implementation" in key and isinstance(value, str) and "/" in value:
            return value
    return None


def _drop(model: Any, module: str) -> None:
    """Replace a module, named by its path, by None where the model has it."""
    *parents, last = module.split(".")
    holder = model.get_submodule(".".join(parents))
    if hasattr(holder, last):
        setattr(holder, last, None)
