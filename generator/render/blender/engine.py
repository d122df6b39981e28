"""How Blender renders: the engine, its device, its samples and its denoiser."""

from typing import Any

import bpy

from generator.base.errors import UserError
from generator.render.device import Backend
from generator.render.quality import Quality


def configure(
    scene: bpy.types.Scene, quality: Quality, width: int, height: int, threads: int, backend: Backend
) -> None:
    """Set the renderer up: size in pixels, quality, CPU threads, engine and device.

    Raises UserError where Blender finds no such device.
    """
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = width, height, 100
    render.threads_mode, render.threads = "FIXED", threads
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    render.image_settings.compression = 0  # the file is read back at once
    scene.view_settings.view_transform = "Standard"
    if backend.engine == "eevee":
        _configure_eevee(scene, quality)
    else:
        _configure_cycles(scene, quality)
        if backend.device != "cpu":
            _use_gpu(scene, backend.device)


def set_samples(scene: bpy.types.Scene, samples: int, noise: float = 0.0, after: int = 0) -> None:
    """Limit the samples a pixel of Cycles to numbers `after` up to `samples` of its sequence.

    With `noise` above 0 a pixel stops earlier, once its estimated noise is below that.
    """
    cycles = scene.cycles
    cycles.samples, cycles.use_adaptive_sampling, cycles.adaptive_threshold = samples, noise > 0, noise
    cycles.use_sample_subset, cycles.sample_offset = after > 0, after
    cycles.sample_subset_length = max(samples - after, 1)


def devices_of(preferences: Any, kind: str) -> list[Any]:
    """The devices of a kind (OPTIX, CUDA ...) that Cycles can use, without CPUs. `preferences` are those of Cycles."""
    try:
        preferences.compute_device_type = kind
    except TypeError:  # this build of Blender does not know the kind
        return []
    return [device for device in preferences.get_devices_for_type(kind) if device.type == kind]


def _configure_cycles(scene: bpy.types.Scene, quality: Quality) -> None:
    cycles, scene.render.engine = scene.cycles, "CYCLES"
    scene.render.use_persistent_data = True
    cycles.device, cycles.seed = "CPU", 0
    set_samples(scene, quality.samples, quality.noise)
    # with 4, Cycles first estimates the noise after 16 samples (`generator.render.sample_budget.FIRST_NOISE_CHECK`)
    cycles.adaptive_min_samples = 4
    cycles.use_denoising = bool(quality.denoise)
    cycles.denoiser, cycles.denoising_use_gpu = "OPENIMAGEDENOISE", False
    cycles.denoising_prefilter, cycles.denoising_quality = "FAST", (quality.denoise or "fast").upper()
    cycles.max_bounces = cycles.glossy_bounces = quality.bounces
    cycles.diffuse_bounces = min(quality.bounces, 4)
    cycles.blur_glossy = 2.0
    cycles.use_light_tree = False  # with a handful of lamps, choosing among them costs more than it saves
    cycles.caustics_reflective = cycles.caustics_refractive = False


def _use_gpu(scene: bpy.types.Scene, device: str) -> None:
    preferences = bpy.context.preferences.addons["cycles"].preferences
    devices = devices_of(preferences, device.upper())
    if not devices:
        raise UserError(f"Blender finds no {device} device for this worker")
    for each in preferences.devices:
        each.use = each in devices
    scene.cycles.device = "GPU"


def _configure_eevee(scene: bpy.types.Scene, quality: Quality) -> None:
    eevee, scene.render.engine = scene.eevee, "BLENDER_EEVEE_NEXT"
    eevee.taa_render_samples = quality.eevee_samples
    eevee.light_threshold = 1e-5  # by default lamps of a few watts reach only some metres
    eevee.use_raytracing, eevee.ray_tracing_method = True, "SCREEN"
    eevee.ray_tracing_options.resolution_scale = "1"
    eevee.ray_tracing_options.use_denoise = True
