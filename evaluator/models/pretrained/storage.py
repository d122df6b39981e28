"""How a model of transformers is stored: its number format, its places on several devices, and quantised weights."""

from importlib.util import find_spec
from typing import Any, Literal

import torch
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from evaluator.models.device import best_device
from generator.base.errors import UserError

Quantization = Literal["bnb-8bit", "bnb-4bit", "torchao-int8"]
_PACKAGES = {"bnb-8bit": "bitsandbytes", "bnb-4bit": "bitsandbytes", "torchao-int8": "torchao"}


class Precision(TypedDict, total=False):
    """dtype: number format of the weights and of what is computed; `auto` is that of the files. Without it float32."""

    dtype: Literal["float32", "bfloat16", "float16", "auto"]


class Storage(Precision, total=False):
    """Also for large models. device_map: how accelerate shares the layers among the GPUs. quantization: of the weights."""

    device_map: Literal["auto", "balanced", "sequential"]
    quantization: Quantization


def storage_options(how: Storage, device: str | None) -> dict[str, Any]:
    """The keyword arguments of `from_pretrained` for a storage. With `device_map` among them, the model is on its devices
    once it is loaded.

    Raises UserError for a device beside a device map, and for a package that is not installed.
    """
    dtype = how.get("dtype", "float32")
    options: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    if map_ := how.get("device_map"):
        if device is not None:
            raise UserError(f"Both --device {device} and device_map={map_} say where the model goes; give one of them.")
        _check(f"device_map={map_}", "accelerate")
        options["device_map"] = map_
    if quantization := how.get("quantization"):
        _check(f"quantization={quantization}", "accelerate")
        _check(f"quantization={quantization}", _PACKAGES[quantization])
        options["quantization_config"] = _quantised(quantization)
        options.setdefault("device_map", {"": str(best_device(device))})
    return options


def check_in_memory(name: str, model: torch.nn.Module) -> None:
    """Raise UserError where layers of a model are left out of the memory of the devices, as a device map does that has no room."""
    if any(parameter.is_meta for parameter in model.parameters()):
        raise UserError(
            f"'{name}' does not fit in the memory of the devices; take quantization=bnb-4bit, or a smaller model."
        )


def _check(asked: str, package: str) -> None:
    if find_spec(package) is None:
        raise UserError(
            f"{asked} needs the package {package}, which is not installed; install it with: pip install {package}."
        )


def _quantised(quantization: Quantization) -> Any:
    import transformers

    if quantization == "torchao-int8":
        from torchao.quantization import Int8WeightOnlyConfig

        return transformers.TorchAoConfig(Int8WeightOnlyConfig())
    return transformers.BitsAndBytesConfig(
        load_in_8bit=quantization == "bnb-8bit", load_in_4bit=quantization == "bnb-4bit"
    )
