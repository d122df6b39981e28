"""Files of users, made here by hand or by Blender, taken into a set; what cannot be shown is refused and named."""

import json
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from generator.assets import importing
from generator.assets.importing import AssetWorker, import_asset
from generator.base.errors import UserError
from generator.cli.main import main
from tests.conftest import run_command
from tests.glb import glb, triangle

pytestmark = pytest.mark.usefixtures("sets")


# A wedge, 4 long, 2 wide and 2 high, away from the origin and looking along -y; a text and a driver are its scripts.
MAKE = """
import os
import sys
from pathlib import Path
import bpy
out = Path(sys.argv[1])
bpy.ops.wm.read_factory_settings(use_empty=True)
mesh = bpy.data.meshes.new("wedge")
mesh.from_pydata([(-1, -3, 0), (1, -3, 0), (1, 1, 0), (-1, 1, 0), (-1, 1, 2), (1, 1, 2)], [],
    [(3, 2, 1, 0), (0, 1, 5, 4), (2, 3, 4, 5), (0, 4, 3), (1, 2, 5)])
thing = bpy.data.objects.new("wedge", mesh)
thing.location = (5, 6, 7)
bpy.context.scene.collection.objects.link(thing)
bpy.context.view_layer.update()
bpy.ops.export_scene.gltf(filepath=str(out / "wedge.glb"))
bpy.ops.export_scene.gltf(filepath=str(out / "wedge.gltf"), export_format="GLTF_SEPARATE")
bpy.ops.export_scene.fbx(filepath=str(out / "wedge.fbx"))
bpy.ops.wm.obj_export(filepath=str(out / "wedge.obj"))
bpy.ops.wm.ply_export(filepath=str(out / "wedge.ply"))
bpy.ops.wm.stl_export(filepath=str(out / "wedge.stl"))
from io_scene_fbx.encode_bin import FBXElem
add = FBXElem.add_float64_array
FBXElem.add_float64_array = lambda self, data: add(self, data * float("nan") if self.id == b"Vertices" else data)
bpy.ops.export_scene.fbx(filepath=str(out / "nan.fbx"))
mesh.vertices[0].co.x = float("nan")
bpy.ops.wm.save_as_mainfile(filepath=str(out / "nan.blend"))
mesh.vertices[0].co.x = -1
text = bpy.data.texts.new("startup.py")
text.write(f"open({str(out / 'text ran')!r}, 'w')")
text.use_module = True
driver = thing.driver_add("location", 0).driver
driver.type, driver.expression = "SCRIPTED", f"__import__('pathlib').Path({str(out / 'driver ran')!r}).touch() or 5"
bpy.ops.wm.save_as_mainfile(filepath=str(out / "wedge.blend"))
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.save_as_mainfile(filepath=str(out / "nothing.blend"))
os._exit(0)  # Blender may not end by itself after a text with a driver was removed
"""


CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]


SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    done = subprocess.run([sys.executable, "-c", MAKE, str(folder)], capture_output=True, text=True, check=False)
    assert (folder / "nothing.blend").exists(), done.stderr
    return folder


class Read:
    """A file as the worker reads it: vertices [n, 3], triangles [m, 3], normals [n, 3] and what was mended."""

    def __init__(self, worker: AssetWorker, path: Path, facing: str = "-y", up: str = "z"):
        out = path.parent / "out.npz"
        self.mended = worker.ask({"read": str(path), "facing": facing, "up": up, "out": str(out)})["mended"]
        with np.load(out) as arrays:
            self.vertices, self.faces, self.normals = (arrays[key] for key in ("vertices", "faces", "normals"))

    @property
    def size(self) -> np.ndarray:
        return np.ptp(self.vertices, axis=0)

    @property
    def volume(self) -> float:
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        return float(np.einsum("nx,nx->", a, np.cross(b, c)) / 6)

    @property
    def closed(self) -> bool:
        """Whether each edge is once there in each direction, vertices in one place being one."""
        _, place = np.unique(self.vertices.round(5), axis=0, return_inverse=True)
        edges = Counter(
            (a, b)
            for face in place.ravel()[self.faces].tolist()
            for a, b in zip(face, [*face[1:], face[0]], strict=True)
        )
        return all(edges[b, a] == n == 1 for (a, b), n in edges.items())


def obj(path: Path, vertices: list, faces: list) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {' '.join(str(i + 1) for i in face)}" for face in faces]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def ply(path: Path, vertices: np.ndarray, faces: np.ndarray) -> Path:
    """A binary PLY file of triangles."""
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(vertices)}\n"
    head += "property float x\nproperty float y\nproperty float z\n"
    head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    rows = np.empty(len(faces), [("n", "u1"), ("corners", "<i4", 3)])
    rows["n"], rows["corners"] = 3, faces
    path.write_bytes(head.encode() + vertices.astype("<f4").tobytes() + rows.tobytes())
    return path


def ball(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed sphere of n by n quads, as triangles."""
    polar, round_ = np.meshgrid(
        np.linspace(0, np.pi, n + 1), np.linspace(0, 2 * np.pi, n, endpoint=False), indexing="ij"
    )
    places = np.stack([np.sin(polar) * np.cos(round_), np.sin(polar) * np.sin(round_), np.cos(polar)], axis=-1)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    a, b, c, d = i * n + j, i * n + (j + 1) % n, (i + 1) * n + (j + 1) % n, (i + 1) * n + j
    return places.reshape(-1, 3), np.concatenate(
        [np.stack([a, d, c], -1).reshape(-1, 3), np.stack([a, c, b], -1).reshape(-1, 3)]
    )


@pytest.mark.parametrize("suffix", importing.MESHES)
def test_every_format_gives_the_same_wedge(worker: AssetWorker, files: Path, suffix: str) -> None:
    wedge = Read(worker, files / f"wedge{suffix}")
    unit = np.hypot(2, 1)  # its footprint's radius
    assert wedge.size == pytest.approx([4 / unit, 2 / unit, 2 / unit], abs=1e-5)
    assert wedge.vertices.min(axis=0) == pytest.approx([-2 / unit, -1 / unit, 0], abs=1e-5)
    assert wedge.vertices[wedge.vertices[:, 2] > 0.1, 0].max() < 0  # the edge of the wedge points along +x
    assert (len(wedge.faces), wedge.closed) == (8, True)
    assert wedge.volume == pytest.approx(8 / unit**3, rel=1e-4)


def test_scripts_of_a_blend_are_not_run_and_named(worker: AssetWorker, files: Path) -> None:
    assert Read(worker, files / "wedge.blend").mended == ["its scripts (startup.py, a driver) were not run"]
    assert not list(files.glob("*ran"))


@pytest.mark.parametrize(
    ("facing", "up", "longest", "edge"), [("x", "z", 1, None), ("y", "z", 0, 1), ("-y", "y", 2, None)]
)
def test_facing_and_up_turn_it(
    worker: AssetWorker, files: Path, facing: str, up: str, longest: int, edge: int | None
) -> None:
    wedge = Read(worker, files / "wedge.ply", facing, up)
    assert wedge.size.argmax() == longest
    assert wedge.volume > 0
    if edge:
        assert wedge.vertices[wedge.vertices[:, 2] > 0.1, 0].min() > 0


@pytest.mark.parametrize(
    ("top", "up"),
    [((0, 1, 0), "z"), ((0, 0, 1), "-y"), ((0, 0, -1), "y"), ((0, -1, 0), "-z"), ((1, 0, 0), "x"), ((-1, 0, 0), "-x")],
)
def test_an_obj_stands_upright_whichever_way_it_was_written(
    worker: AssetWorker, tmp_path: Path, top: tuple[int, int, int], up: str
) -> None:
    """A pyramid whose top is at `top` of the file. Blender takes y of an .obj for up; many programs write z."""
    flat = [axis for axis in np.eye(3, dtype=int).tolist() if not np.dot(axis, top)]
    base = [tuple(np.array(flat[0]) * i + np.array(flat[1]) * j) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    faces = [(0, 1, 2, 3), *((i, (i + 1) % 4, 4) for i in range(4))]
    pyramid = Read(worker, obj(tmp_path / "p.obj", [*base, tuple(3 * np.array(top))], faces), "x", up)
    heights = pyramid.vertices[:, 2]
    at_top = pyramid.vertices[heights > 0.99 * heights.max()]
    assert heights.max() == pytest.approx(2, abs=1e-4)
    assert np.abs(at_top[:, :2]).max() < 1e-4  # one point above the middle, not a side of the base
    assert pyramid.volume > 0


def test_doubles_are_merged_sides_turned_and_strays_dropped(worker: AssetWorker, tmp_path: Path) -> None:
    """A cube whose sides share no vertices, every second one inside out, with a vertex and an edge far away."""
    vertices = [CUBE[i] for side in SIDES for i in side] + [(50, 0, 0), (50, 9, 0)]
    faces = [tuple(range(4 * k, 4 * k + 4))[:: -1 if k % 2 else 1] for k in range(6)]
    cube = Read(worker, obj(tmp_path / "cube.obj", vertices, faces), "x")
    assert cube.size == pytest.approx([2**0.5] * 3, abs=1e-5)
    assert (len(cube.faces), cube.closed) == (12, True)
    assert cube.volume == pytest.approx(2**1.5, rel=1e-4)
    outward = cube.vertices - [0, 0, 2**0.5 / 2]
    assert (np.einsum("nx,nx->n", outward, cube.normals) > 0).all()
    assert len(cube.vertices) == 24  # edges stay sharp


def test_a_sheet_gets_a_back(worker: AssetWorker, tmp_path: Path) -> None:
    leaf = Read(worker, obj(tmp_path / "leaf.obj", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2, 3)]))
    assert leaf.mended == ["2 of its faces were thin sheets seen from both sides, and were given a back"]
    assert leaf.closed
    assert 0 < leaf.volume < 0.05


def test_what_lies_far_away_is_centred_and_what_is_heavy_decimated(worker: AssetWorker, tmp_path: Path) -> None:
    far = Read(worker, obj(tmp_path / "far.obj", [(x + 1000, y, z) for x, y, z in CUBE], SIDES))
    assert far.mended == ["it lay 1e+03 from the origin, and was centred"]
    assert far.size == pytest.approx([2**0.5] * 3, abs=1e-3)
    vertices, faces = ball(240)
    heavy = Read(worker, ply(tmp_path / "heavy.ply", vertices, faces))
    assert "triangles were decimated to 100,000" in heavy.mended[0]
    assert 90_000 < len(heavy.faces) <= 100_000
    assert heavy.volume == pytest.approx(4 / 3 * np.pi, rel=0.01)


def test_the_other_name_of_corners_in_ply_is_read_and_a_file_of_points_has_no_faces(
    worker: AssetWorker, tmp_path: Path
) -> None:
    file = ply(tmp_path / "ball.ply", *ball(8))
    file.write_bytes(file.read_bytes().replace(b"vertex_indices", b"vertex_index"))
    assert len(Read(worker, file).faces)
    file.write_bytes(file.read_bytes().replace(b"element face", b"element corner"))
    with pytest.raises(UserError, match="it has no faces"):
        Read(worker, file)


@pytest.mark.parametrize(
    ("vertices", "faces", "said"),
    [
        (CUBE, [], "it has no faces"),
        ([*CUBE[:7], ("1", "1", "one")], SIDES, "cannot be read|not finite"),
        ([*CUBE[:7], (1, 1, "inf")], SIDES, "not finite"),
        ([(1, 2, 3)] * 8, SIDES, "all its vertices are in one place"),
        ([(x + 1e9, y, z) for x, y, z in CUBE], SIDES, "1e\\+09 from the origin|in one place"),
        ([(k, 0, 0) for k in range(8)], SIDES, "all its faces are lines or points"),
    ],
)
def test_a_mesh_that_cannot_be_shown_is_refused(
    worker: AssetWorker, tmp_path: Path, vertices: list, faces: list, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        Read(worker, obj(tmp_path / "bad.obj", vertices, faces))


@pytest.mark.parametrize("suffix", importing.MESHES)
def test_a_place_that_is_no_number_is_found_in_every_format(
    worker: AssetWorker, files: Path, tmp_path: Path, suffix: str
) -> None:
    if suffix in (".fbx", ".blend"):
        data = (files / f"nan{suffix}").read_bytes()
    else:
        data = _patched((files / f"wedge{suffix}").read_bytes(), suffix)
    (tmp_path / f"nan{suffix}").write_bytes(data)
    if suffix == ".gltf":
        (tmp_path / "wedge.bin").write_bytes(_patched((files / "wedge.bin").read_bytes(), ".glb"))
    with pytest.raises(UserError, match="not finite"):
        Read(worker, tmp_path / f"nan{suffix}")


def _patched(data: bytes, suffix: str) -> bytes:
    """With a coordinate that is no number."""
    texts = {".gltf": (b"", b""), ".obj": (b"v 4.000000", b"v nan")}
    old, new = texts.get(suffix) or (
        struct.pack("<f", 4.0 if suffix in (".ply", ".stl") else -1.0),
        struct.pack("<f", float("nan")),
    )
    assert old in data
    return data.replace(old, new, 1)


@pytest.mark.parametrize("suffix", importing.MESHES)
@pytest.mark.parametrize("data", [b"\x00\xff" * 400, b"hello\n"])
def test_a_file_that_is_something_else_is_refused(
    worker: AssetWorker, tmp_path: Path, suffix: str, data: bytes
) -> None:
    (tmp_path / f"bad{suffix}").write_bytes(data)
    with pytest.raises(UserError, match=r"it cannot be read as|it has no faces") as caught:
        Read(worker, tmp_path / f"bad{suffix}")
    assert "\n" not in caught.value.message


def test_a_file_cut_short_is_refused_and_a_blend_without_objects(
    worker: AssetWorker, files: Path, tmp_path: Path
) -> None:
    for suffix in (".glb", ".fbx", ".blend", ".ply"):
        whole = (files / f"wedge{suffix}").read_bytes()
        (tmp_path / f"cut{suffix}").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(UserError, match=r"it cannot be read as|it has no faces|Blender ended with"):
            Read(worker, tmp_path / f"cut{suffix}")
    with pytest.raises(UserError, match="it has no faces"):
        Read(worker, files / "nothing.blend")


@pytest.mark.full
@pytest.mark.parametrize("which", [0, 1], ids=["points", "corners"])
def test_a_small_file_that_states_a_huge_mesh_is_refused(tmp_path: Path, which: int) -> None:
    """Numbers of which the file stores none are zeros by glTF's rules; Blender would take 22 GiB for these corners."""
    description, data = triangle()
    description["accessors"][which]["count"] = (2**31, 3 * 2**28)[which]
    del description["accessors"][which]["bufferView"]
    (tmp_path / "bomb.glb").write_bytes(glb(description, data))
    with AssetWorker() as worker, pytest.raises(UserError, match=r"too much memory|Unable to allocate"):
        Read(worker, tmp_path / "bomb.glb")


@pytest.mark.full
def test_millions_of_faces_are_refused(worker: AssetWorker, tmp_path: Path) -> None:
    vertices, faces = ball(1001)
    with pytest.raises(UserError, match="it has 2,004,002 faces, and at most 2,000,000 are taken"):
        Read(worker, ply(tmp_path / "heavy.ply", vertices, faces))


@pytest.mark.parametrize(
    ("file", "name", "assets", "said"),
    [
        ("wedge.obj", "Wedge", "mine", "lower-case letters"),
        ("wedge.obj", "../wedge", "mine", "lower-case letters"),
        ("wedge.obj", "cube", "mine", "--name cube is a shape"),
        ("wedge.obj", "wedge", "builtin", "comes with the project"),
        ("wedge.obj", "wedge", "a/b", "lower-case letters"),
        ("empty.obj", "wedge", "mine", "it is empty"),
        ("wedge.mtl", "wedge", "mine", "'.mtl' is not a format that is read"),
        ("none.obj", "wedge", "mine", "there is no such file"),
        (".", "wedge", "mine", "it is not a file"),
    ],
)
def test_unfit_names_and_files_are_refused_before_blender_starts(
    files: Path, sets: Path, file: str, name: str, assets: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "AssetWorker", None)
    (files / "empty.obj").touch()
    with pytest.raises(UserError, match=said):
        import_asset(files / file, name, assets, "", "x", "z", False)
    assert not sets.exists()


def test_the_command_stores_shows_lists_and_does_not_overwrite(files: Path, sets: Path) -> None:
    command = [
        "gen",
        "assets",
        "import",
        files / "wedge.glb",
        "--name",
        "wedge",
        "--licence",
        "CC0, A. Smith",
        "--json",
    ]
    done = run_command(*command)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["mesh"] == str(sets / "mine" / "wedge.npz")
    notes = json.loads((sets / "mine" / "wedge.json").read_text())
    assert (notes["licence"], notes["source"], len(notes["sha256"])) == ("CC0, A. Smith", "wedge.glb", 64)
    with Image.open(made["picture"]) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert (np.ptp(pixels, axis=-1) > 25).mean() > 0.02, "no clay is seen"
    assert not (pixels[..., 0] - pixels[..., 1] > 100).any(), "an inside is seen"
    done = run_command(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has a mesh 'wedge'; add --replace" in done.stderr
    listed = CliRunner().invoke(main, ["assets", "list", "--set", "mine", "--json"]).output
    assert json.loads(listed) == {"mine": {"meshes": ["wedge"], "licence": "CC0, A. Smith"}}
    shown = CliRunner().invoke(main, ["assets", "show", "wedg", "--set", "mine"])
    assert (shown.exit_code, "did you mean 'wedge'" in shown.output) == (2, True)
