"""Degrades a rendered image: the ladders of contrast and of occlusion."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from PIL import Image

from generator.dataset.outputs import Box, PixelOutputs
from generator.scene.ladder import CONTRAST, OCCLUSION
from generator.scene.scene import Rung, Scene

# Both mid grey: the value that contrast is reduced towards (Geirhos et al. 2018, section 2.2), and
# the colour of panels.
_GREY = 128


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
    covered = values.copy()
    for left, top, right, bottom in panels(rung, pixels):
        covered[top:bottom, left:right] = _GREY
    return Image.fromarray(covered)


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
    kept = (values.astype(np.float64) - _GREY) * contrast
    # Halves are rounded up; `round` would round them to the even neighbour.
    return np.floor(kept + _GREY + 0.5).astype(np.uint8)


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
        in_columns = (pixels.mask[:, left:right] == target + 1).sum(axis=0)
        # under[c]: the target's pixels in the first c columns of its box.
        under = np.concatenate(([0], np.cumsum(in_columns)))
        width = int(np.abs(under - rung.magnitude * under[-1]).argmin())
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
    mask = pixels.mask.copy()
    for left, top, right, bottom in panels(scene.rung, pixels):
        mask[top:bottom, left:right] = 0
    boxes = []
    for box in pixels.boxes:
        visible = int((mask == box.index + 1).sum())
        share = visible / box.visible_pixels if box.visible_pixels else 0.0
        fraction = round(box.visible_fraction * share, 6)
        boxes.append(replace(box, visible_pixels=visible, visible_fraction=fraction))
    return replace(pixels, boxes=boxes)
