"""Unit meshes as Blender's: with the vertices and normals that were built."""

from typing import Any

import numpy as np
import pytest

from generator.assets.shapes import unit_mesh


def built(name: str) -> list[Any]:
    from generator.render.blender.meshes import build_mesh

    mesh = build_mesh(name)
    corners = [[loop.vertex_index, *mesh.corner_normals[loop.index].vector] for loop in mesh.loops]
    return [[list(v.co) for v in mesh.vertices], corners, len(mesh.polygons), len(mesh.materials)]


@pytest.mark.parametrize("name", ["cone", "pyramid"])
def test_vertices_and_normals_are_those_of_the_unit_mesh(in_blender: Any, name: str) -> None:
    vertices, corners, faces, materials = in_blender(built, name)
    mesh = unit_mesh(name)
    np.testing.assert_allclose(vertices, mesh.vertices, atol=1e-6)
    normals = np.array([mesh.normals[int(vertex)] for vertex, *_ in corners])
    np.testing.assert_allclose([normal for _, *normal in corners], normals, atol=2e-3)
    assert (faces, materials) == (len(mesh.faces), 0)
