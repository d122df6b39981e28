"""Degraded images: contrast is reduced towards grey, and panels hide the share that they should."""

import numpy as np
import pytest
from PIL import Image

from generator.dataset.outputs import ObjectBoxes, PixelOutputs
from generator.render.degradation import degraded_image, panels, reduce_contrast, with_panels
from generator.scene.scene import Camera, Rung, Scene


def two_squares() -> PixelOutputs:
    """Two squares of 10 pixels beside each other."""
    mask = np.zeros((20, 40), np.uint8)
    mask[5:15, 5:15] = 1
    mask[5:15, 20:30] = 2
    boxes = [
        ObjectBoxes(i, "cube", (0.0, 0.0), (left, 5, left + 10, 15), None, 100, 1.0)
        for i, left in enumerate((5, 20))
    ]
    return PixelOutputs(mask, np.zeros(mask.shape), np.zeros((*mask.shape, 3)), boxes)


def scene_of(factor: str, magnitude: float) -> Scene:
    camera = Camera((0.0, -1.0, 1.0), (0.0, 0.0, 0.0), 35.0, 32.0)
    return Scene((), camera, {}, "studio", rung=Rung(factor, magnitude, (0, 1)))


@pytest.mark.parametrize("share", [0.0, 0.1667, 0.3, 0.5, 0.8333])
def test_panels_hide_the_share_of_each_target(share: float) -> None:
    pixels, scene = two_squares(), scene_of("occlusion", share)
    image = degraded_image(Image.new("RGB", (40, 20), "red"), scene, pixels)
    is_grey = (np.asarray(image) == 128).all(axis=2)
    for number, box in enumerate(with_panels(pixels, scene).boxes, 1):
        hidden = is_grey[pixels.mask == number].mean()
        assert hidden == pytest.approx(share, abs=0.05)
        assert box.visible_fraction == pytest.approx(1 - hidden)
        assert box.visible_pixels == 100 - round(100 * hidden)
    # Panels stay within the boxes.
    assert not is_grey[:, 16:20].any()


def test_a_panel_counts_pixels_not_columns() -> None:
    pixels = two_squares()
    pixels.mask[5:15, 5:10] = 0
    (left, _, right, _), _ = panels(Rung("occlusion", 0.4, (0, 1)), pixels)
    assert (left, right) == (5, 12)


def test_contrast_keeps_grey_and_the_share_of_each_difference() -> None:
    values = np.arange(256, dtype=np.uint8)
    for contrast in (1.0, 0.5, 0.125):
        reduced = reduce_contrast(values, contrast).astype(float)
        assert np.abs(reduced - (128 + contrast * (values - 128.0))).max() <= 0.5
    assert (reduce_contrast(values, 1.0) == values).all()


@pytest.mark.parametrize("factor", ["distractors", "size", "interference", "caption-length"])
def test_other_factors_leave_the_image_alone(factor: str) -> None:
    image = Image.new("RGB", (40, 20), "red")
    assert degraded_image(image, scene_of(factor, 2.0), two_squares()) is image
