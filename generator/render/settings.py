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
    """Settings of Cycles for each pixel, as declared in blender_assets/quality.toml.

    `samples`: the most samples of a pixel. `noise`: if above 0, sampling stops at the first
    multiple of 16 where the
    estimated noise is below it. Away from the objects a pixel takes `floor` samples if the scene
    has only a floor,
    `photo` samples in a photographed place, `landscape` samples elsewhere; 0 means `samples`.
    Around objects without
    metal a pixel takes `matt` samples if that is more than elsewhere in the image; 0 treats them
    like metal. `denoise`:
    the mode of OpenImageDenoise, or none. `bounces`: of light. `microseconds`: per pixel on one
    core, for estimates.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    samples: int
    noise: float = 0.0
    floor: int = 0
    landscape: int = 0
    photo: int = 0
    matt: int = 0
    denoise: Literal["", "fast"]
    bounces: int
    microseconds: float = 0.0


def qualities() -> dict[str, Quality]:
    """Every declared quality by name."""
    declared = tomllib.loads(resource("blender_assets/quality.toml").read_text(encoding="utf-8"))
    return {name: Quality.model_validate(values) for name, values in declared.items()}


def read_quality(name: str) -> Quality:
    """The quality of that name. Raises UserError if there is none."""
    known = qualities()
    if name not in known:
        raise UserError(f"Unknown quality '{name}': {did_you_mean(name, list(known))}")
    return known[name]


def check_device(device: str, *more: str) -> None:
    """Raise UserError unless a device is in DEVICES. `more`: further names to suggest."""
    if device not in DEVICES:
        raise UserError(f"Unknown device '{device}'; {did_you_mean(device, [*more, *DEVICES])}")


def find_device(device: str) -> str:
    """The kind of device for `--device` on this machine; for `auto` a GPU if Blender finds one,
    else the CPU.

    The same kind and the same build of Blender render the same bytes. Raises UserError if the kind
    is unknown, or if Blender cannot use it here.
    """
    if device != "auto":
        check_device(device, "auto")
    if device == "cpu" or (device == "auto" and not _may_have_gpu()):
        return "cpu"
    found = _devices()
    if device == "auto":
        return next((each for each in DEVICES[1:] if each.upper() in found), "cpu")
    if device.upper() not in found:
        names = "; ".join(
            f"{kind.lower()}: {', '.join(names)}"
            for kind, names in found.items()
            if kind != "broken"
        )
        raise UserError(
            f"--device {device}: Blender finds no such device here "
            f"({found.get('broken') or names or 'it finds none'}); install the GPU's driver or use "
            f"--device cpu."
        )
    return device


def find_gpus(device: str) -> tuple[str, ...]:
    """The names of the GPUs of a kind if each worker uses one of them; empty if all workers use all
    devices."""
    return tuple(_devices().get(device.upper(), ())) if device in SHOWN_BY else ()


def _may_have_gpu() -> bool:
    """Whether a GPU driver has made its device files. Asking Blender would take seconds."""
    nodes = ("nvidia[0-9]*", "dri/renderD*", "kfd")
    return sys.platform == "darwin" or any(any(Path("/dev").glob(name)) for name in nodes)


def _devices() -> dict[str, Any]:
    """Names of the devices by kind, CPU, OPTIX and so on, or {"broken": reason} where Blender does
    not load."""
    with closing(AnsweringProcess("generator.render.blender.system")) as process:
        try:
            return process.answer(_TIMEOUT)
        except ProcessEndError as ended:
            return {"broken": f"Blender {ended}"}
