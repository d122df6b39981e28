"""The rendering backend: an engine of Blender on a kind of device. Does not import bpy."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, did_you_mean

ENGINES = ("cycles", "eevee")
DEVICES = ("cpu", "optix", "cuda", "hip", "metal", "oneapi")
"""Kinds of devices for Cycles. `auto` takes the first kind of GPU in this order that is there."""
_TIMEOUT = 300


@dataclass(frozen=True)
class Backend:
    """An engine and the kind of device that it renders on.

    `engine`: one of ENGINES. `device`: for cycles one of DEVICES; for eevee `opengl-` and the driver's vendor, such as
    `opengl-software`. The same backend and the same build of Blender render the same bytes.
    """

    engine: str = "cycles"
    device: str = "cpu"

    @property
    def timed(self) -> bool:
        """Whether the times in blender_assets/quality.toml were measured with this backend."""
        return self == Backend()


def find_backend(engine: str, device: str) -> Backend:
    """The backend for `--engine` and `--device` on this machine. Device `auto` is a GPU if Blender finds one, else the CPU.

    Raises UserError if the engine or device is unknown, or if Blender cannot use it here.
    """
    if engine not in ENGINES:
        raise UserError(f"Unknown engine '{engine}'; {did_you_mean(engine, list(ENGINES))}")
    if device not in ("auto", *DEVICES):
        raise UserError(f"Unknown device '{device}'; {did_you_mean(device, ['auto', *DEVICES])}")
    if engine == "eevee":
        return _opengl(device)
    if device == "cpu" or (device == "auto" and not _may_have_gpu()):
        return Backend()
    found = _probe("devices")
    if device == "auto":
        return Backend("cycles", next((each for each in DEVICES[1:] if each.upper() in found), "cpu"))
    if device.upper() not in found:
        names = "; ".join(f"{kind.lower()}: {', '.join(names)}" for kind, names in found.items() if kind != "broken")
        raise UserError(
            f"--device {device}: Blender finds no such device here ({found.get('broken') or names or 'it finds none'}); install the "
            f"GPU's driver or use --device cpu."
        )
    return Backend("cycles", device)


def _opengl(device: str) -> Backend:
    if device != "auto":
        raise UserError(
            f"--device {device} is for --engine cycles; eevee renders with the machine's OpenGL driver, so leave it out."
        )
    found = _probe("opengl")
    if "vendor" not in found:
        raise UserError(
            "--engine eevee needs OpenGL through EGL, which does not work here: install the GPU's driver, or Mesa's software "
            f"driver with apt-get install libegl1 libgl1-mesa-dri, or take --engine cycles ({found.get('broken', 'Blender ended')})."
        )
    return Backend("eevee", f"opengl-{found['vendor'].lower()}")


def _may_have_gpu() -> bool:
    """Whether a GPU driver has made its device files. Asking Blender would take seconds."""
    nodes = ("nvidia[0-9]*", "dri/renderD*", "kfd")
    return sys.platform == "darwin" or any(any(Path("/dev").glob(name)) for name in nodes)


def _probe(what: str) -> dict[str, Any]:
    """What generator/render/blender/probe.py prints, or {"broken": reason} if it prints nothing."""
    command = [sys.executable, "-P", "-m", "generator.render.blender.probe", what]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return {"broken": f"Blender gave no answer in {_TIMEOUT} s"}
    except ValueError:
        last = (done.stderr.strip().splitlines() or [""])[-1].strip()
        return {"broken": f"Blender ended with code {done.returncode}" + (f": {last}" if last else "")}
