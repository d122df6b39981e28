"""Where the parts of an image and the whole one come together, before they are denoised as one."""

import bpy
import numpy as np
import OpenEXR

from generator.dataset.outputs import Box

_PASSES = {
    "Image": ("Image", "Combined", "RGB"),
    "Albedo": ("Denoising Albedo", "Denoising Albedo", "RGB"),
    "Normal": ("Denoising Normal", "Denoising Normal", "XYZ"),
}
"""By the input of the denoiser: the pass of Cycles that it takes, the pass's name in an EXR file, and its channels there."""
_COUNT = "Debug Sample Count.X"


class Canvas:
    """Parts of an image of linear light, and what guides the denoiser in them, laid over the next whole image.

    Denoised apart they would show seams: the denoiser gets the pixels at every edge wrong, for want of neighbours. As a
    mean of all samples that a pixel took, what comes out is what Cycles would make of them in one go.

    Blender's compositor does it, so that its own denoiser and its own colours are used.
    """

    def __init__(self, scene: bpy.types.Scene, width: int, height: int, denoise: str):
        self._render, layer = scene.render, scene.view_layers[0]
        scene.cycles.use_denoising = self._render.use_file_extension = False
        layer.use_pass_z = False
        layer.cycles.denoising_store_passes = layer.cycles.pass_debug_sample_count = True
        scene.use_nodes = True
        tree = scene.node_tree
        tree.nodes.clear()
        rendered, out = tree.nodes.new("CompositorNodeRLayers"), tree.nodes.new("CompositorNodeComposite")
        clean = tree.nodes.new("CompositorNodeDenoise")
        clean.mute = not denoise
        clean.prefilter, clean.quality = "FAST", (denoise or "fast").upper()
        tree.links.new(clean.outputs["Image"], out.inputs["Image"])
        self._images, self._laid = {}, {name: np.zeros((height, width, 4), np.float32) for name in _PASSES}
        for name, (source, _, _) in _PASSES.items():
            self._images[name] = image = bpy.data.images.new(name, width, height, float_buffer=True, is_data=True)
            laid, over = tree.nodes.new("CompositorNodeImage"), tree.nodes.new("CompositorNodeAlphaOver")
            laid.image = image
            tree.links.new(rendered.outputs[source], over.inputs[1])
            tree.links.new(laid.outputs["Image"], over.inputs[2])
            tree.links.new(over.outputs["Image"], clean.inputs[name])
        self.part()

    def part(self) -> None:
        """Blender's next renders are parts: EXR files of linear light."""
        settings, self._render.use_compositing = self._render.image_settings, False
        settings.file_format, settings.color_depth, settings.exr_codec = "OPEN_EXR_MULTILAYER", "32", "NONE"

    def lay(self, path: str, box: Box, least: int, around: int) -> None:
        """Lay the part of an EXR file, whose pixels took `least` samples and more, over a whole image of `around` samples."""
        left, top, right, bottom = box
        with OpenEXR.File(path, separate_channels=True) as file:
            found = {name.partition(".")[2]: channel.pixels for name, channel in file.channels().items()}
        taken = least * found[_COUNT] / found[_COUNT].min()  # Cycles gives it as a share of the most
        share = (taken / (taken + around))[..., None]
        better = share > self._laid["Image"][top:bottom, left:right, 3:]  # than another part of those pixels
        for name, (_, passed, channels) in _PASSES.items():
            color = np.stack([found[f"{passed}.{channel}"] for channel in channels], axis=-1)
            laid = self._laid[name][top:bottom, left:right]
            laid[:] = np.where(better, np.concatenate([color * share, share], axis=-1), laid)

    def whole(self) -> None:
        """Blender's next render is the whole image, a PNG file; what was laid shows in it, and in no later one."""
        settings, self._render.use_compositing = self._render.image_settings, True
        settings.file_format, settings.color_mode, settings.color_depth = "PNG", "RGB", "8"
        for name, laid in self._laid.items():
            self._images[name].pixels.foreach_set(laid[::-1].ravel())
            self._images[name].update()
            laid.fill(0.0)
