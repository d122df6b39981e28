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
from evaluator.models.hub import Source, find_source, loading
from evaluator.models.network import best_device, describe_network
from evaluator.provenance.exposure import Exposure, recorded_exposure
from generator.base.errors import UserError
from generator.base.files import read_json

TOKENIZER = ("AutoTokenizer",)
TOKENIZER_AND_IMAGES = ("AutoTokenizer", "AutoImageProcessor")
PROCESSOR = ("AutoProcessor",)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# keys that libraries write about themselves; models that differ only in them are the same
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


class Precision(TypedDict, total=False):
    """dtype: number format of weights and computation; `auto` is the format of the files. Default:
    float32."""

    dtype: Literal["float32", "bfloat16", "float16", "auto"]


class Storage(Precision, total=False):
    """Adds options for large models. device_map: how accelerate distributes the layers over the
    GPUs. quantization: of the weights."""

    device_map: Literal["auto", "balanced", "sequential"]
    quantization: Literal["bnb-8bit", "bnb-4bit"]


@dataclass(frozen=True)
class Wanted:
    """The models that a family (or an option) loads.

    option, description: for error messages, how the user names the family, such as `vilt:`, and
    what it loads, such as "a ViLT model". classes: the class of transformers for each `model_type`.
    readers: loaded with the model: TOKENIZER, TOKENIZER_AND_IMAGES, or PROCESSOR for a processor of
    both. unused: modules that the scores do not depend on; they are dropped, so that weights
    without them can be loaded.
    """

    option: str
    description: str
    classes: Mapping[str, str]
    readers: tuple[str, ...]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pretrained:
    """A model in evaluation mode on its device, with its tokenizer and processors.

    image_processor: None for a language model. processor: None unless PROCESSOR was wanted. info:
        recorded by runs.
    identity: JSON values that determine the model's output, without tokens, by which the cache
        names texts. exposure:
    as recorded in the model's folder.
    """

    model: Any
    tokenizer: Any
    image_processor: Any
    processor: Any
    device: torch.device
    info: dict[str, Any]
    identity: list[Any]
    exposure: Exposure | None = None

    def key(self, *more: Any) -> str:
        """Cache key of the model, from its identity and further JSON values of the family."""
        return cache_key(self.identity, *more)


def load_pretrained(
    name: str, device: str | None, wanted: Wanted, **how: Unpack[Storage]
) -> Pretrained:
    """Load `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION` of the Hugging Face Hub, with the
    options `how`.

    Raises UserError when the model does not exist, has another `model_type`, or does not fit in
    memory; when its weights or its tokenizer do not fit its configuration; and when a file holds
    more than tensors.
    """
    import transformers

    target = best_device(device)
    source = find_source(name, wanted.option)
    model_type = str(read_config(source).get("model_type"))
    if model_type not in wanted.classes:
        raise UserError(
            f"'{name}' is a model of type '{model_type}'; give {wanted.option} "
            f"{wanted.description}."
        )
    where: dict[str, Any] = {"revision": source.revision, "trust_remote_code": False}
    with loading(source):
        options = _storage_options(how, device)
        config = transformers.AutoConfig.from_pretrained(source.place, **where)
        model, report = getattr(transformers, wanted.classes[model_type]).from_pretrained(
            source.place, config=config, output_loading_info=True, **options, **where
        )
        for unused in wanted.unused:
            _drop(model, unused)
        check_weights(name, model, report)
        readers = {
            reader: getattr(transformers, reader).from_pretrained(
                source.place, config=config, **where
            )
            for reader in wanted.readers
        }
        processor = readers.get("AutoProcessor")
        tokenizer = readers["AutoTokenizer"] if processor is None else processor.tokenizer
        image_processor = readers.get(
            "AutoImageProcessor", getattr(processor, "image_processor", None)
        )
        check_tokenizer(name, tokenizer, config)
        model = model.eval() if "device_map" in options else model.eval().to(target)
    if any(
        parameter.is_meta for parameter in model.parameters()
    ):  # a device map does not load layers without room
        raise UserError(
            f"'{name}' does not fit in the memory of the devices; take quantization=bnb-4bit, or a "
            f"smaller model."
        )
    loaded = describe_pretrained(name, model, tokenizer, image_processor, processor)
    loaded.info.update({key: value for key, value in how.items() if key != "dtype"})
    return replace(loaded, exposure=recorded_exposure(Path(source.place)))


def _storage_options(how: Storage, device: str | None) -> dict[str, Any]:
    """The keyword arguments of `from_pretrained` for a storage. With `device_map`, loading places
    the model on its devices.

    Raises UserError for both a device and a device map, and ImportError if bitsandbytes is not
    installed.
    """
    dtype, device_map, quantization = (
        how.get("dtype", "float32"),
        how.get("device_map"),
        how.get("quantization"),
    )
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    if device_map and device is not None:
        raise UserError(
            f"Both --device {device} and device_map={device_map} say where the model goes; give "
            f"one of them."
        )
    if device_map or quantization:
        options["device_map"] = device_map or {"": str(best_device(device))}
    if quantization:
        from transformers import BitsAndBytesConfig

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=quantization == "bnb-8bit", load_in_4bit=quantization == "bnb-4bit"
        )
    return options


def describe_pretrained(
    name: str, model: Any, tokenizer: Any, image_processor: Any, processor: Any
) -> Pretrained:
    """Describe a model that is on its device, in evaluation mode: its info for runs and its
    identity for the cache."""
    target: torch.device = model.device
    info = describe_network(name, model, target) | {
        "architecture": type(model).__name__,
        "preprocessing": "none"
        if image_processor is None
        else describe_preprocessing(image_processor),
        "text_length": None,
        "precision": str(model.dtype).removeprefix("torch."),
    }
    identity = [
        info["weights_sha256"],
        without_incidental(model.config.to_dict()),
        None if image_processor is None else without_incidental(image_processor.to_dict()),
        info["precision"],
        target.type,
    ]
    return Pretrained(model, tokenizer, image_processor, processor, target, info, identity)


def read_config(source: Source) -> dict[str, Any]:
    """The contents of a model's config.json. Raises UserError when it cannot be read."""
    import transformers

    with loading(source):
        config: dict[str, Any]
        config, _ = transformers.PreTrainedConfig.get_config_dict(
            source.place, revision=source.revision
        )
    if kernel := _kernel(config):
        raise UserError(
            f"The config.json of '{source.name}' asks for the code '{kernel}' of the Hub, which is "
            f"not run; take "
            "attn_implementation out."
        )
    return config


def read_pooling(source: Source) -> dict[str, Any]:
    """The pooling of sentence-transformers, `1_Pooling/config.json`; {} if it cannot be found."""
    import transformers

    try:
        path = transformers.utils.cached_file(
            source.place, "1_Pooling/config.json", revision=source.revision
        )
    except OSError:
        return {}
    return read_json(Path(str(path)))


def _kernel(config: Mapping[str, Any]) -> str | None:
    """The repository from which a configuration would load attention code; None if transformers has
    the code."""
    for key, value in config.items():
        if isinstance(value, Mapping) and (found := _kernel(value)):
            return found
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

    `report` is the loading info of `from_pretrained`.
    """
    if missing := sorted(set(report["missing_keys"]) & set(model.state_dict())):
        more = f" and {len(missing) - 1:,} more tensors" * (len(missing) > 1)
        raise UserError(
            f"The weights of '{name}' do not fit {type(model).__name__}: {missing[0]}{more} would "
            f"be random; name a model trained for this task."
        )
    layers = {re.sub(r"\d+", "0", key) for key in model.state_dict()}
    if unexpected := sorted(
        key for key in report["unexpected_keys"] if re.sub(r"\d+", "0", key) in layers
    ):
        raise UserError(
            f"The weights of '{name}' do not fit its config.json: they also hold {unexpected[0]} "
            f"and {len(unexpected) - 1} other tensors of layers that it does not have; restore "
            f"config.json."
        )


def check_tokenizer(name: str, tokenizer: Any, config: Any) -> None:
    """Raise UserError for a tokenizer without files, or whose texts can get ids without an
    embedding in the model."""
    spelled = {tuple(ids) for ids in tokenizer([*_LETTERS], add_special_tokens=False)["input_ids"]}
    if len(spelled) == 1:  # transformers makes an empty tokenizer if the files are missing
        raise UserError(
            f"'{name}' has no tokenizer files; add those that the model was published with."
        )
    size = getattr(config.get_text_config(), "vocab_size", None)
    # special tokens that occur in no text, such as padding, may have ids beyond the embeddings
    words = [
        i for token, i in tokenizer.get_vocab().items() if token not in tokenizer.all_special_tokens
    ]
    highest = max([*words, *tokenizer("a")["input_ids"]])
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
    if "resample" in settings:
        settings["resample"] = Image.Resampling(settings["resample"]).name.lower()
    steps = [
        " ".join([step, *(f"{name}={settings[name]}" for name in names if name in settings)])
        for step, names in _STEPS.items()
        if settings.get(f"do_{step}")
    ]
    return " → ".join([type(image_processor).__name__, *steps])


def without_incidental(settings: Any) -> Any:
    """Settings without folder names and library versions, at every depth."""
    if isinstance(settings, dict):
        kept = {str(key): value for key, value in settings.items() if key not in _INCIDENTAL}
        return {
            key: without_incidental(value) for key, value in kept.items() if not key.startswith("_")
        }
    return (
        [without_incidental(each) for each in settings]
        if isinstance(settings, list | tuple)
        else settings
    )
