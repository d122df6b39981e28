"""world_from_camera puts the camera where it stands, looking at its target."""

from typing import Any

import numpy as np


def matrix() -> list[list[float]]:
    from generator.render.blender.stage import world_from_camera

    return [list(row) for row in world_from_camera((3.0, -4.0, 2.0), (0.0, 0.0, 2.0))]


def test_columns_are_right_up_backward_and_the_position(in_blender: Any) -> None:
    found = np.array(in_blender(matrix))
    np.testing.assert_allclose(found[:3, 3], (3, -4, 2))
    np.testing.assert_allclose(found[:3, :3], np.array([[0.8, 0.6, 0], [0, 0, 1], [0.6, -0.8, 0]]).T, atol=1e-6)
    np.testing.assert_allclose(found @ [0, 0, -5, 1], [0, 0, 2, 1], atol=1e-6)
