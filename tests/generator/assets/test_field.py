"""The distance field of tubes, against distances that are known."""

import numpy as np

from generator.assets.sculpt import Tube, bounds, distances, grid_around, sample

ONE = Tube(np.array([[0.0, 0.0, 2.0]]), np.array([[1.0, 1.0]]), np.array([0.0, 1.0, 0.0]), 0.1)
ROD = Tube(np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]), np.full((2, 2), 0.5), np.array([0.0, 1.0, 0.0]), 0.1)


def test_a_ball_and_a_rod_have_the_distances_of_their_skins() -> None:
    points = np.array([[1.1, 0.0, 2.0], [0.0, 0.9, 2.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(distances([ONE], points, 0.1), [0.1, -0.1, 0.0], atol=1e-9)
    points = np.array([[0.3, 0.6, 2.0], [1.4, 0.0, 2.0], [-0.9, 0.0, 2.5]])
    np.testing.assert_allclose(distances([ROD], points, 0.1), [0.1, -0.1, 0.0], atol=1e-9)


def test_the_grid_holds_the_field_at_its_points() -> None:
    grid = grid_around([ONE, ROD], 0.2)
    low, high = bounds([ONE, ROD])
    assert (grid.axis(0)[[0, -1]] > [-9, high[0]]).all()
    assert grid.axis(0)[0] < low[0]
    field = sample([ONE, ROD], grid)
    assert field.shape == grid.shape
    x, y, z = np.meshgrid(*(grid.axis(k) for k in range(3)), indexing="ij")
    near = np.abs(field) < 0.2
    points = np.stack([x[near], y[near], z[near]], axis=-1)
    np.testing.assert_allclose(distances([ONE, ROD], points, 0.2), field[near], atol=1e-9)


def test_joints_are_rounded_within_their_blend() -> None:
    crease = np.array([[0.75**0.5, 0.0, 2.5]])  # where the skin of the rod meets that of the ball
    sharp = [tube._replace(blend=0.0) for tube in (ONE, ROD)]
    assert abs(distances(sharp, crease, 0.1)[0]) < 1e-9
    np.testing.assert_allclose(distances([ONE, ROD], crease, 0.1), -0.1 / 4, atol=1e-9)
