"""Finds Blender's devices on this machine; run as a process, prints them as a line of JSON.

Imports bpy only when needed.
"""

import os
import re
from typing import Any

from generator.base.confinement import end_with_parent
from generator.base.extras import missing
from generator.base.process import answer_with
from generator.render.settings import SHOWN_BY

PACKAGES = "libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libsm6 libice6 libgl1 libxext6"
"""Debian and Ubuntu packages of all shared libraries that bpy 4.5 and 5.2 link, but their wheels do
not include."""

_NO_MEMORY = ("Cannot allocate memory", "failed to map segment", "cannot allocate")
"""Messages of the system's loader when a library does not fit into memory."""


def load_fault(error: ImportError | MemoryError) -> str:
    """One sentence for an error of loading bpy, with its remedy.

    >>> load_fault(ImportError("libXi.so.6: cannot open shared object file: No such file or
    directory"))[:50]
    'Blender cannot load because libXi.so.6 is missing:'
    """
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _NO_MEMORY):
        return (
            "There is not enough memory to load Blender: end other programs, or use fewer --workers"
        )
    match = re.match(r"(lib[\w+.-]+\.so[\d.]*): cannot open", str(error))
    if match:
        return f"Blender cannot load because {match[1]} is missing: apt-get install {PACKAGES}"
    if isinstance(error, ModuleNotFoundError) and error.name == "bpy":
        return missing("bpy").removesuffix(".")
    return f"Blender cannot load: {error}"


def show_gpu(device: str, index: int) -> None:
    """Let this process see only one GPU of a kind, by its index among the visible ones. Call before
    Blender loads."""
    name = SHOWN_BY[device]
    seen = os.environ.get(name)
    os.environ[name] = seen.split(",")[index].strip() if seen else str(index)


def devices_of(preferences: Any, kind: str) -> list[Any]:
    """The devices of a kind (OPTIX, CUDA ...) that Cycles can use, without CPUs. `preferences` are
    those of Cycles."""
    try:
        preferences.compute_device_type = kind
    except TypeError:  # this build of Blender does not know the kind
        return []
    return [device for device in preferences.get_devices_for_type(kind) if device.type == kind]


def _devices() -> dict[str, list[str]]:
    """Names of the devices by kind: CPU, OPTIX, CUDA, HIP, METAL, ONEAPI; kinds without a device
    are missing."""
    import bpy

    preferences = bpy.context.preferences.addons["cycles"].preferences
    found = {
        kind: devices_of(preferences, kind) for kind in ("OPTIX", "CUDA", "HIP", "METAL", "ONEAPI")
    }
    cpus = [each for each in preferences.devices if each.type == "CPU"]
    return {
        kind: [each.name for each in of_kind]
        for kind, of_kind in {**found, "CPU": cpus}.items()
        if of_kind
    }


def main() -> None:
    """Print the devices, or {"broken": reason} where Blender does not load."""
    end_with_parent()
    answer = answer_with()
    try:
        answer(**_devices())
    except (ImportError, MemoryError) as error:
        answer(broken=load_fault(error))


if __name__ == "__main__":
    main()
