"""The ground: flat where objects stand, hills behind, water below the ground."""

from typing import Any

import numpy as np

from generator.vocabulary.schema import read_vocabulary

PUG = read_vocabulary("pug")


def sheets(name: str) -> list[Any]:
    from generator.render.blender.terrain import Terrain

    terrain = Terrain(PUG.environments[name], 10.0)
    (ground, faces), colors = terrain.sheet()
    return [ground, faces, colors, terrain.water()[0][0], terrain.half_breadth(20.0)]


def test_the_ground_is_flat_near_the_origin_and_hilly_behind(in_blender: Any) -> None:
    ground, faces, colors, _, half = in_blender(sheets, "mountains")
    vertices = np.array(ground)
    near = np.abs(vertices[:, 1]) < 5
    assert near.sum() > 100
    assert np.abs(vertices[near, 2]).max() < 1e-9
    assert vertices[:, 2].max() > 1
    assert len(colors) == len(vertices)
    assert np.max(faces) == len(vertices) - 1
    assert half == 8 + 0.8 * 30


def test_water_lies_below_the_ground(in_blender: Any) -> None:
    name = next(name for name, each in PUG.environments.items() if each.water)
    water = np.array(in_blender(sheets, name)[3])
    assert (water[:, 2] < 0).all()
    dry = next(name for name, each in PUG.environments.items() if not each.water)
    assert in_blender(sheets, dry)[3] == []
