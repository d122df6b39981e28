"""Joins separately rendered parts of an image with the whole image, and denoises them together."""

from functools import reduce

import bpy
import numpy as np
import OpenEXR

from generator.dataset.outputs import Box
from generator.render.blender.textures import Nodes
from generator.render.blender.versions import (
    DIFFUSE_COLOR,
    ENVIRONMENT,
    GLOSSY_COLOR,
    layers_of,
    new_compositor,
    save_all_passes,
    save_image,
    set_denoiser,
)

_PASSES = {
    "Image": (["Combined"], "RGB"),
    "Albedo": ([DIFFUSE_COLOR, GLOSSY_COLOR, ENVIRONMENT], "RGB"),
    "Normal": (["Normal"], "XYZ"),
}
"""For each input of the denoiser: the passes whose sum it takes, and their channels in an EXR file.

They show the first surfaces that the camera sees. Cycles' own passes for the denoiser show
reflections in metal, more in Blender 4.5 than in 5.2.
"""
_SAMPLE_COUNT = "Debug Sample Count.X"


class Canvas:
    """Collects rendered parts of an image and composites them over the next whole image, before
    denoising.

    Parts that are denoised alone show seams, because the denoiser errs at every edge where
    neighbours are missing. Each pixel becomes the mean of all samples that it took, as if Cycles
    had taken them in one go. Blender's compositor does this, so that Blender's denoiser and colour
    management apply.
    """

    def __init__(self, scene: bpy.types.Scene, width: int, height: int, denoise: str):
        self._render, view_layer = scene.render, scene.view_layers[0]
        scene.cycles.use_denoising = self._render.use_file_extension = False
        view_layer.use_pass_z, view_layer.cycles.pass_debug_sample_count = False, True
        view_layer.use_pass_normal = view_layer.use_pass_environment = True
        view_layer.use_pass_diffuse_color = view_layer.use_pass_glossy_color = True
        tree, result = new_compositor(scene)
        rendered, clean = (
            tree.nodes.new("CompositorNodeRLayers"),
            tree.nodes.new("CompositorNodeDenoise"),
        )
        clean.mute = not denoise
        set_denoiser(clean, (denoise or "fast").upper(), "FAST")
        tree.links.new(clean.outputs["Image"], result)
        nodes = Nodes(tree)
        self._images, self._layers = (
            {},
            {name: np.zeros((height, width, 4), np.float32) for name in _PASSES},
        )
        for name, (sources, _) in _PASSES.items():
            self._images[name] = image = bpy.data.images.new(
                name, width, height, float_buffer=True, is_data=True
            )
            layer_node, over = (
                tree.nodes.new("CompositorNodeImage"),
                tree.nodes.new("CompositorNodeAlphaOver"),
            )
            layer_node.image = image
            below, above = layers_of(over)
            first, *more = [
                rendered.outputs["Image" if source == "Combined" else source] for source in sources
            ]
            total = reduce(lambda one, other: nodes.mix(1.0, one, other, "ADD"), more, first)
            tree.links.new(total, below)
            tree.links.new(layer_node.outputs["Image"], above)
            tree.links.new(over.outputs["Image"], clean.inputs[name])
        self.expect_parts()

    def expect_parts(self) -> None:
        """Set Blender up for parts: its next renders are EXR files of linear light."""
        settings, self._render.use_compositing = self._render.image_settings, False
        save_all_passes(settings)
        settings.color_depth, settings.exr_codec = "32", "NONE"

    def add_part(self, path: str, box: Box, least: int, around: int) -> None:
        """Composite a part over the next whole image.

        `path` is the part's EXR file, `box` its place (left, top, right, bottom in pixels). Its
        pixels took at least
        `least` samples; pixels of the whole image will take `around`.
        """
        left, top, right, bottom = box
        with OpenEXR.File(path, separate_channels=True) as file:
            found = {
                name.partition(".")[2]: channel.pixels for name, channel in file.channels().items()
            }
        taken = (
            least * found[_SAMPLE_COUNT] / found[_SAMPLE_COUNT].min()
        )  # Cycles gives shares of the largest count
        share = (taken / (taken + around))[..., None]
        better = share > self._layers["Image"][top:bottom, left:right, 3:]  # parts may overlap
        for name, (sources, channels) in _PASSES.items():
            color = sum(
                np.stack([found[f"{one}.{channel}"] for channel in channels], axis=-1)
                for one in sources
            )
            layer = self._layers[name][top:bottom, left:right]
            layer[:] = np.where(better, np.concatenate([color * share, share], axis=-1), layer)

    def expect_whole(self) -> None:
        """Set Blender up for the whole image: its next render is a PNG file that shows the parts;
        later ones do not."""
        settings, self._render.use_compositing = self._render.image_settings, True
        save_image(settings)
        settings.color_mode, settings.color_depth = "RGB", "8"
        for name, layer in self._layers.items():
            self._images[name].pixels.foreach_set(layer[::-1].ravel())
            self._images[name].update()
            layer.fill(0.0)
