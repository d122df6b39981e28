"""The built-in animals: closed, symmetric meshes of unit size, and a cache that may be damaged or missing."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from generator.assets.animals import animal_names, build_animal
from generator.dataset.errors import UserError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """One cache for this module, empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "animals-cache"))


@pytest.mark.parametrize("name", animal_names())
def test_mesh_is_closed_symmetric_and_of_unit_size(name):
    vertices, normals, faces = (np.array(part) for part in build_animal(name))
    corners = vertices[faces]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    walks = np.unique(edges, axis=0)

    assert len(walks) == len(edges), "an edge is walked twice in one direction"
    assert np.array_equal(walks, np.unique(edges[:, ::-1], axis=0)), "an edge has a face on one side only"
    graph = coo_matrix((np.ones(len(edges)), edges.T), shape=(len(vertices), len(vertices)))
    assert connected_components(graph)[0] == 1
    assert np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() > 0
    assert len(faces) < 21_000

    radius, height = np.hypot(vertices[:, 0], vertices[:, 1]).max(), vertices[:, 2].max()
    assert max(radius, height / 2) == pytest.approx(1, abs=1e-5)
    assert radius <= 1 + 1e-5
    assert height <= 2 + 1e-5
    assert vertices[:, 2].min() == pytest.approx(0, abs=1e-6)
    assert cKDTree(vertices).query(vertices * [1, -1, 1])[0].max() < 1e-4

    outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(outwards, axis=1)
    along = np.einsum("ij,ij->i", outwards, normals[faces].mean(axis=1)) / area
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1, abs=1e-4)
    assert area[along > 0.7].sum() > 0.95 * area.sum()
    assert area[along < 0].sum() < 0.005 * area.sum()


def test_unknown_animal_is_named_with_a_suggestion():
    with pytest.raises(UserError, match=r"no built-in animal 'elefant'; did you mean 'elephant'\?"):
        build_animal("elefant")
