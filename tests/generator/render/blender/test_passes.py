"""Pixel outputs of a scene whose answer is known: one sphere before another on a plain floor."""

from typing import Any

import numpy as np

from generator.scene.projection import project, unproject
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary

FAMILY, SIZE = read_vocabulary("clevr"), (80, 60)
ATTRIBUTES = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}
PLACES = [(0.0, 0.0, 0.0), (0.9, 2.0, 0.0)]
SCENE = Scene(
    tuple(SceneObject("sphere", ATTRIBUTES, place, 0.0) for place in PLACES),
    Camera((0.0, -8.0, 2.0), (0.0, 0.0, 0.5), 50.0, 36.0), {}, next(iter(FAMILY.environments)),
)  # fmt: skip


def traced() -> dict[str, Any]:
    from dataclasses import asdict

    from generator.render.blender.landscape import build_floor
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.passes import trace_pixels
    from generator.render.blender.rays import RayCaster

    caster = RayCaster(FAMILY, {"sphere": build_mesh("sphere")}, lambda _: build_floor(FAMILY.floor), *SIZE)
    pixels = trace_pixels(SCENE, caster)
    return {
        "mask": pixels.mask.tolist(), "depth": pixels.depth.tolist(), "normals": pixels.normals.tolist(),
        "boxes": [asdict(each) for each in pixels.boxes],
    }  # fmt: skip


def test_mask_depth_normals_and_boxes_agree(in_blender: Any) -> None:
    found = in_blender(traced)
    mask, depth, normals = (np.array(found[name]) for name in ("mask", "depth", "normals"))
    front, behind = found["boxes"]
    assert (front["index"], front["category"], front["visible_fraction"]) == (0, "sphere", 1.0)
    assert 0.2 < behind["visible_fraction"] < 0.9
    for i, entry in enumerate((front, behind)):
        rows, columns = np.nonzero(mask == i + 1)
        assert entry["visible_pixels"] == len(rows)
        assert entry["visible_box"] == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert behind["amodal_box"][0] < behind["visible_box"][0]  # the front one hides its left side
    rows, columns = np.nonzero((mask == 0) & np.isfinite(depth))
    x, y, z = unproject(SCENE.camera, columns + 0.5, rows + 0.5, depth[rows, columns], *SIZE)
    assert np.abs(z).max() < 1e-4
    np.testing.assert_allclose(
        np.stack(project(SCENE.camera, x, y, z, *SIZE)[:2]), [columns + 0.5, rows + 0.5], atol=1e-3
    )
    np.testing.assert_allclose(np.linalg.norm(normals[np.isfinite(depth)], axis=-1), 1, atol=1e-5)
    assert normals[int(front["center"][1]), int(front["center"][0]), 2] > 0.95  # its middle faces the camera
