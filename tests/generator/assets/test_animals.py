"""Animals: closed, symmetric meshes of unit size from declarations, and a cache that may be damaged
or missing."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree

from generator.assets import animals
from generator.assets.animals import animal_digest, animal_names, build_animal
from generator.assets.importing import import_asset
from generator.assets.sculpt import FACES, Tube, field, grid_around, sculpt
from generator.assets.sets import asset_mesh
from generator.assets.skeleton import Skeleton, load_skeleton
from generator.base.errors import UserError
from generator.base.registry import resource
from tests.generator.assets.solids import solid
from tests.paths import CHECKOUT

BUILT = Path(__file__).with_name("built_animals.json")


def mesh_sum(name):
    """SHA-256 of a built mesh, its vertices rounded to a thousandth: the same on machines that
    differ in the last bits.
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
    mesh = solid(build_animal(name))
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
    assert cKDTree(mesh.vertices).query(mesh.vertices * [1, -1, 1])[0].max() < 1e-4
    assert np.median(np.degrees(mesh.face_adjacency_angles)) < 10  # smooth


def test_unknown_animal_is_named_with_a_suggestion():
    with pytest.raises(UserError, match=r"no built-in animal 'elefant'; did you mean 'elephant'\?"):
        build_animal("elefant")


@pytest.mark.parametrize("name", animal_names())
def test_a_change_of_the_built_meshes_raises_the_version_of_the_builder(name):
    recorded = json.loads(BUILT.read_text())[name]

    assert animal_digest(name) == recorded["digest"], (
        f"The declaration of {name} or BUILDER_VERSION changed: run `python -m "
        f"tests.generator.assets.test_animals` to "
        "record the meshes that are built now."
    )
    assert mesh_sum(name) == recorded["mesh"], (
        f"The code builds another mesh of {name} than before: raise BUILDER_VERSION in "
        f"generator/assets/animals.py, so "
        "that recorded worlds are not rendered again from other meshes; then run `python -m "
        "tests.generator.assets.test_animals`."
    )


def test_the_digest_follows_the_declaration_and_the_version_and_not_its_layout(
    tmp_path, monkeypatch
):
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

    assert done.path.exists()
    stored, built = asset_mesh("mine", "mouse"), build_animal(path)
    assert stored.faces == built.faces
    assert np.abs(np.array(stored.vertices) - built.vertices).max() < 1e-6


if __name__ == "__main__":
    built = {
        name: {"digest": animal_digest(name), "mesh": mesh_sum(name)} for name in animal_names()
    }
    BUILT.write_text(json.dumps(built, indent=2) + "\n")


def skeleton(*joints: list[float]) -> Skeleton:
    return Skeleton.model_validate({"blend": 0.1, "parts": {"body": {"joints": list(joints)}}})


def test_a_ball_is_the_sphere_that_its_joint_declares() -> None:
    vertices, faces = sculpt(skeleton([7.0, 0, 30.0, 4.0]))
    ball = trimesh.Trimesh(vertices, faces, process=False)
    assert ball.volume == pytest.approx(4 / 3 * np.pi, rel=0.005)
    assert np.abs(np.linalg.norm(vertices - [0, 0, 1], axis=1) - 1).max() < 0.002
    assert 0.8 * FACES < len(faces) < 1.2 * FACES


def test_what_reaches_below_the_ground_is_cut_off() -> None:
    vertices, _ = sculpt(skeleton([0.0, 0, 0.0, 1.0]))
    assert vertices[:, 2].min() == 0
    assert vertices[:, 2].max() == pytest.approx(1, abs=0.01)  # half a ball of radius 1
    with pytest.raises(UserError, match="raise its joints"):
        sculpt(skeleton([0.0, 0, -3.0, 1.0]))


ONE = Tube(np.array([[0.0, 0.0, 2.0]]), np.array([[1.0, 1.0]]), np.array([0.0, 1.0, 0.0]), 0.1)
ROD = Tube(
    np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]),
    np.full((2, 2), 0.5),
    np.array([0.0, 1.0, 0.0]),
    0.1,
)


@pytest.mark.parametrize(("tube", "half"), [(ONE, 0.0), (ROD, 1.0)])
def test_a_ball_and_a_rod_have_the_distances_of_their_skins(tube: Tube, half: float) -> None:
    """A rod is all that is near to a segment of that half length."""
    step = 0.1
    grid = grid_around([tube], step)
    found = field([tube], grid)
    x, y, z = (grid.low[i] + step * np.arange(n) for i, n in enumerate(grid.shape))
    aside = np.maximum(np.abs(x) - half, 0)[:, None, None]
    exact = np.sqrt(aside**2 + y[:, None] ** 2 + (z - 2) ** 2) - tube.radii[0, 0]
    near = np.abs(exact) < step
    assert near.sum() > 100
    np.testing.assert_allclose(found[near], exact[near], atol=1e-9)


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        (
            "blend = 0.1\n[parts.leg]\njoints = [[0, 0, 1, 1]]\nfurry = true\n",
            "unknown key 'parts.leg.furry'",
        ),
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
