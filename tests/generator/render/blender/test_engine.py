"""The renderer's settings follow quality and device."""

from typing import Any


def configured() -> dict[str, Any]:
    import bpy

    from generator.base.errors import UserError
    from generator.render.blender.stage import configure, devices_of, set_samples
    from generator.render.settings import Backend, read_quality

    scene, quality = bpy.context.scene, read_quality("standard")
    configure(scene, quality, 32, 24, 1, Backend("eevee", "cpu"))
    found: dict[str, Any] = {"eevee": scene.render.engine}
    configure(scene, quality, 320, 240, 2, Backend())
    found |= {"size": [scene.render.resolution_x, scene.render.resolution_y], "threads": scene.render.threads,
              "engine": scene.render.engine, "bounces": scene.cycles.max_bounces == quality.bounces}  # fmt: skip
    set_samples(scene, 64, 0.1, 16)
    cycles = scene.cycles
    found["samples"] = [cycles.samples, cycles.use_adaptive_sampling, cycles.sample_offset, cycles.sample_subset_length]
    set_samples(scene, 8)
    found["plain"] = [cycles.samples, cycles.use_adaptive_sampling, cycles.use_sample_subset]
    preferences = bpy.context.preferences.addons["cycles"].preferences
    found["unknown"] = devices_of(preferences, "TPU")
    missing = next((kind for kind in ("metal", "hip", "oneapi") if not devices_of(preferences, kind.upper())), None)
    try:
        configure(scene, quality, 32, 24, 1, Backend("cycles", missing))
    except UserError as error:
        found["refused"] = error.message == f"Blender finds no {missing} device for this worker"
    return found


def test_the_renderer_is_set_up(in_blender: Any) -> None:
    assert in_blender(configured) == {
        "eevee": "BLENDER_EEVEE_NEXT", "size": [320, 240], "threads": 2, "engine": "CYCLES", "bounces": True,
        "samples": [64, True, 16, 48], "plain": [8, False, False], "unknown": [], "refused": True,
    }  # fmt: skip
