"""Joins separately rendered parts of an image with the whole image, and denoises them together."""

import bpy
import numpy as np
import OpenEXR

from generator.dataset.outputs import Box

_PASSES = {
    "Image": ("Image", "Combined", "RGB"),
    "Albedo": ("Denoising Albedo", "Denoising Albedo", "RGB"),
    "Normal": ("Denoising Normal", "Denoising Normal", "XYZ"),
}
"""For each input of the denoiser: Cycles' pass, the pass's name in an EXR file, and its channels there."""
_SAMPLE_COUNT = "Debug Sample Count.X"


class Canvas:
    """Collects rendered parts of an image and composites them over the next whole image, before denoising.

    Parts that are denoised alone show seams, because the denoiser errs at every edge where neighbours are missing. Each
    pixel becomes the mean of all samples that it took, as if Cycles had taken them in one go. Blender's compositor does
    this, so that Blender's denoiser and colour management apply.
    """

    def __init__(self, scene: bpy.types.Scene, width: int, height: int, denoise: str):
        self._render, view_layer = scene.render, scene.view_layers[0]
        scene.cycles.use_denoising = self._render.use_file_extension = False
        view_layer.use_pass_z = False
        view_layer.cycles.denoising_store_passes = view_layer.cycles.pass_debug_sample_count = True
        scene.use_nodes = True
        tree = scene.node_tree
        tree.nodes.clear()
        rendered, out = tree.nodes.new("CompositorNodeRLayers"), tree.nodes.new("CompositorNodeComposite")
        clean = tree.nodes.new("CompositorNodeDenoise")
        clean.mute = not denoise
        clean.prefilter, clean.quality = "FAST", (denoise or "fast").upper()
        tree.links.new(clean.outputs["Image"], out.inputs["Image"])
        self._images, self._layers = {}, {name: np.zeros((height, width, 4), np.float32) for name in _PASSES}
        for name, (source, _, _) in _PASSES.items():
            self._images[name] = image = bpy.data.images.new(name, width, height, float_buffer=True, is_data=True)
            layer_node, over = tree.nodes.new("CompositorNodeImage"), tree.nodes.new("CompositorNodeAlphaOver")
            layer_node.image = image
            tree.links.new(rendered.outputs[source], over.inputs[1])
            tree.links.new(layer_node.outputs["Image"], over.inputs[2])
            tree.links.new(over.outputs["Image"], clean.inputs[name])
        self.expect_parts()

    def expect_parts(self) -> None:
        """Set Blender up for parts: its next renders are EXR files of linear light."""
        settings, self._render.use_compositing = self._render.image_settings, False
        settings.file_format, settings.color_depth, settings.exr_codec = "OPEN_EXR_MULTILAYER", "32", "NONE"

    def add_part(self, path: str, box: Box, least: int, around: int) -> None:
        """Composite a part over the next whole image.

        `path` is the part's EXR file, `box` its place (left, top, right, bottom in pixels). Its pixels took at least
        `least` samples; those of the whole image will take `around`.
        """
        left, top, right, bottom = box
        with OpenEXR.File(path, separate_channels=True) as file:
            found = {name.partition(".")[2]: channel.pixels for name, channel in file.channels().items()}
        taken = least * found[_SAMPLE_COUNT] / found[_SAMPLE_COUNT].min()  # Cycles gives it as a share of the most
        share = (taken / (taken + around))[..., None]
        better = share > self._layers["Image"][top:bottom, left:right, 3:]  # parts may overlap
        for name, (_, source, channels) in _PASSES.items():
            color = np.stack([found[f"{source}.{channel}"] for channel in channels], axis=-1)
            layer = self._layers[name][top:bottom, left:right]
            layer[:] = np.where(better, np.concatenate([color * share, share], axis=-1), layer)

    def expect_whole(self) -> None:
        """Set Blender up for the whole image: its next render is a PNG file that shows the parts; later ones do not."""
        settings, self._render.use_compositing = self._render.image_settings, True
        settings.file_format, settings.color_mode, settings.color_depth = "PNG", "RGB", "8"
        for name, layer in self._layers.items():
            self._images[name].pixels.foreach_set(layer[::-1].ravel())
            self._images[name].update()
            layer.fill(0.0)
