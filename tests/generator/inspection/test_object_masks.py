"""Outlines are those that Blender's rays find, and nearer objects hide farther ones."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from generator.dataset.reader import Dataset
from generator.inspection.object_masks import object_mask, object_masks
from generator.scene.scene import Scene, SceneObject
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from tests.conftest import FEWEST, render_into
from tests.generator.inspection.scenes import CLEVR, SIZE, scene, thing


@pytest.mark.full
@pytest.mark.parametrize("family", ["clevr", "pug"])
def test_outlines_are_the_masks_of_the_renderer(tmp_path: Path, family: str) -> None:
    # An object of a hundred pixels misses 2% by a pixel or two of its rim; these have several
    # hundred.
    render_into(
        tmp_path / "d", *FEWEST, "--resolution", "192x192", "--with", "masks", "--family", family
    )
    world = Dataset.open(tmp_path / "d").world
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    for row in world.scenes.to_pylist():
        mask = world.mask(row["scene_id"])
        masks = object_masks(
            Scene.from_json(row["scene"]), vocabulary, (mask.shape[1], mask.shape[0])
        )
        for i, drawn_mask in enumerate(masks):
            ours, theirs = drawn_mask.visible, mask == i + 1
            near_ours, near_theirs = (
                ndimage.binary_dilation(part, np.ones((3, 3))) for part in (ours, theirs)
            )
            assert (ours & theirs).sum() / theirs.sum() > 0.98
            assert not (theirs & ~near_ours).any()
            assert (ours & ~near_theirs).sum() <= 0.02 * theirs.sum()


def test_a_nearer_object_hides_a_farther_one() -> None:
    eye = CLEVR.camera.position
    near = thing("cube", "red", eye[0] / 5, eye[1] / 5)
    far, near_seen = object_masks(scene(thing("sphere", "blue", 0.0), near), CLEVR, SIZE)
    assert near_seen.whole.sum() == near_seen.visible.sum()
    assert not (far.visible & near_seen.visible).any()
    assert 0 < far.visible.sum() < far.whole.sum()


def test_an_object_behind_the_camera_cannot_be_drawn() -> None:
    eye = CLEVR.camera.position
    of = scene(thing("cube", "red", 2 * eye[0], 2 * eye[1], 2 * eye[2]))
    with pytest.raises(ValueError, match="not in front of the camera"):
        object_mask(of.objects[0], of.camera, CLEVR, SIZE)


def test_small_triangles_fill_as_large_ones_do() -> None:
    pug = read_vocabulary("pug").painted_with("color")
    fox = SceneObject("fox", {"color": "red", "coat": "matt"}, (0.0, 0.0, 0.0), 0.0)
    of = scene(fox, vocabulary=pug)
    coarse = object_mask(fox, of.camera, pug, (80, 60))
    fine = object_mask(fox, of.camera, pug, (640, 480))
    shares = fine.reshape(60, 8, 80, 8).mean((1, 3))
    assert coarse[shares > 0.9].mean() > 0.98
    assert not coarse[shares == 0].sum() > 0.02 * coarse.sum()
