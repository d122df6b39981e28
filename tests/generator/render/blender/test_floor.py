"""The floor: a plane, or a sheet that bends up into a wall."""

from typing import Any

import numpy as np

from generator.vocabulary.materials import FloorSpec, WallSpec

WALL = WallSpec(distance=10.0, direction=90.0, breadth=30.0, bend=4.0, rise=2.0, height=8.0)


def vertices(spec: dict[str, Any]) -> list[list[float]]:
    from generator.render.blender.landscape import build_floor

    mesh = build_floor(FloorSpec.model_validate(spec))
    assert len(mesh.materials) == 1
    return [list(v.co) for v in mesh.vertices]


def test_a_plane_lies_at_the_height_of_the_ground(in_blender: Any) -> None:
    plane = np.array(in_blender(vertices, FloorSpec().model_dump()))
    assert plane[:, 2].tolist() == [0] * 4
    assert np.ptp(plane, axis=0).tolist() == [100, 100, 0]


def test_a_wall_rises_where_it_is_declared(in_blender: Any) -> None:
    sheet = np.array(in_blender(vertices, FloorSpec(wall=WALL).model_dump()))
    np.testing.assert_allclose(sheet[:, 1].max(), 10, atol=1e-5)
    np.testing.assert_allclose(sheet[:, 2].max(), 10, atol=1e-5)  # rise and height
    np.testing.assert_allclose(np.ptp(sheet[:, 0]), 30, atol=1e-5)
    assert np.abs(sheet[sheet[:, 1] < 6 - 1e-4, 2]).max() < 1e-6  # flat up to the bend
    assert (np.diff(sheet[::2, 2]) >= 0).all()
