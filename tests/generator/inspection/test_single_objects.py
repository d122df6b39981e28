"""Scenes of one object: near, they fill the view; else they are seen as in scenes of the family."""

import numpy as np

from generator.inspection.outlines import outlines
from generator.inspection.swatches import rendered, single_scene
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")
LARGE = {"color": "red", "material": "rubber", "size": "large"}


def test_the_view_is_close_or_that_of_the_family() -> None:
    close, far = (single_scene(CLEVR, "cube", LARGE, "studio", close=close) for close in (True, False))
    assert far.camera.lens == CLEVR.camera.lens
    assert far.camera.target == CLEVR.camera.target
    near_pixels, far_pixels = (outlines(each, CLEVR, (128, 128))[0].whole.sum() for each in (close, far))
    assert near_pixels > 2 * far_pixels


def test_images_come_in_the_order_of_their_scenes() -> None:
    scenes = [single_scene(CLEVR, "cube", {**LARGE, "color": color}, "studio") for color in ("red", "green", "blue")]
    middles = [np.asarray(image)[40, 32] for image in rendered(scenes, CLEVR, 1, 64, "draft")]
    assert [int(middle.argmax()) for middle in middles] == [0, 1, 2]
