"""Joins separately rendered parts of an image with the whole image, and denoises them together."""

import bpy
import numpy as np
import OpenEXR

from generator.dataset.outputs import Box
from generator.render.blender.nodes import Nodes
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

    def __init__(self, scene: bpy.types.Scene, *, size: tuple[int, int], denoise: str):
        """Build the compositor of a scene.

        For each input of the denoiser: Blender's render, and over it the parts rendered before.

        Args:
            scene: The Blender scene that is rendered.
            size: Width and height of the rendered image, in pixels.
            denoise: The mode of OpenImageDenoise; "" for no denoising.
        """
        width, height = size
        self._render = scene.render
        # The compositor denoises, after the parts are in their places.
        scene.cycles.use_denoising = False
        self._render.use_file_extension = False
        _enable_passes(scene.view_layers[0])
        self._layers = {name: np.zeros((height, width, 4), np.float32) for name in _PASSES}
        """Parts for each input of the denoiser: premultiplied colour, and the parts' share of the
        pixel, 0..1. The highest row is first."""
        self._images: dict[str, bpy.types.Image] = {}
        """Blender's image of each layer."""

        # Render → parts over it → denoiser → result.
        tree, result = new_compositor(scene)
        rendered = tree.nodes.new("CompositorNodeRLayers")
        denoiser = tree.nodes.new("CompositorNodeDenoise")
        denoiser.mute = not denoise
        set_denoiser(denoiser, (denoise or "fast").upper(), "FAST")
        tree.links.new(denoiser.outputs["Image"], result)
        nodes = Nodes(tree)
        for name, (pass_names, _) in _PASSES.items():
            image = bpy.data.images.new(name, width, height, float_buffer=True, is_data=True)
            self._images[name] = image
            parts = tree.nodes.new("CompositorNodeImage")
            parts.image = image
            total = rendered.outputs[_output_name(pass_names[0])]
            for pass_name in pass_names[1:]:
                output = rendered.outputs[_output_name(pass_name)]
                total = nodes.mix(1.0, total, output, blend_type="ADD")
            over = tree.nodes.new("CompositorNodeAlphaOver")
            below, above = layers_of(over)
            tree.links.new(total, below)
            tree.links.new(parts.outputs["Image"], above)
            tree.links.new(over.outputs["Image"], denoiser.inputs[name])
        self.expect_parts()

    def expect_parts(self) -> None:
        """Set Blender up for parts: its next renders are EXR files of linear light."""
        self._render.use_compositing = False
        settings = self._render.image_settings
        save_all_passes(settings)
        settings.color_depth = "32"
        settings.exr_codec = "NONE"  # the file is read back at once

    def add_part(self, path: str, box: Box, *, least: int, around: int) -> None:
        """Composite a part over the next whole image.

        Args:
            path: The part's EXR file.
            box: Its place: left, top, right, bottom in pixels.
            least: The fewest samples that one of its pixels took.
            around: The samples that pixels of the whole image will take.
        """
        pixels = _read_channels(path)
        # Cycles gives sample counts as shares of the largest, so the smallest is `least`.
        counts = pixels[_SAMPLE_COUNT]
        samples = least * counts / counts.min()
        # A pixel becomes the mean of all its samples, so the part counts by its share of them.
        share = (samples / (samples + around))[..., None]
        # Where parts overlap, the one with more samples is kept.
        left, top, right, bottom = box
        is_better = share > self._layers["Image"][top:bottom, left:right, 3:]
        for name, (pass_names, channels) in _PASSES.items():
            color = 0
            for pass_name in pass_names:
                planes = [pixels[f"{pass_name}.{channel}"] for channel in channels]
                color = color + np.stack(planes, axis=-1)
            premultiplied = np.concatenate([color * share, share], axis=-1)
            layer = self._layers[name][top:bottom, left:right]
            layer[:] = np.where(is_better, premultiplied, layer)

    def expect_whole(self) -> None:
        """Set Blender up for the whole image: its next render is a PNG file that shows the parts;
        later ones do not."""
        self._render.use_compositing = True
        settings = self._render.image_settings
        save_image(settings)
        settings.color_mode = "RGB"
        settings.color_depth = "8"
        for name, layer in self._layers.items():
            lowest_row_first = layer[::-1]
            self._images[name].pixels.foreach_set(lowest_row_first.ravel())
            self._images[name].update()
            layer.fill(0.0)


def _read_channels(path: str) -> dict[str, np.ndarray]:
    """The channels [h, w] of an EXR file, by name without that of the view layer."""
    pixels = {}
    with OpenEXR.File(path, separate_channels=True) as file:
        for name, channel in file.channels().items():
            _, _, name_in_layer = name.partition(".")
            pixels[name_in_layer] = channel.pixels
    return pixels


def _enable_passes(view_layer: bpy.types.ViewLayer) -> None:
    """Have Cycles render the passes of `_PASSES`, and how many samples each pixel took."""
    view_layer.use_pass_z = False
    view_layer.use_pass_normal = True
    view_layer.use_pass_environment = True
    view_layer.use_pass_diffuse_color = True
    view_layer.use_pass_glossy_color = True
    view_layer.cycles.pass_debug_sample_count = True


def _output_name(render_pass: str) -> str:
    """The output of the compositor's render node for a pass of an EXR file."""
    return "Image" if render_pass == "Combined" else render_pass
