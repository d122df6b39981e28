"""A scene and its turn twin as they are rendered: masks and depth show the same objects at the same
places of the world, from both sides."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.inspection.object_masks import object_masks
from generator.render.farm import Farm
from generator.scene.planned import Planned
from generator.scene.projection import unproject
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary
from tests.generator.render.drafts import draft_setup

SIDE = 96
PUG = read_vocabulary("pug").painted_with("color").seen_from(4, (180.0,))


@pytest.mark.parametrize(
    ("environment", "turn"),
    [pytest.param("city", 180.0, marks=pytest.mark.full), ("mountains", 90.0)],
)
def test_masks_and_depth_agree_with_the_world_from_both_sides(
    tmp_path: Path, environment: str, turn: float
) -> None:
    objects = (
        ("hippopotamus", {"color": "red", "coat": "matt"}),
        ("elephant", {"color": "blue", "coat": "matt"}),
    )
    first = Planned("0", "", objects, (0, 1), environment, azimuth=90.0, turn=turn)
    jobs = [first, first._replace(scene_id="1", twin_of="0")]
    setup = draft_setup(PUG, tmp_path, SIDE, SIDE, ("masks", "depth"))
    answers = sorted(
        Farm(1).render(jobs, len(jobs), setup), key=lambda answer: answer["scene"]["scene_id"]
    )
    scenes = [Scene.from_json(answer["scene"]["scene"]) for answer in answers]
    assert scenes[0].objects == scenes[1].objects

    images = []
    for job, scene in zip(jobs, scenes, strict=True):
        images.append(np.array(Image.open(tmp_path / "images" / f"{job.scene_id}.png"), float))
        mask = np.array(Image.open(tmp_path / "masks" / f"{job.scene_id}.png"))
        depth = np.load(tmp_path / "depth" / f"{job.scene_id}.npy")
        masks = object_masks(scene, PUG, (SIDE, SIDE))
        for i, obj in enumerate(scene.objects):
            rows, columns = np.nonzero(mask == i + 1)
            overlap = (masks[i].visible & (mask == i + 1)).sum()
            assert overlap / (masks[i].visible | (mask == i + 1)).sum() > 0.9
            x, y, z = unproject(
                scene.camera, columns + 0.5, rows + 0.5, depth[rows, columns], SIDE, SIDE
            )
            reach = PUG.reach(obj.category, obj.attributes)
            assert np.hypot(x - obj.position[0], y - obj.position[1]).max() < reach + 0.01
            assert z.min() > -0.01
            # It stands on the ground.
            assert z.min() < 0.15 * reach
    assert np.abs(images[0] - images[1]).mean() > 5
