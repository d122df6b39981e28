"""The turntable: eight different views of a mesh, none of them red."""

from typing import Any

import numpy as np


def views(name: str) -> list[Any]:
    from generator.render.blender.asset_worker import Turntable

    return [np.asarray(view).tolist() for view in Turntable(24).views(name, "builtin")]


def test_eight_views_differ_and_show_no_inside(in_blender: Any) -> None:
    found = np.array(in_blender(views, "arch"), int)
    assert found.shape == (8, 24, 24, 3)
    assert all(np.abs(found[i] - found[i - 1]).max() > 20 for i in range(1, 8))
    red, green = found[..., 0], found[..., 1]
    assert (red - green).max() < 120
