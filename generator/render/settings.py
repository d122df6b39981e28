"""How images are rendered: the quality and the device. Does not import bpy."""

import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from generator.base.errors import UserError, did_you_mean
from generator.base.process import AnsweringProcess, ProcessEndError
from generator.base.registry import resource

DEVICES = ("cpu", "optix", "cuda", "hip", "metal", "oneapi")
"""Kinds of devices. `auto` takes the first kind of GPU in this order that is available."""
SHOWN_BY = {
    "optix": "CUDA_VISIBLE_DEVICES",
    "cuda": "CUDA_VISIBLE_DEVICES",
    "hip": "HIP_VISIBLE_DEVICES",
}
"""The environment variable that limits which GPUs a process sees, for kinds of devices that have
one."""
_TIMEOUT = 300.0  # seconds


class Quality(BaseModel):
    """Settings of Cycles for each pixel, as declared in blender_assets/quality.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    samples: int
    """The most samples of a pixel."""
    noise: float = 0.0
    """If above 0, sampling stops at the first multiple of 16 samples where the estimated noise is
    below this."""
    floor: int = 0
    """Samples of a pixel away from the objects if the scene has only a floor; 0 means `samples`."""
    landscape: int = 0
    """The same in an environment with scenery."""
    photo: int = 0
    """The same in a photographed place."""
    matt: int = 0
    """Samples of a pixel around objects without metal, if that is more than away from the objects;
    0 treats these objects like metal."""
    denoise: Literal["", "fast"]
    """The mode of OpenImageDenoise; "" does not denoise."""
    bounces: int
    """How often a path of light is reflected."""
    microseconds: float = 0.0
    """Measured time of a pixel on one core, for estimates."""


def qualities() -> dict[str, Quality]:
    """Return every declared quality by name."""
    text = resource("blender_assets/quality.toml").read_text(encoding="utf-8")
    return {name: Quality.model_validate(values) for name, values in tomllib.loads(text).items()}


def read_quality(name: str) -> Quality:
    """Return the quality of that name.

    Args:
        name: A table of blender_assets/quality.toml.

    Raises:
        UserError: There is no such quality.

    >>> read_quality("draft").matt
    4
    """
    known = qualities()
    if name not in known:
        raise UserError(f"Unknown quality '{name}': {did_you_mean(name, list(known))}")
    return known[name]


def check_device(device: str, *more: str) -> None:
    """Check the name of a kind of device.

    Args:
        device: The name that the user gave.
        *more: Names to suggest besides those in DEVICES.

    Raises:
        UserError: The name is not in DEVICES.
    """
    if device not in DEVICES:
        raise UserError(f"Unknown device '{device}'; {did_you_mean(device, [*more, *DEVICES])}")


def find_device(device: str) -> str:
    """Find the kind of device to render on.

    The same kind and the same build of Blender render the same bytes.

    Args:
        device: One of DEVICES, or `auto`.

    Returns:
        One of DEVICES; for `auto` a GPU if Blender finds one, else the CPU.

    Raises:
        UserError: The kind is unknown, or Blender cannot use it here.
    """
    if device != "auto":
        check_device(device, "auto")
    if device == "cpu" or (device == "auto" and not _may_have_gpu()):
        return "cpu"
    available = _list_devices()
    if device == "auto":
        for kind in DEVICES[1:]:
            if kind.upper() in available:
                return kind
        return "cpu"
    if device.upper() not in available:
        reason = available.pop("broken", "")
        if not reason:
            reason = "; ".join(
                f"{kind.lower()}: {', '.join(names)}" for kind, names in available.items()
            )
        raise UserError(
            f"--device {device}: Blender finds no such device here "
            f"({reason or 'it finds none'}); install the GPU's driver or use --device cpu."
        )
    return device


def find_gpus(device: str) -> tuple[str, ...]:
    """Return the names of the GPUs among which workers are spread.

    Args:
        device: One of DEVICES.

    Returns:
        One name per GPU if each worker uses one of them; empty if all workers use all devices.
    """
    if device not in SHOWN_BY:
        return ()
    return tuple(_list_devices().get(device.upper(), ()))


def _may_have_gpu() -> bool:
    """Whether a GPU driver has made its device files. Asking Blender would take seconds."""
    if sys.platform == "darwin":
        return True
    patterns = ("nvidia[0-9]*", "dri/renderD*", "kfd")
    return any(any(Path("/dev").glob(pattern)) for pattern in patterns)


def _list_devices() -> dict[str, Any]:
    """Names of the devices by kind, CPU, OPTIX and so on, or {"broken": reason} where Blender does
    not load."""
    with closing(AnsweringProcess("generator.render.blender.system")) as process:
        try:
            return process.answer(_TIMEOUT)
        except ProcessEndError as ended:
            return {"broken": f"Blender {ended}"}
