"""Worlds that take meshes of an asset set: looked up, recorded, and rendered again only from the
same meshes."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from generator.assets.sets import (
    asset_digest,
    asset_mesh,
    asset_names,
    asset_request,
    asset_sets,
    check_assets,
    find_mesh,
    read_asset,
    read_notes,
    set_folder,
    write_asset,
)
from generator.assets.shapes import SHAPES, UnitMesh, unit_mesh
from generator.base.errors import UserError
from generator.base.registry import resource
from generator.dataset.card import asset_sets_needed
from generator.dataset.licences import OWN
from generator.dataset.reader import Dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.render.rerender import Changes, prepare_rerender
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary, with_assets
from tests.conftest import render_arguments, succeed
from tests.generator.assets.solids import triangles

CLEVR = resource("scenes/clevr.toml").read_text(encoding="utf-8")


FAMILY = with_assets(CLEVR, "toys").replace(
    "\ncone = {", '\nfunnel = { mesh = "wedge" }\nspare = {', 1
)


def mesh_of(shape: str) -> UnitMesh:
    """A shape of the project as the triangles that a set holds."""
    vertices, faces, _ = unit_mesh(shape)
    return UnitMesh(vertices, triangles(faces).tolist())


@pytest.fixture
def toys(sets: Path) -> Path:
    """A folder of sets with the set `toys` of two meshes."""
    write_asset(
        sets / "toys", "wedge", mesh=mesh_of("cone"), notes={"licence": "CC BY-SA 3.0, A. Smith"}
    )
    write_asset(sets / "toys", "spare", mesh=mesh_of("pyramid"), notes={"licence": ""})
    return sets


def test_a_set_gives_back_what_was_stored(toys: Path) -> None:
    assert asset_sets() == ["builtin", "panoramas", "things", "toys"]
    assert asset_names("toys") == ["spare", "wedge"]
    ours, theirs = mesh_of("cone"), asset_mesh("toys", "wedge")
    assert theirs.faces == ours.faces
    assert np.abs(np.subtract(ours.vertices, theirs.vertices)).max() < 1e-6
    before = asset_digest("toys", ["wedge"])
    assert asset_digest("toys", ["wedge", "spare"]) != before
    write_asset(toys / "toys", "wedge", mesh=mesh_of("pyramid"), notes={})
    assert asset_digest("toys", ["wedge"]) != before


def test_shapes_are_found_first(toys: Path) -> None:
    write_asset(toys / "toys", "cube", mesh=mesh_of("sphere"), notes={})
    assert find_mesh("cube", "toys") == unit_mesh("cube")
    assert find_mesh("spare", "toys") == asset_mesh("toys", "spare")


def test_things_come_with_the_project(sets: Path) -> None:
    family = read_vocabulary("things")
    assert len(family.asset_meshes) == 12
    for name in family.asset_meshes:
        mesh = asset_mesh(family.assets, name)
        points = np.array(mesh.vertices)
        assert len(mesh.faces) <= 9000
        assert np.hypot(*points[:, :2].T).max() == pytest.approx(1) or points[
            :, 2
        ].max() == pytest.approx(2)
        assert points[:, 2].min() == pytest.approx(0, abs=1e-6)
    recorded = asset_request(family.asset_meshes, family.assets)
    assert set(recorded["licences"].values()) == {"CC0 1.0, from Blend Swap"}
    assert asset_sets_needed({"assets": recorded}) == []
    with pytest.raises(UserError, match="comes with the project"):
        set_folder("things")
    with pytest.raises(UserError, match="did you mean 'mug'"):
        parse_vocabulary(family.toml().replace("[objects.mug]", "[objects.mugg]"), "mine.toml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("toyz", "did you mean 'toys'?"),
        ("0ad", "gen assets install 0ad"),
        ("", "lower-case letters"),
    ],
)
def test_a_set_that_is_not_there_is_refused_with_what_makes_it(
    toys: Path, name: str, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        asset_names(name)
    assert "\n" not in caught.value.message


def test_a_mesh_that_is_not_there_is_refused(toys: Path) -> None:
    with pytest.raises(
        UserError,
        match=r"no mesh 'wedg'; did you mean 'wedge'\? Or: gen assets import FILE --name wedg --set toys",
    ):
        asset_mesh("toys", "wedg")


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'descr': '|O'"])
def test_a_damaged_mesh_is_refused(toys: Path, damage: bytes) -> None:
    (toys / "toys" / "wedge.npz").write_bytes(damage)
    with pytest.raises(UserError, match=r"wedge\.npz is damaged"):
        asset_mesh("toys", "wedge")


@pytest.mark.parametrize("key", ["", 'assets = "builtin"\n', '  assets="0ad" # mine\n'])
def test_another_set_changes_nothing_else_of_a_family(key: str) -> None:
    text = key + CLEVR
    assert tomllib.loads(with_assets(text, "toys")) == {**tomllib.loads(text), "assets": "toys"}
    assert with_assets(text, "toys").endswith(CLEVR)


def test_a_family_is_read_without_its_set_and_refused_only_when_it_is_rendered() -> None:
    vocabulary = parse_vocabulary(FAMILY, "toys.toml")
    assert vocabulary.asset_meshes == ["spare", "wedge"]
    assert all(
        mesh in SHAPES
        for name, mesh in vocabulary.meshes.items()
        if name not in ("funnel", "spare")
    )


def test_objects_of_one_family_can_come_from_several_sets(toys: Path) -> None:
    guests = '\nfunnel = { mesh = "toys/wedge" }\nguest = { mesh = "other/wedge" }\nfox = {'
    text = CLEVR.replace("\ncone = {", guests, 1)
    vocabulary = parse_vocabulary(text, "mixed.toml")
    assert vocabulary.asset_meshes == ["fox", "other/wedge", "toys/wedge"]
    job = WorldOptions(
        family=str(toys / "mixed.toml"),
        holdout="2x2",
        scenes={"train": 4, "val": 1, "seen": 1, "partial": 1, "unseen": 1},
        resolution="64x48",
    )
    (toys / "mixed.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="no asset set 'other' here"):
        prepare(job)
    write_asset(toys / "other", "wedge", mesh=mesh_of("cube"), notes={"licence": "CC0"})
    recorded = asset_request(vocabulary.asset_meshes, vocabulary.assets)
    assert recorded["licences"] == {
        "fox": OWN,
        "other/wedge": "CC0",
        "toys/wedge": "CC BY-SA 3.0, A. Smith",
    }
    assert asset_sets_needed({"assets": recorded}) == ["other", "toys"]
    assert asset_sets_needed({"assets": {**recorded, "meshes": ["fox"]}}) == []
    assert (
        find_mesh("other/wedge", "builtin")
        == asset_mesh("other", "wedge")
        != find_mesh("toys/wedge", "builtin")
    )
    assert prepare(job).planned
    check_assets(recorded)
    write_asset(toys / "other", "wedge", mesh=mesh_of("star"), notes={"licence": "CC0"})
    with pytest.raises(UserError, match="here differs from the set"):
        check_assets(recorded)
    with pytest.raises(UserError, match="'toys' has no mesh 'wedg'"):
        asset_mesh("builtin", "toys/wedg")
    with pytest.raises(UserError, match="name of an asset set"):
        asset_mesh("builtin", "../toys/wedge")


@pytest.mark.full
def test_a_world_records_its_meshes_and_is_rendered_again_from_the_same_only(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, out = tmp_path / "toys.toml", tmp_path / "world"
    family.write_text(FAMILY, encoding="utf-8")
    succeed(
        *render_arguments(
            out, "--family", family, "--scenes", "train=9,val=3,seen=3,partial=3,unseen=3"
        )
    )
    recorded = json.loads((out / "world/manifest.json").read_text())["request"]["assets"]
    assert recorded == {
        "set": "toys",
        "meshes": ["spare", "wedge"],
        "digest": asset_digest("toys", ["spare", "wedge"]),
        "licences": {"spare": "not declared", "wedge": "CC BY-SA 3.0, A. Smith"},
    }
    succeed("gen render --device cpu --workers 1 --from", out, "--out", tmp_path / "again")
    opened, look = Dataset.open(out), Changes("cpu")
    assert Dataset.open(tmp_path / "again").world.sums == opened.world.sums
    write_asset(
        toys / "toys", "wedge", mesh=mesh_of("sphere"), notes={"licence": "CC BY-SA 3.0, A. Smith"}
    )
    with pytest.raises(UserError, match="here differs from the set of the recorded scenes"):
        prepare_rerender(opened, look)
    monkeypatch.setenv("JACKALOPE_ASSETS", str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="There is no asset set 'toys' here"):
        prepare_rerender(opened, look)
    readme = (out / "README.md").read_text()
    assert "- wedge: CC BY-SA 3.0, A. Smith. Images of them are adaptations" in readme
    assert "| meshes | spare, wedge of the asset set `toys`, digest " in readme
    assert "the same meshes in the asset set `toys`" in readme


def test_a_set_for_a_family_of_shapes_is_refused(toys: Path) -> None:
    with pytest.raises(
        UserError, match="--assets toys: every mesh of the family 'clevr' is a shape"
    ):
        prepare(WorldOptions(family="clevr", holdout="3x3", resolution="64x48", assets="toys"))


def test_a_record_of_the_built_in_meshes_is_checked() -> None:
    assert asset_request([], "builtin") is None
    recorded = asset_request(["fox"], "builtin")
    assert recorded["licences"] == {"fox": OWN}
    check_assets(recorded)
    check_assets(None)
    with pytest.raises(UserError, match="use the version of Jackalope that made those scenes"):
        check_assets({**recorded, "digest": "0" * 64})


WEDGE = UnitMesh([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.5, 1.0)], [[0, 1, 2]])


@pytest.mark.parametrize(
    "mesh",
    [
        WEDGE._replace(faces=[[0, 1, 3]]),
        WEDGE._replace(faces=[[0, -1, 2]]),
        WEDGE._replace(faces=[]),
        WEDGE._replace(faces=[[0, 1]]),
        WEDGE._replace(vertices=[(0.0, 1.0)] * 3),
        WEDGE._replace(vertices=[(np.inf, 0.0, 0.0)] * 3),
    ],
)
def test_arrays_that_are_no_mesh_are_refused(tmp_path: Path, mesh: UnitMesh) -> None:
    write_asset(tmp_path, "wedge", mesh=mesh, notes={})
    with pytest.raises(
        UserError, match=r"wedge\.npz is damaged .*; import or install 'wedge' again"
    ):
        read_asset(tmp_path, "wedge")


def test_missing_notes_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"wedge\.json is missing"):
        read_notes(tmp_path, "wedge")
