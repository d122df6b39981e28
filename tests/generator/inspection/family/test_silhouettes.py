"""Masks of objects, against a disc."""

import numpy as np

from generator.assets.sets import find_mesh
from generator.inspection.family.silhouettes import SIDE, mask, surface_points
from generator.scene.scene import Camera


def test_the_mask_of_a_sphere_is_a_disc_without_holes() -> None:
    far = Camera((500.0, 0.0, 1.0), (0.0, 0.0, 1.0), 35.0, 32.0)
    found = mask(surface_points(find_mesh("sphere", "builtin")), 0.3, far)
    row, column = np.mgrid[:SIDE, :SIDE]
    disc = np.hypot(row - (SIDE - 1) / 2, column - (SIDE - 1) / 2) <= SIDE / 2
    assert (found != disc).mean() < 0.02
    assert found[disc & (np.hypot(row - 31.5, column - 31.5) < 29)].all()
