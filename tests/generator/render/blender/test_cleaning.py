"""Cleaning: doubles merged, loose vertices dropped, faces turned outward, triangles limited."""

from typing import Any

import numpy as np

CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [(s[0], s[i], s[i + 1]) for s in SIDES for i in (1, 2)]


def cleaned(vertices: list[Any], faces: list[Any], most: int) -> list[Any]:
    from generator.render.blender import cleaning

    limit, cleaning.MAX_TRIANGLES = cleaning.MAX_TRIANGLES, most
    try:
        arrays, repairs = cleaning.clean(np.array(vertices, float), np.array(faces))
    finally:
        cleaning.MAX_TRIANGLES = limit
    return [{name: array.tolist() for name, array in arrays.items()}, repairs]


def volume(arrays: dict[str, Any]) -> float:
    a, b, c = np.moveaxis(np.array(arrays["vertices"])[np.array(arrays["faces"])], 1, 0)
    return float(np.einsum("nx,nx->", a, np.cross(b, c)) / 6)


def test_a_cube_of_loose_inward_triangles_becomes_a_cube(in_blender: Any) -> None:
    vertices = [CUBE[corner] for face in TRIANGLES for corner in reversed(face)] + [(9, 9, 9)]
    arrays, repairs = in_blender(cleaned, vertices, [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(12)], 100)
    assert repairs == []
    assert (len(arrays["faces"]), len(arrays["vertices"])) == (12, 24)  # three normals at each corner
    assert abs(volume(arrays) - 1) < 1e-6
    normals = np.array(arrays["normals"])
    assert (np.abs(normals).max(axis=1) > 0.99).all()


def test_too_many_triangles_are_decimated_and_it_is_said(in_blender: Any) -> None:
    n = 12
    grid = [(i / n, j / n, 0.3 * np.sin(i) * np.cos(j)) for i in range(n + 1) for j in range(n + 1)]
    corners = [i * (n + 1) + j for i in range(n) for j in range(n)]
    faces = [t for k in corners for t in ((k, k + n + 1, k + 1), (k + 1, k + n + 1, k + n + 2))]
    arrays, repairs = in_blender(cleaned, grid, faces, 150)
    assert repairs[0] == "its 288 triangles were decimated to 150"
    assert repairs[1].startswith("150 of its faces were thin sheets")
    assert len(arrays["faces"]) > 300  # front, back and rim
