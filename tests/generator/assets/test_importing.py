"""Files of users, made here by hand or by Blender, taken into a set; what cannot be shown is
refused and named."""

import json
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from generator.assets import importing
from generator.assets.importing import DIRECTIONS, cleaned, import_asset
from generator.assets.sets import asset_mesh, asset_names
from generator.base.errors import UserError
from generator.render.blender.mesh_reader import read_file
from tests.conftest import refuse, succeed
from tests.generator.assets.solids import solid, triangles
from tests.glb import glb, triangle
from tests.paths import CHECKOUT

pytestmark = pytest.mark.usefixtures("sets")

# A wedge, 4 long, 2 wide and 2 high, away from the origin and looking along -y
WEDGE = [(-1, -3, 0), (1, -3, 0), (1, 1, 0), (-1, 1, 0), (-1, 1, 2), (1, 1, 2)]
WEDGE_FACES = [(3, 2, 1, 0), (0, 1, 5, 4), (2, 3, 4, 5), (0, 4, 3), (1, 2, 5)]
CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def make_files(folder: str) -> None:
    """Write the wedge in every format, with a text and a driver as scripts in the .blend."""
    import bpy

    out = Path(folder)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("wedge")
    mesh.from_pydata(WEDGE, [], WEDGE_FACES)
    wedge = bpy.data.objects.new("wedge", mesh)
    wedge.location = (5, 6, 7)
    bpy.context.scene.collection.objects.link(wedge)
    bpy.context.view_layer.update()
    bpy.ops.export_scene.gltf(filepath=str(out / "wedge.glb"))
    bpy.ops.export_scene.gltf(filepath=str(out / "wedge.gltf"), export_format="GLTF_SEPARATE")
    bpy.ops.export_scene.fbx(filepath=str(out / "wedge.fbx"))
    bpy.ops.wm.obj_export(filepath=str(out / "wedge.obj"))
    bpy.ops.wm.ply_export(filepath=str(out / "wedge.ply"))
    bpy.ops.wm.stl_export(filepath=str(out / "wedge.stl"))
    hidden = bpy.data.objects.new("hidden", mesh)
    hidden.hide_render = True
    bpy.context.scene.collection.objects.link(hidden)
    text = bpy.data.texts.new("startup.py")
    text.write(f"open({str(out / 'text ran')!r}, 'w')")
    text.use_module = True
    driver = wedge.driver_add("location", 0).driver
    ran = str(out / "driver ran")
    driver.type, driver.expression = "SCRIPTED", f"__import__('pathlib').Path({ran!r}).touch() or 5"
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "wedge.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "nothing.blend"))


@pytest.fixture(scope="module")
def files(in_blender: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    in_blender(make_files, str(folder))
    return folder


def read(path: str) -> Any:
    """The mesh of a file, or why it is refused."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            vertices, faces, _ = read_file(Path(path), Path(scratch))
        except UserError as error:
            return error.message
    return [vertices.tolist(), faces.tolist()]


def obj(path: Path, vertices: Any, faces: list) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [
        f"f {' '.join(str(i + 1) for i in face)}" for face in faces
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_formats_are_those_of_the_documentation() -> None:
    page = (CHECKOUT / "docs/assets.md").read_text(encoding="utf-8")
    formats = page.partition("all meshes of a file (")[2].partition(")")[0]
    assert re.findall(r"`(\.\w+)`", formats) == list(importing.MESHES)


@pytest.mark.parametrize("suffix", importing.MESHES)
def test_every_format_gives_the_same_wedge(in_blender: Any, files: Path, suffix: str) -> None:
    facing, up = ("z", "y") if suffix in (".obj", ".gltf", ".glb") else ("-y", "z")
    vertices, faces = map(np.array, in_blender(read, str(files / f"wedge{suffix}")))
    mesh, _ = cleaned(vertices, faces, facing=facing, up=up)
    wedge = solid(mesh, merged=True)
    unit = np.hypot(2, 1)  # its footprint's radius
    assert wedge.bounds == pytest.approx(np.array([(-2, -1, 0), (2, 1, 2)]) / unit, abs=1e-5)
    assert (
        wedge.vertices[wedge.vertices[:, 2] > 0.1, 0].max() < 0
    )  # the edge of the wedge points along +x
    assert (len(wedge.faces), wedge.is_watertight) == (8, True)
    assert wedge.volume == pytest.approx(8 / unit**3, rel=1e-4)
    assert not list(files.glob("*ran"))  # the scripts of the .blend


@pytest.mark.parametrize("suffix", importing.MESHES)
def test_a_file_that_is_damaged_or_something_else_is_refused(
    in_blender: Any, files: Path, tmp_path: Path, suffix: str
) -> None:
    whole = (files / f"wedge{suffix}").read_bytes()
    for data in (
        b"\x00\xff" * 400,
        b"hello\n",
        *([] if suffix in (".obj", ".stl") else [whole[: len(whole) // 2]]),
    ):
        (tmp_path / f"bad{suffix}").write_bytes(data)
        message = in_blender(read, str(tmp_path / f"bad{suffix}"))
        assert message.startswith(("it cannot be read as", "it has no faces"))
        assert "\n" not in message


def test_files_without_faces_are_refused(in_blender: Any, files: Path, tmp_path: Path) -> None:
    for path in (files / "nothing.blend", obj(tmp_path / "points.obj", CUBE, [])):
        assert in_blender(read, str(path)).startswith("it has no faces")


@pytest.mark.parametrize("facing", DIRECTIONS)
@pytest.mark.parametrize("up", DIRECTIONS)
def test_the_mesh_is_turned_upright_and_to_face_x(facing: str, up: str) -> None:
    """A pyramid with its top along `up` and a longer base along `facing`."""
    if facing[-1] == up[-1]:
        with pytest.raises(UserError, match="on one axis"):
            cleaned(CUBE, triangles(SIDES), facing=facing, up=up)
        return
    ahead, top = np.array(DIRECTIONS[facing]), np.array(DIRECTIONS[up])
    left = np.cross(top, ahead)
    base = [-ahead - left, 2 * ahead - left, 2 * ahead + left, -ahead + 1.5 * left]
    faces = [(3, 2, 1, 0), *((i, (i + 1) % 4, 4) for i in range(4))]
    pyramid = solid(
        cleaned(np.array([*base, 4 * top]), triangles(faces), facing=facing, up=up)[0], merged=True
    )
    assert pyramid.vertices[pyramid.vertices[:, 2].argmax()] == pytest.approx(
        [-1 / 4, -1 / 8, 2], abs=1e-5
    )
    assert pyramid.bounds[:, :2] == pytest.approx(np.array([(-3, -2.5), (3, 2.5)]) / 4, abs=1e-5)
    assert pyramid.vertices[:, 1].max() == pytest.approx(1.25 / 2, abs=1e-5)
    assert pyramid.volume > 0


def test_doubles_are_merged_sides_turned_and_strays_dropped() -> None:
    """A cube whose sides share no vertices, every second one inside out, with a vertex and an edge
    far away."""
    vertices = [CUBE[i] for side in SIDES for i in side] + [(50, 0, 0), (50, 9, 0)]
    faces = [tuple(range(4 * k, 4 * k + 4))[:: -1 if k % 2 else 1] for k in range(6)]
    mesh, mended = cleaned(np.array(vertices), triangles(faces), facing="x", up="z")
    cube = solid(mesh, merged=True)
    assert mended == []
    assert cube.extents == pytest.approx([2**0.5] * 3, abs=1e-5)
    assert (len(cube.faces), cube.is_watertight) == (12, True)
    assert cube.volume == pytest.approx(2**1.5, rel=1e-4)
    assert len(mesh.vertices) == 24  # edges stay sharp


def test_distant_meshes_are_centred_and_heavy_ones_decimated() -> None:
    far, _ = cleaned(CUBE + np.array((1000, 0, 0)), triangles(SIDES), facing="x", up="z")
    assert solid(far, merged=True).bounds == pytest.approx(
        np.array([(-1, -1, 0), (1, 1, 2)]) / 2**0.5, abs=1e-5
    )
    ball = trimesh.creation.icosphere(subdivisions=7)
    heavy, (mended,) = cleaned(ball.vertices, ball.faces, facing="x", up="z")
    assert mended == f"its {len(ball.faces):,} triangles were decimated to 100,000"
    assert 90_000 < len(heavy.faces) <= 100_000
    assert solid(heavy, merged=True).volume == pytest.approx(4 / 3 * np.pi, rel=0.01)


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        (np.where(CUBE == 1, np.inf, CUBE), "not finite"),
        (np.ones((8, 3)), "all its faces are lines or points"),
        (np.arange(24.0).reshape(8, 3), "all its faces are lines or points"),
    ],
)
def test_a_mesh_that_cannot_be_shown_is_refused(vertices: np.ndarray, message: str) -> None:
    with pytest.raises(UserError, match=message):
        cleaned(vertices, triangles(SIDES), facing="x", up="z")


def imported(file: Path, replace: bool = False) -> Path:
    """The asset that a file becomes in the set `mine`, under its own name."""
    return import_asset(
        file,
        name=file.stem,
        assets="mine",
        licence="CC0",
        facing=None,
        up=None,
        replace=replace,
    ).path


@pytest.mark.full
@pytest.mark.parametrize("which", [0, 1], ids=["points", "corners"])
def test_a_small_file_that_states_a_huge_mesh_is_refused(tmp_path: Path, which: int) -> None:
    """Numbers of which the file stores none are zeros by glTF's rules."""
    description, data = triangle()
    description["accessors"][which]["count"] = (2**31, 3 * 2**28)[which]
    del description["accessors"][which]["bufferView"]
    (tmp_path / "bomb.glb").write_bytes(glb(description, data))
    with pytest.raises(UserError, match=r"too much memory|Unable to allocate"):
        imported(tmp_path / "bomb.glb")


@pytest.mark.full
def test_millions_of_faces_are_refused(tmp_path: Path) -> None:
    file = obj(tmp_path / "heavy.obj", CUBE, [(0, 1, 2)] * 2_000_001)
    with pytest.raises(
        UserError, match="it has 2,000,001 faces, and at most 2,000,000 are allowed"
    ):
        imported(file)


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("empty.obj", b"", "it is empty"),
        (
            "bad.glb",
            struct.pack("<I", 7) * 9,
            r"Cannot import .*bad\.glb: it cannot be read as \.glb",
        ),
        ("bad.exr", b"no image", r"Cannot import .*bad\.exr"),
    ],
)
def test_a_damaged_file_leaves_the_set_as_it_was(
    tmp_path: Path, sets: Path, file: str, data: bytes, message: str
) -> None:
    (tmp_path / file).write_bytes(data)
    with pytest.raises(UserError, match=message):
        imported(tmp_path / file)
    assert not sets.exists()


@pytest.mark.full
def test_the_command_stores_shows_lists_and_does_not_overwrite(tmp_path: Path, sets: Path) -> None:
    turned = [(x, z, -y) for x, y, z in WEDGE]  # y up, looking along z
    file = obj(tmp_path / "wedge.obj", turned, WEDGE_FACES)
    command = ["gen assets import", file, "--name", "wedge", "--licence", "CC0, A. Smith", "--json"]
    stored = json.loads(succeed(*command).stdout)
    assert stored["mesh"] == str(sets / "mine" / "wedge.npz")
    notes = json.loads((sets / "mine" / "wedge.json").read_text())
    assert (notes["licence"], notes["source"], len(notes["sha256"])) == (
        "CC0, A. Smith",
        "wedge.obj",
        64,
    )
    assert (notes["facing"], notes["up"]) == ("z", "y")
    wedge = np.array(asset_mesh("mine", "wedge").vertices)
    assert wedge[wedge[:, 2] > 0.1, 0].max() < 0
    with Image.open(stored["picture"]) as picture:
        assert len(set(picture.convert("L").getdata())) > 100
    refuse("has an asset 'wedge'; add --replace", *command)
    listed = succeed("gen assets list --set mine --json").stdout
    assert json.loads(listed) == {"mine": {"meshes": ["wedge"], "licence": "CC0, A. Smith"}}


def panorama(path: Path, light: np.ndarray) -> Path:
    """An .exr, or an .hdr of Radiance (uncompressed RGBE), of linear light [h, w, 3]."""
    if path.suffix == ".exr":
        import OpenEXR

        header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {"RGB": light.astype(np.float32)}).write(str(path))
        return path
    power = np.ceil(np.log2(light.max(-1))).astype(int) + 1
    digits = (light / 2.0 ** power[..., None] * 256).astype(np.uint8)
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {len(light)} +X {light.shape[1]}\n".encode()
    path.write_bytes(head + np.dstack([digits, (power + 128).astype(np.uint8)]).tobytes())
    return path


def test_a_panorama_is_stored_as_it_is_and_a_large_one_smaller(tmp_path: Path, sets: Path) -> None:
    light = np.random.default_rng(0).uniform(0.1, 9.0, (8, 16, 3))
    stored = stored_light(imported(panorama(tmp_path / "garden.hdr", light)))
    assert stored.shape == (8, 16, 3)
    assert np.abs(stored - light).max() < 0.2  # steps of RGBE, and a lossy codec
    assert asset_names("mine") == ["garden"]
    large = np.kron(light, np.ones((75, 75, 1)))
    stored = stored_light(imported(panorama(tmp_path / "garden.exr", large), replace=True))
    assert stored.shape == (512, 1024, 3)
    assert np.abs(stored[32::64, 32::64] - light).max() < 0.05


def stored_light(path: Path) -> np.ndarray:
    import OpenEXR

    with OpenEXR.File(str(path)) as file:
        return np.asarray(file.channels()["RGB"].pixels, np.float64)


@pytest.mark.parametrize(
    ("light", "message"),
    [
        (np.ones((8, 8, 3)), "it has 8x8 pixels, and a panorama of all directions"),
        (np.full((8, 16, 3), np.inf), "colours that are not finite"),
        (np.zeros((8, 16, 3)), "it is black"),
    ],
)
def test_a_file_that_is_not_a_panorama_is_refused(
    tmp_path: Path, sets: Path, light: np.ndarray, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        imported(panorama(tmp_path / "bad.exr", light))
    assert not sets.exists()


def test_the_command_imports_and_shows_a_panorama(tmp_path: Path, sets: Path) -> None:
    file = panorama(tmp_path / "garden.exr", np.ones((8, 16, 3)))
    done = succeed("gen assets import --name garden --json", file)
    assert json.loads(done.stdout)["mesh"] == str(sets / "mine" / "garden.exr")
    assert "degrees" in done.stderr
    succeed("gen assets show hall --set panoramas --out hall.png", cwd=tmp_path)
    with Image.open(tmp_path / "hall.png") as picture:
        assert len(set(picture.convert("L").getdata())) > 100
