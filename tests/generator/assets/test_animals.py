"""Animals: closed, symmetric meshes of unit size from declarations, and a cache that may be damaged or missing."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from generator.assets import animals
from generator.assets.animals import animal_digest, animal_names, build_animal
from generator.assets.importing import import_asset
from generator.assets.sculpt import FACES, Tube, distances, sculpt
from generator.assets.sets import asset_mesh
from generator.assets.skeleton import Skeleton, load_skeleton
from generator.base.errors import UserError
from generator.base.registry import resource
from tests.paths import CHECKOUT

BUILT = Path(__file__).with_name("built_animals.json")


def mesh_sum(name):
    """SHA-256 of a built mesh, its vertices rounded to a thousandth: the same on machines that differ in the last
    bits.
    """
    mesh = build_animal(name)
    vertices = np.rint(np.array(mesh.vertices) * 1000).astype("<i4")
    return hashlib.sha256(vertices.tobytes() + np.array(mesh.faces, "<i4").tobytes()).hexdigest()


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


@pytest.mark.parametrize("name", animal_names())
def test_a_change_of_the_built_meshes_raises_the_version_of_the_builder(name):
    recorded = json.loads(BUILT.read_text())[name]

    assert animal_digest(name) == recorded["digest"], (
        f"The declaration of {name} or BUILDER_VERSION changed: run `python -m tests.generator.assets.test_animals` to "
        "record "
        "the meshes that are built now."
    )
    assert mesh_sum(name) == recorded["mesh"], (
        f"The code builds another mesh of {name} than before: raise BUILDER_VERSION in generator/assets/animals.py, so "
        "that "
        "recorded worlds are not rendered again from other meshes; then run `python -m "
        "tests.generator.assets.test_animals`."
    )


def test_the_digest_follows_the_declaration_and_the_version_and_not_its_layout(tmp_path, monkeypatch):
    text = (resource("blender_assets/animals") / "fox.toml").read_text(encoding="utf-8")
    (tmp_path / "fox.toml").write_text("# a comment\n" + text)
    monkeypatch.setattr(animals, "_declaration", lambda name: tmp_path / f"{name}.toml")
    fox = animal_digest("fox")
    monkeypatch.undo()
    assert fox == animal_digest("fox")
    assert len({animal_digest(name) for name in animal_names()}) == len(animal_names())
    monkeypatch.setattr(animals, "BUILDER_VERSION", animals.BUILDER_VERSION + 1)
    assert animal_digest("fox") != fox


def test_damaged_or_unwritable_cache_costs_only_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = build_animal.__wrapped__("crow")
    (kept,) = (tmp_path / "jackalope" / "animals").iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    rebuilt = build_animal.__wrapped__("crow")
    read = build_animal.__wrapped__("crow")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert built == rebuilt == read == build_animal.__wrapped__("crow")


def test_animal_of_a_user_is_imported_as_any_mesh(tmp_path, sets):
    text = (CHECKOUT / "docs/animals.md").read_text(encoding="utf-8")
    path = tmp_path / "mouse.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])

    done = import_asset(path, "mouse", "mine", "CC0", "-y", "z", replace=False)

    assert done.picture.exists()
    stored, built = asset_mesh("mine", "mouse"), build_animal(path)
    assert stored.faces == built.faces
    assert np.abs(np.array(stored.vertices) - built.vertices).max() < 1e-6


if __name__ == "__main__":
    built = {name: {"digest": animal_digest(name), "mesh": mesh_sum(name)} for name in animal_names()}
    BUILT.write_text(json.dumps(built, indent=2) + "\n")


def skeleton(*joints: list[float]) -> Skeleton:
    return Skeleton.model_validate({"blend": 0.1, "parts": {"body": {"joints": list(joints)}}})


def test_a_ball_is_the_sphere_that_its_joint_declares() -> None:
    vertices, normals, faces = sculpt(skeleton([7.0, 0, 30.0, 4.0]))
    corners = vertices[faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi, rel=0.005)
    assert np.abs(np.linalg.norm(vertices - [0, 0, 1], axis=1) - 1).max() < 0.002
    assert np.abs(normals - (vertices - [0, 0, 1])).max() < 0.02
    assert 0.8 * FACES < len(faces) < 1.2 * FACES


def test_what_reaches_below_the_ground_is_cut_off() -> None:
    vertices, _, _ = sculpt(skeleton([0.0, 0, 0.0, 1.0]))
    assert vertices[:, 2].min() == 0
    assert vertices[:, 2].max() == pytest.approx(1, abs=0.01)  # half a ball of radius 1
    with pytest.raises(UserError, match="raise its joints"):
        sculpt(skeleton([0.0, 0, -3.0, 1.0]))


ONE = Tube(np.array([[0.0, 0.0, 2.0]]), np.array([[1.0, 1.0]]), np.array([0.0, 1.0, 0.0]), 0.1)


ROD = Tube(np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]), np.full((2, 2), 0.5), np.array([0.0, 1.0, 0.0]), 0.1)


def test_a_ball_and_a_rod_have_the_distances_of_their_skins() -> None:
    points = np.array([[1.1, 0.0, 2.0], [0.0, 0.9, 2.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(distances([ONE], points, 0.1), [0.1, -0.1, 0.0], atol=1e-9)
    points = np.array([[0.3, 0.6, 2.0], [1.4, 0.0, 2.0], [-0.9, 0.0, 2.5]])
    np.testing.assert_allclose(distances([ROD], points, 0.1), [0.1, -0.1, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ("blend = 0.1\n[parts.leg]\njoints = [[0, 0, 1, 1]]\nfurry = true\n", "unknown key 'parts.leg.furry'"),
        ("blend = 0.1\n[parts]\n", "parts: "),
        ("blend = 0.1\n[parts.leg]\njoints = [[0, 0, 1, -1]]\n", "parts.leg.joints.0"),
        ("blend = \n", "not valid TOML"),
    ],
)
def test_wrong_declaration_is_refused_in_one_sentence(tmp_path, declaration, said):
    path = tmp_path / "wrong.toml"
    path.write_text(declaration)

    with pytest.raises(UserError) as refused:
        load_skeleton(path)

    assert said in refused.value.message
    assert refused.value.message.count("\n") == 0
