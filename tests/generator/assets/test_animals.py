"""Built-in animals: closed, symmetric meshes of unit size, which worlds recognise by their
digests."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from generator.assets.sets import BUILTIN, asset_digest, asset_mesh, asset_names
from generator.base.errors import UserError
from generator.base.registry import resource
from tests.generator.assets.solids import solid

RECORDED = Path(__file__).with_name("built_animals.json")
ANIMALS = asset_names(BUILTIN)


def mesh_sum(name: str) -> str:
    """SHA-256 of a mesh, its vertices rounded to a thousandth."""
    mesh = asset_mesh(BUILTIN, name)
    vertices = np.rint(np.array(mesh.vertices) * 1000).astype("<i4")
    return hashlib.sha256(vertices.tobytes() + np.array(mesh.faces, "<i4").tobytes()).hexdigest()


def recorded_digest(name: str) -> str:
    """The digest in the notes of an animal."""
    notes = (resource("blender_assets/animals") / f"{name}.json").read_text(encoding="utf-8")
    return str(json.loads(notes)["digest"])


@pytest.mark.parametrize("name", ANIMALS)
def test_mesh_is_closed_symmetric_and_of_unit_size(name: str) -> None:
    mesh = solid(asset_mesh(BUILTIN, name))
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume > 0
    assert mesh.body_count == 1
    assert len(mesh.faces) < 21_000
    radius, height = np.hypot(*mesh.vertices[:, :2].T).max(), mesh.vertices[:, 2].max()
    assert max(radius, height / 2) == pytest.approx(1, abs=1e-5)
    assert radius <= 1 + 1e-5
    assert height <= 2 + 1e-5
    assert mesh.vertices[:, 2].min() == pytest.approx(0, abs=1e-6)
    mirrored = mesh.vertices * [1, -1, 1]
    assert cKDTree(mesh.vertices).query(mirrored)[0].max() < 1e-4
    assert np.median(np.degrees(mesh.face_adjacency_angles)) < 10  # smooth


def test_unknown_animal_is_named_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"no mesh 'elefant'; did you mean 'elephant'\?"):
        asset_mesh(BUILTIN, "elefant")


@pytest.mark.parametrize("name", ANIMALS)
def test_a_mesh_and_its_digest_change_together(name: str) -> None:
    """Recorded worlds recognise a mesh by its digest, so another mesh needs another digest."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    assert recorded_digest(name) == recorded["digest"]
    assert mesh_sum(name) == recorded["mesh"]


def test_the_digest_of_a_world_combines_those_of_its_animals() -> None:
    """Worlds of earlier versions recorded this digest."""
    lines = f"crow {recorded_digest('crow')}\nfox {recorded_digest('fox')}\n"
    assert asset_digest(BUILTIN, ["fox", "crow"]) == hashlib.sha256(lines.encode()).hexdigest()
