"""Says why bpy cannot be loaded on this machine, and how to mend it. Does not import bpy."""

import re

from generator.base.extras import missing

# Shared libraries that bpy 4.5 links and its wheel does not carry, with the Debian/Ubuntu package of each.
PACKAGES = {
    "libX11.so.6": "libx11-6",
    "libXrender.so.1": "libxrender1",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libSM.so.6": "libsm6",
    "libICE.so.6": "libice6",
    "libGL.so.1": "libgl1",
    "libXext.so.6": "libxext6",
}

_NO_MEMORY = ("Cannot allocate memory", "failed to map segment", "cannot allocate")
"""What the system's loader says where a library does not fit into memory."""


def load_fault(error: ImportError | MemoryError) -> str:
    """One sentence for an error of loading bpy, with what mends it.

    >>> load_fault(ImportError("libXi.so.6: cannot open shared object file: No such file or directory"))
    'Blender cannot load because libXi.so.6 is missing: apt-get install libxi6'
    """
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _NO_MEMORY):
        return "There is not enough memory to load Blender: end other programs, or use fewer --workers"
    match = re.match(r"(lib[\w+.-]+\.so[\d.]*): cannot open", str(error))
    if match and match[1] in PACKAGES:
        return f"Blender cannot load because {match[1]} is missing: apt-get install {PACKAGES[match[1]]}"
    if isinstance(error, ModuleNotFoundError) and error.name == "bpy":
        return missing("bpy").removesuffix(".")
    return f"Blender cannot load: {error}"
