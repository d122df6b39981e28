"""Foreign meshes turned, centred and scaled to the place of a unit mesh."""

import numpy as np
import pytest

from generator.assets.importing import FACINGS, UPS, check_coordinates, far_away, normalise
from generator.base.errors import UserError

AHEAD = {"x": (1, 0), "-x": (-1, 0), "y": (0, 1), "-y": (0, -1)}


@pytest.mark.parametrize("facing", FACINGS)
def test_the_front_is_brought_to_x(facing: str) -> None:
    x, y = AHEAD[facing]
    nose, tail, back = (3 * x, 3 * y, 0), (-x, -y, 0), (-x, -y, 1)
    found = normalise(np.array([nose, tail, back]), facing, "z")
    np.testing.assert_allclose(found, [[1, 0, 0], [-1, 0, 0], [-1, 0, 0.5]], atol=1e-12)
    y_up = np.array([(px, pz, -py) for px, py, pz in (nose, tail, back)])
    np.testing.assert_allclose(normalise(y_up, facing, "y"), found, atol=1e-12)


@pytest.mark.parametrize("up", UPS)
def test_the_top_is_brought_up_by_a_turn(up: str) -> None:
    top = np.zeros(3)
    top["xyz".index(up[-1])] = -1 if up[0] == "-" else 1
    turn = np.array(UPS[up], float)
    np.testing.assert_array_equal(turn @ top, [0, 0, 1])
    assert np.linalg.det(turn) == 1  # a mirror would turn faces inside out
    assert np.trace(turn) >= 1 or up == "-z"  # by a quarter, or where it hangs upside down by a half
    arrow = np.array([(0, 0, 0), 2 * top, *0.2 * np.eye(3), *-0.2 * np.eye(3)])
    found = normalise(arrow, "x", up)
    np.testing.assert_allclose(found[1], [0, 0, 2], atol=1e-12)


def test_a_tall_mesh_gets_the_height_2() -> None:
    found = normalise(np.array([(5, 5, 10), (6, 5, 10), (5.5, 5, 20)]), "x", "z")
    np.testing.assert_allclose(found, [[-0.1, 0, 0], [0.1, 0, 0], [0, 0, 2]], atol=1e-12)


def test_meshes_without_a_shape_are_refused() -> None:
    with pytest.raises(UserError, match="not finite"):
        check_coordinates(np.array([(0, 0, np.nan)]))
    with pytest.raises(UserError, match="in one place"):
        check_coordinates(np.zeros((3, 3)))
    cube = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    assert far_away(cube + 50) is None
    assert far_away(cube + 500) == "it lay 501 from the origin, and was centred"
    with pytest.raises(UserError, match="single precision no longer tells"):
        far_away(cube + 1e6)
