"""How Blender renders: the engine, its samples and its denoiser."""

import bpy

from generator.quality import Quality


def configure(scene: bpy.types.Scene, quality: Quality, width: int, height: int, threads: int) -> None:
    """Set the renderer up for images of that size and quality."""
    render, cycles = scene.render, scene.cycles
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y, render.resolution_percentage = width, height, 100
    render.threads_mode, render.threads = "FIXED", threads
    render.use_persistent_data = True
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    render.image_settings.compression = 50
    scene.view_settings.view_transform = "Standard"
    cycles.device, cycles.seed = "CPU", 0
    cycles.samples, cycles.use_adaptive_sampling = quality.samples, False
    cycles.use_denoising = quality.denoise
    cycles.denoiser, cycles.denoising_use_gpu = "OPENIMAGEDENOISE", False
    cycles.denoising_prefilter, cycles.denoising_quality = "FAST", "FAST"
    cycles.max_bounces = cycles.glossy_bounces = quality.bounces
    cycles.diffuse_bounces = min(quality.bounces, 4)
    cycles.blur_glossy = 2.0
    cycles.use_light_tree = False  # a handful of lamps: choosing among them costs more than it saves
    cycles.caustics_reflective = cycles.caustics_refractive = False
