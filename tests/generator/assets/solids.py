"""Meshes as trimesh has them, for tests of what is stored or built."""

from collections.abc import Sequence

import numpy as np
import trimesh

from generator.assets.shapes import UnitMesh


def triangles(faces: Sequence[Sequence[int]]) -> np.ndarray:
    """The triangles [n, 3] of faces with any number of corners."""
    return np.array(
        [(face[0], face[i], face[i + 1]) for face in faces for i in range(1, len(face) - 1)]
    )


def solid(mesh: UnitMesh, merged: bool = False) -> trimesh.Trimesh:
    """A mesh as it is, or with its vertices merged again where they lie in one place."""
    return trimesh.Trimesh(mesh.vertices, triangles(mesh.faces), process=merged)
