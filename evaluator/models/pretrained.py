"""Load a model of transformers with its tokenizer and image processor, without foreign code, and
describe it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import torch
from PIL import Image
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from evaluator.models.contracts import cache_key
from evaluator.models.hub import ModelSource, find_source, loading
from evaluator.models.network import best_device, describe_network
from evaluator.provenance.exposure import Exposure, recorded_exposure
from generator.base.errors import UserError
from generator.base.files import read_json

TOKENIZER = ("AutoTokenizer",)
TOKENIZER_AND_IMAGES = ("AutoTokenizer", "AutoImageProcessor")
PROCESSOR = ("AutoProcessor",)
"""Classes of transformers that are loaded with a model."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_INCIDENTAL = {
    "transformers_version",
    "name_or_path",
    "dtype",
    "torch_dtype",
    "architectures",
    "is_local",
    "local_files_only",
    "processor_class",
}
"""Keys that libraries write about themselves; models that differ only in them are the same."""
_STEPS = {
    "resize": (
        "size",
        "size_divisor",
        "min_pixels",
        "max_pixels",
        "resample",
        "patch_size",
        "max_num_patches",
    ),
    "center_crop": ("crop_size",),
    "rescale": ("rescale_factor",),
    "normalize": ("image_mean", "image_std"),
}
"""The steps of an image processor, in their order, and the settings of each."""


class Precision(TypedDict, total=False):
    """The argument of a SPEC for the number format."""

    dtype: Literal["float32", "bfloat16", "float16", "auto"]
    """Number format of weights and computation; `auto` is the format of the files. Default:
    float32."""


class Storage(Precision, total=False):
    """Adds arguments for large models."""

    device_map: Literal["auto", "balanced", "sequential"]
    """How accelerate distributes the layers over the GPUs. Default: one device."""
    quantization: Literal["bnb-8bit", "bnb-4bit"]
    """Of the weights, by bitsandbytes. Default: none."""


@dataclass(frozen=True)
class LoadTarget:
    """The models that a family (or an option) loads."""

    option: str
    """How the user names the family, such as `vilt:`, for error messages."""
    description: str
    """What it loads, such as "a ViLT model", for error messages."""
    classes: Mapping[str, str]
    """The class of transformers for each `model_type`."""
    readers: tuple[str, ...]
    """Loaded with the model: TOKENIZER, TOKENIZER_AND_IMAGES, or PROCESSOR for a processor of
    both."""
    unused: tuple[str, ...] = ()
    """Modules that the scores do not depend on; they are dropped, so that weights without them can
    be loaded."""


@dataclass(frozen=True)
class Pretrained:
    """A loaded model of transformers."""

    model: Any
    """The model, in evaluation mode."""
    tokenizer: Any
    """Its tokenizer."""
    image_processor: Any
    """Its image processor; None for a model of texts."""
    processor: Any
    """The processor of both; None if they were loaded apart."""
    device: torch.device
    """The device of the model, or of its inputs."""
    info: dict[str, Any]
    """The description for run.json."""
    identity: list[Any]
    """What distinguishes the model from others, for the cache key."""
    exposure: Exposure | None = None
    """What it saw in training; None if unknown."""

    def key(self, *settings: Any) -> str:
        """Cache key of the model, from its identity and further JSON values of the family."""
        return cache_key(self.identity, *settings)


def load_pretrained(
    name: str, device: str | None, target: LoadTarget, **storage: Unpack[Storage]
) -> Pretrained:
    """Load a model of transformers, only from safe files.

    Args:
        name: `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION` of the Hugging Face Hub.
        device: The device that the user named; None for the best one.
        target: The models that may be loaded.
        storage: Number format, device map and quantization.

    Raises:
        UserError: The model does not exist, has another `model_type`, or does not fit in memory;
            its weights or its tokenizer do not fit its configuration; a file holds more than
            tensors.
    """
    main_device = best_device(device)  # first, since loading takes minutes
    source = find_source(name, target.option)
    model_type = str(read_config(source).get("model_type"))
    if model_type not in target.classes:
        raise UserError(
            f"'{name}' is a model of type '{model_type}'; give {target.option} "
            f"{target.description}."
        )
    with loading(source):
        options = _storage_options(storage, device)
        model, tokenizer, image_processor, processor = _load_parts(
            source, target, model_type=model_type, options=options
        )
        if "device_map" not in options:
            model = model.to(main_device)
    if any(parameter.is_meta for parameter in model.parameters()):
        # A device map leaves layers without room unloaded.
        raise UserError(
            f"'{name}' does not fit in the memory of the devices; take quantization=bnb-4bit, or a "
            f"smaller model."
        )
    loaded = describe_pretrained(
        name,
        model,
        tokenizer=tokenizer,
        image_processor=image_processor,
        processor=processor,
    )
    # dtype is part of every description already, as `precision`.
    loaded.info.update({key: value for key, value in storage.items() if key != "dtype"})
    return replace(loaded, exposure=recorded_exposure(Path(source.place)))


def _load_parts(
    source: ModelSource, target: LoadTarget, *, model_type: str, options: Mapping[str, Any]
) -> tuple[Any, Any, Any, Any]:
    """The model in evaluation mode, its tokenizer, its image processor and its processor; None for
    a part that it does not have. options: as `_storage_options` returns them."""
    import transformers

    # Code of a repository is never run (docs/security.md).
    where: dict[str, Any] = {"revision": source.revision, "trust_remote_code": False}
    config = transformers.AutoConfig.from_pretrained(source.place, **where)
    model_class = getattr(transformers, target.classes[model_type])
    model, report = model_class.from_pretrained(
        source.place, config=config, output_loading_info=True, **options, **where
    )
    # Dropped before the check, which would else refuse weights without them.
    for module in target.unused:
        _drop(model, module)
    check_weights(source.name, model, report)
    readers = {
        reader: getattr(transformers, reader).from_pretrained(source.place, config=config, **where)
        for reader in target.readers
    }
    processor = readers.get("AutoProcessor")
    tokenizer = readers["AutoTokenizer"] if processor is None else processor.tokenizer
    image_processor = readers.get("AutoImageProcessor", getattr(processor, "image_processor", None))
    check_tokenizer(source.name, tokenizer, config)
    return model.eval(), tokenizer, image_processor, processor


def _storage_options(storage: Storage, device: str | None) -> dict[str, Any]:
    """The keyword arguments of `from_pretrained` for a storage. With `device_map`, loading places
    the model on its devices.

    Raises UserError for both a device and a device map, and ImportError if bitsandbytes is not
    installed.
    """
    dtype = storage.get("dtype", "float32")
    device_map = storage.get("device_map")
    quantization = storage.get("quantization")
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    if device_map and device is not None:
        raise UserError(
            f"Both --device {device} and device_map={device_map} say where the model goes; give "
            f"one of them."
        )
    if device_map or quantization:
        # bitsandbytes places weights while it quantizes them.
        options["device_map"] = device_map or {"": str(best_device(device))}
    if quantization:
        from transformers import BitsAndBytesConfig

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=quantization == "bnb-8bit", load_in_4bit=quantization == "bnb-4bit"
        )
    return options


def describe_pretrained(
    name: str, model: Any, *, tokenizer: Any, image_processor: Any, processor: Any
) -> Pretrained:
    """Describe a model that is on its device, in evaluation mode: its info for runs and its
    identity for the cache.

    Args:
        name: What was loaded, for run.json.
        model: The model.
        tokenizer: Its tokenizer.
        image_processor: Its image processor; None for a model of texts.
        processor: The processor of both; None if it has none.
    """
    target: torch.device = model.device
    preprocessing = "none"
    image_settings = None
    if image_processor is not None:
        preprocessing = describe_preprocessing(image_processor)
        image_settings = without_incidental(image_processor.to_dict())
    info = describe_network(name, model, target) | {
        "architecture": type(model).__name__,
        "preprocessing": preprocessing,
        "text_length": None,
        "precision": str(model.dtype).removeprefix("torch."),
    }
    identity = [
        info["weights_sha256"],
        without_incidental(model.config.to_dict()),
        image_settings,
        info["precision"],
        target.type,
    ]
    return Pretrained(model, tokenizer, image_processor, processor, target, info, identity)


def read_config(source: ModelSource) -> dict[str, Any]:
    """The contents of a model's config.json. Raises UserError when it cannot be read."""
    import transformers

    with loading(source):
        config: dict[str, Any]
        config, _ = transformers.PreTrainedConfig.get_config_dict(
            source.place, revision=source.revision
        )
    kernel = _attention_code(config)
    if kernel:
        raise UserError(
            f"The config.json of '{source.name}' asks for the code '{kernel}' of the Hub, which is "
            "not run; take attn_implementation out."
        )
    return config


def read_pooling(source: ModelSource) -> dict[str, Any]:
    """The pooling of sentence-transformers, `1_Pooling/config.json`; {} if it cannot be found."""
    import transformers

    try:
        path = transformers.utils.cached_file(
            source.place, "1_Pooling/config.json", revision=source.revision
        )
    except OSError:
        return {}
    return read_json(Path(str(path)))


def _attention_code(config: Mapping[str, Any]) -> str | None:
    """The repository from which a configuration would load attention code; None if transformers has
    the code."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            nested = _attention_code(value)
            if nested:
                return nested
        if "attn_implementation" in key and isinstance(value, str) and "/" in value:
            return value
    return None


def _drop(model: Any, module: str) -> None:
    """Replace the module at a dotted path by None, if the model has it."""
    path, _, last = module.rpartition(".")
    holder = model.get_submodule(path)
    if hasattr(holder, last):
        setattr(holder, last, None)


def check_weights(name: str, model: Any, report: Mapping[str, Any]) -> None:
    """Raise UserError for weights that leave a tensor random, or have layers that the configuration
    lacks.

    Args:
        name: The model, as the user named it.
        model: The model that was loaded.
        report: The loading info of `from_pretrained`.
    """
    # Keys of buffers that are computed, and of modules that were dropped, are not in the state.
    missing = sorted(set(report["missing_keys"]) & set(model.state_dict()))
    if missing:
        others = f" and {len(missing) - 1:,} more tensors" if len(missing) > 1 else ""
        raise UserError(
            f"The weights of '{name}' do not fit {type(model).__name__}: {missing[0]}{others} "
            f"would be random; name a model trained for this task."
        )
    # Tensors of other tasks are left over in many checkpoints. Further layers of a kind that the
    # model has mean that the configuration is of a smaller model.
    layers = {_without_numbers(key) for key in model.state_dict()}
    unexpected = sorted(key for key in report["unexpected_keys"] if _without_numbers(key) in layers)
    if unexpected:
        raise UserError(
            f"The weights of '{name}' do not fit its config.json: they also hold {unexpected[0]} "
            f"and {len(unexpected) - 1} other tensors of layers that it does not have; restore "
            f"config.json."
        )


def _without_numbers(key: str) -> str:
    return re.sub(r"\d+", "0", key)


def check_tokenizer(name: str, tokenizer: Any, config: Any) -> None:
    """Raise UserError for a tokenizer without files, or whose texts can get ids without an
    embedding in the model.

    Args:
        name: The model, as the user named it.
        tokenizer: Its tokenizer.
        config: Its configuration.
    """
    letters = tokenizer([*_LETTERS], add_special_tokens=False)["input_ids"]
    distinct = {tuple(ids) for ids in letters}
    if len(distinct) == 1:  # transformers makes an empty tokenizer if the files are missing
        raise UserError(
            f"'{name}' has no tokenizer files; add those that the model was published with."
        )
    size = getattr(config.get_text_config(), "vocab_size", None)
    # Special tokens that occur in no text, such as padding, may have ids beyond the embeddings.
    special = set(tokenizer.all_special_tokens)
    word_ids = [id_ for token, id_ in tokenizer.get_vocab().items() if token not in special]
    highest = max([*word_ids, *tokenizer("a")["input_ids"]])
    if size is not None and highest >= size:
        raise UserError(
            f"The tokenizer of '{name}' has ids up to {highest}, its text model only {size} words; "
            f"give the tokenizer it was trained with."
        )


def describe_preprocessing(image_processor: Any) -> str:
    """The steps of an image processor in order, with their settings: `CLIPImageProcessor → resize
    size=… → …`."""
    settings = {
        name: value for name, value in image_processor.to_dict().items() if value is not None
    }
    # transformers records the filter as a number.
    if "resample" in settings:
        settings["resample"] = Image.Resampling(settings["resample"]).name.lower()
    steps = [type(image_processor).__name__]
    for step, names in _STEPS.items():
        if settings.get(f"do_{step}"):
            values = [f"{name}={settings[name]}" for name in names if name in settings]
            steps.append(" ".join([step, *values]))
    return " → ".join(steps)


def without_incidental(settings: Any) -> Any:
    """Settings without folder names, private entries and library versions, at every depth.

    >>> without_incidental({"layers": 2, "dtype": "float32", "_name": "x"})
    {'layers': 2}
    """
    if isinstance(settings, list | tuple):
        return [without_incidental(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    essential = {}
    for key, value in settings.items():
        if key not in _INCIDENTAL and not str(key).startswith("_"):
            essential[str(key)] = without_incidental(value)
    return essential
