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
    """Describe an error of loading bpy, with its remedy.

    Args:
        error: What `import bpy` raised.

    Returns:
        A sentence without a full stop.

    >>> error = ImportError("libXi.so.6: cannot open shared object file: No such file or directory")
    >>> load_fault(error)[:50]
    'Blender cannot load because libXi.so.6 is missing:'
    """
    is_memory_message = any(message in str(error) for message in _NO_MEMORY)
    if isinstance(error, MemoryError) or is_memory_message:
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
    """Let this process see only one GPU. Call it before Blender loads.

    Args:
        device: A kind of GPU in `generator.render.settings.SHOWN_BY`.
        index: The GPU's number among those that the process sees now.
    """
    variable = SHOWN_BY[device]
    visible = os.environ.get(variable)
    if visible:
        os.environ[variable] = visible.split(",")[index].strip()
    else:
        os.environ[variable] = str(index)


def devices_of(preferences: Any, kind: str) -> list[Any]:
    """Return the devices of a kind that Cycles can use, without CPUs.

    Args:
        preferences: The preferences of Cycles in Blender.
        kind: OPTIX, CUDA, HIP, METAL or ONEAPI.
    """
    try:
        preferences.compute_device_type = kind
    except TypeError:  # this build of Blender does not know the kind
        return []
    return [device for device in preferences.get_devices_for_type(kind) if device.type == kind]


def _list_devices() -> dict[str, list[str]]:
    """Names of the devices by kind: CPU, OPTIX, CUDA, HIP, METAL, ONEAPI; kinds without a device
    are missing."""
    import bpy

    preferences = bpy.context.preferences.addons["cycles"].preferences
    devices = {}
    for kind in ("OPTIX", "CUDA", "HIP", "METAL", "ONEAPI"):
        devices[kind] = devices_of(preferences, kind)
    devices["CPU"] = [device for device in preferences.devices if device.type == "CPU"]
    names = {}
    for kind, devices_of_kind in devices.items():
        if devices_of_kind:
            names[kind] = [device.name for device in devices_of_kind]
    return names


def main() -> None:
    """Print the devices, or {"broken": reason} where Blender does not load."""
    end_with_parent()
    answer = answer_with()
    try:
        answer(**_list_devices())
    except (ImportError, MemoryError) as error:
        answer(broken=load_fault(error))


if __name__ == "__main__":
    main()
