"""Prints what Blender finds on this machine; run as a process that may crash: `python -m generator.render.blender.probe devices`.

It prints one line of JSON. `devices`: the names of the devices of each kind that Cycles can render on. `opengl`: renders
an image with EEVEE, and prints `renderer` (the driver's name) and `vendor` (SOFTWARE, NVIDIA, AMD ...). Where Blender does
not load, `broken` says why.
"""

import json
import os
import sys
import tempfile
from pathlib import Path


def devices() -> dict[str, list[str]]:
    """Names of the devices by kind: CPU, OPTIX, CUDA, HIP, METAL, ONEAPI; kinds without a device are missing."""
    import bpy

    from generator.render.blender.engine import devices_of

    preferences = bpy.context.preferences.addons["cycles"].preferences
    found = {kind: devices_of(preferences, kind) for kind in ("OPTIX", "CUDA", "HIP", "METAL", "ONEAPI")}
    cpus = [each for each in preferences.devices if each.type == "CPU"]
    return {kind: [each.name for each in of_kind] for kind, of_kind in {**found, "CPU": cpus}.items() if of_kind}


def opengl() -> dict[str, str]:
    """The driver with which EEVEE rendered an empty image."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine = "BLENDER_EEVEE_NEXT"
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.eevee.taa_render_samples = 1
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "empty.png")
        bpy.ops.render.render(write_still=True)
    import gpu

    return {"renderer": gpu.platform.renderer_get(), "vendor": gpu.platform.device_type_get()}


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        found: object = {"devices": devices, "opengl": opengl}[sys.argv[1]]()
    except (ImportError, MemoryError) as error:
        from generator.render.blender.system import load_fault

        found = {"broken": load_fault(error)}
    answers.write(json.dumps(found) + "\n")
    answers.flush()
