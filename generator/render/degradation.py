"""Degrades a rendered image: the ladders of contrast and of occlusion."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from PIL import Image

from generator.dataset.outputs import Box, PixelOutputs
from generator.scene.ladder import CONTRAST, OCCLUSION
from generator.scene.scene import Rung, Scene

_GREY = 128
"""Mid grey: the value that contrast is reduced towards (Geirhos et al. 2018), and the colour of
panels, which no object of the built-in families has."""


def degraded_image(image: Image.Image, scene: Scene, pixels: PixelOutputs) -> Image.Image:
    """Return the image of a step of a ladder.

    Args:
        image: The rendered image, RGB.
        scene: Its scene.
        pixels: What the pixels of the scene show, without panels.

    Returns:
        The same image, unless the scene is a step of a ladder of contrast or occlusion.
    """
    rung = scene.rung
    if rung is None or rung.factor not in (CONTRAST, OCCLUSION):
        return image
    values = np.asarray(image)
    if rung.factor == CONTRAST:
        return Image.fromarray(reduce_contrast(values, rung.magnitude))
    values = values.copy()
    for left, top, right, bottom in panels(rung, pixels):
        values[top:bottom, left:right] = _GREY
    return Image.fromarray(values)


def reduce_contrast(values: np.ndarray, contrast: float) -> np.ndarray:
    """Move all values of an image towards grey.

    Args:
        values: uint8, any shape.
        contrast: The share that is kept of each difference from grey, 0..1.

    Returns:
        uint8 of the same shape.

    Example:
        >>> reduce_contrast(np.array([0, 128, 228], np.uint8), 0.5).tolist()
        [64, 128, 178]
    """
    difference = values.astype(np.float64) - _GREY
    reduced = _GREY + contrast * difference
    # Halves are rounded up; `round` would round them to the even neighbour.
    return np.floor(reduced + 0.5).astype(np.uint8)


def panels(rung: Rung, pixels: PixelOutputs) -> Iterator[Box]:
    """Yield the grey panel before each target.

    A panel covers the target's box from its left edge, up to the column at which the share of the
    target's visible pixels under it is closest to the magnitude.

    Args:
        rung: A step of a ladder of occlusion.
        pixels: What the pixels of the scene show.
    """
    for target in rung.targets:
        left, top, right, bottom = pixels.boxes[target].amodal_box
        shows_target = pixels.mask[:, left:right] == target + 1
        n_in_columns = shows_target.sum(axis=0)
        # n_covered[width]: the target's pixels under a panel of so many columns.
        n_covered = np.concatenate(([0], np.cumsum(n_in_columns)))
        n_to_cover = rung.magnitude * n_covered[-1]
        width = int(np.abs(n_covered - n_to_cover).argmin())
        if width:
            yield (left, top, left + width, bottom)


def with_panels(pixels: PixelOutputs, scene: Scene) -> PixelOutputs:
    """Count the pixels of objects that panels hide as hidden.

    Args:
        pixels: What the pixels of the scene show, without panels.
        scene: The scene.

    Returns:
        The outputs with smaller `visible_pixels` and `visible_fraction`; masks and all else do not
        change. The same outputs, unless the scene is a step of a ladder of occlusion.
    """
    if scene.rung is None or scene.rung.factor != OCCLUSION:
        return pixels
    # Blender renders no panels, so what they hide is removed from a copy of the mask.
    mask = pixels.mask.copy()
    for left, top, right, bottom in panels(scene.rung, pixels):
        mask[top:bottom, left:right] = 0

    boxes = []
    for box in pixels.boxes:
        n_visible = int((mask == box.index + 1).sum())
        remaining = 0.0
        if box.visible_pixels:
            remaining = n_visible / box.visible_pixels
        fraction = round(box.visible_fraction * remaining, 6)
        boxes.append(replace(box, visible_pixels=n_visible, visible_fraction=fraction))
    return replace(pixels, boxes=boxes)
