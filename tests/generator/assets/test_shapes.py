"""The shapes: closed, of unit size, with unit normals that point outward."""

import numpy as np
import pytest

from generator.assets.shapes import HALF_WIDTH, SHAPES, reach, unit_mesh
from tests.generator.assets.solids import solid


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_closed_and_of_unit_size_and_faces_and_normals_point_outward(shape: str) -> None:
    mesh = unit_mesh(shape)
    vertices, normals = np.array(mesh.vertices), np.array(mesh.normals)
    closed = solid(mesh)
    assert closed.is_watertight
    assert closed.is_winding_consistent
    assert closed.volume > 0.05
    assert solid(mesh._replace(vertices=vertices + 1e-3 * normals)).volume > closed.volume
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    radius, height = np.hypot(vertices[:, 0], vertices[:, 1]).max(), vertices[:, 2].max()
    assert vertices[:, 2].min() == 0
    assert radius == pytest.approx(reach(shape)) or radius < reach(shape)
    if shape in HALF_WIDTH:
        assert vertices[:, 0].max() == pytest.approx(HALF_WIDTH[shape])
    else:
        assert max(radius, height / 2) == pytest.approx(1)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        ("sphere", 4 / 3 * np.pi),
        ("cylinder", 1.7 * np.pi),
        ("torus", 2 * np.pi**2 * 0.77 * 0.23**2),
    ],
)
def test_round_shapes_have_the_volume_of_what_they_approach(shape: str, volume: float) -> None:
    assert solid(unit_mesh(shape)).volume == pytest.approx(volume, rel=0.01)


def test_the_sphere_and_clevr_s_cube_have_their_published_sizes() -> None:
    sphere = np.array(unit_mesh("sphere").vertices)
    np.testing.assert_allclose(np.linalg.norm(sphere - [0, 0, 1], axis=1), 1, atol=1e-9)
    cube = np.array(unit_mesh("clevr-cube").vertices)
    np.testing.assert_allclose([cube.min(0), cube.max(0)], [[-1, -1, 0], [1, 1, 2]], atol=1e-9)
    with pytest.raises(KeyError):
        unit_mesh("cubes")
