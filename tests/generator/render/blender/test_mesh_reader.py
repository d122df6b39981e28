"""Mesh files whose parts are easily lost: each is read whole, refused, or says which part is
missing."""

import base64
import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.base.errors import UserError

BOX = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CORNERS = [corner for a, b, c, d in SIDES for corner in (a, b, c, a, c, d)]


def measure(path: str) -> Any:
    """Extents and surface of a mesh file with its notes, or why it is refused. Runs in Blender's
    process."""
    from generator.render.blender.mesh_reader import read_file

    with tempfile.TemporaryDirectory() as scratch:
        try:
            vertices, faces, notes = read_file(Path(path), Path(scratch))
        except UserError as error:
            return error.message
    used = vertices[np.unique(faces)]
    first, second, third = (vertices[faces[:, i]] for i in range(3))
    area = float(np.linalg.norm(np.cross(second - first, third - first), axis=1).sum() / 2)
    return [(used.max(0) - used.min(0)).tolist(), area, notes]


class GltfBox:
    """A box of sides 1 as a glTF file; a test adds data and entries."""

    def __init__(self) -> None:
        self.data = b""
        self.description: dict[str, Any] = {"bufferViews": [], "accessors": []}
        self.points = self.add(BOX, "<f", 5126, "VEC3")
        self.corners = self.add(CORNERS, "<H", 5123, "SCALAR")
        self.primitive: dict[str, Any] = {
            "attributes": {"POSITION": self.points},
            "indices": self.corners,
        }
        self.mesh: dict[str, Any] = {"primitives": [self.primitive]}
        self.node: dict[str, Any] = {"mesh": 0}

    def add(self, values: Any, code: str, component: int, kind: str) -> int:
        """Append an accessor of these values."""
        array = np.array(values, code)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        self.description["bufferViews"].append(view)
        self.data += array.tobytes() + bytes(-array.nbytes % 4)
        accessor = {
            "bufferView": len(self.description["bufferViews"]) - 1,
            "componentType": component,
        }
        self.description["accessors"].append({**accessor, "count": len(array), "type": kind})
        return len(self.description["accessors"]) - 1

    def write(self, path: Path) -> Path:
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        whole = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [self.node],
            "meshes": [self.mesh],
            "buffers": [{"byteLength": len(self.data), "uri": uri}],
        }
        path.write_text(json.dumps({**whole, **self.description}), encoding="utf-8")
        return path


def test_a_sparse_accessor_moves_its_points(in_blender: Any, tmp_path: Path) -> None:
    box = GltfBox()
    indices = box.add([2, 3, 6, 7], "<H", 5123, "SCALAR")
    values = box.add([(x, 3, z) for x in (0, 1) for z in (0, 1)], "<f", 5126, "VEC3")
    views = box.description["accessors"]
    box.description["accessors"][box.points]["sparse"] = {
        "count": 4,
        "indices": {"bufferView": views[indices]["bufferView"], "componentType": 5123},
        "values": {"bufferView": views[values]["bufferView"]},
    }
    extents, area, notes = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert (extents, area, notes) == ([1, 3, 1], pytest.approx(14), [])


@pytest.mark.parametrize("holder", ["mesh", "node"])
def test_default_weights_morph_a_mesh(in_blender: Any, tmp_path: Path, holder: str) -> None:
    box = GltfBox()
    shifts = [(0, 2 * y, 0) for _, y, _ in BOX]
    box.primitive["targets"] = [{"POSITION": box.add(shifts, "<f", 5126, "VEC3")}]
    getattr(box, holder)["weights"] = [0.5]
    extents, _, _ = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert extents == pytest.approx([1, 2, 1])


def test_instances_of_a_node_are_all_there(in_blender: Any, tmp_path: Path) -> None:
    box = GltfBox()
    places = {"TRANSLATION": box.add([(0, 0, 0), (3, 0, 0), (0, 0, 7)], "<f", 5126, "VEC3")}
    box.node["extensions"] = {"EXT_mesh_gpu_instancing": {"attributes": places}}
    box.description["extensionsUsed"] = box.description["extensionsRequired"] = [
        "EXT_mesh_gpu_instancing"
    ]
    extents, area, _ = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert (extents, area) == ([4, 1, 8], pytest.approx(18))


@pytest.mark.parametrize(("mode", "corners"), [(5, [0, 4, 2, 6]), (6, [0, 4, 6, 2])])
def test_strips_and_fans_are_read(
    in_blender: Any, tmp_path: Path, mode: int, corners: list[int]
) -> None:
    box = GltfBox()
    box.primitive.update(mode=mode, indices=box.add(corners, "<H", 5123, "SCALAR"))
    _, area, _ = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert area == pytest.approx(1)


def test_a_skinned_mesh_stands_as_its_joints_do(in_blender: Any, tmp_path: Path) -> None:
    """The joint moves half of the box up by 4, and its rest position is the origin."""
    box = GltfBox()
    box.primitive["attributes"] |= {
        "JOINTS_0": box.add([(int(y == 1), 0, 0, 0) for _, y, _ in BOX], "<B", 5121, "VEC4"),
        "WEIGHTS_0": box.add([(1, 0, 0, 0)] * 8, "<f", 5126, "VEC4"),
    }
    box.node["skin"] = 0
    box.description |= {
        "skins": [{"joints": [1, 2]}],
        "nodes": [box.node, {"children": [2]}, {"translation": [0, 4, 0]}],
        "scenes": [{"nodes": [0, 1]}],
    }
    extents, _, _ = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert extents == pytest.approx([1, 5, 1], abs=1e-5)


def test_a_part_that_draco_cannot_decode_refuses_the_file(in_blender: Any, tmp_path: Path) -> None:
    box = GltfBox()
    name = "KHR_draco_mesh_compression"
    packed = {name: {"bufferView": 0, "attributes": {"POSITION": 0}}}
    box.mesh["primitives"].append({**box.primitive, "extensions": packed})
    box.description["extensionsUsed"] = box.description["extensionsRequired"] = [name]
    assert f"it uses {name}, which Blender" in in_blender(
        measure, str(box.write(tmp_path / "a.gltf"))
    )


def test_an_index_of_no_vertex_refuses_a_gltf_file(in_blender: Any, tmp_path: Path) -> None:
    box = GltfBox()
    box.primitive["indices"] = box.add([0, 1, 99], "<H", 5123, "SCALAR")
    message = in_blender(measure, str(box.write(tmp_path / "a.gltf")))
    assert message.startswith("it cannot be read as .gltf (IndexError: index 99 is out of bounds")


TRIANGLE = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 2 3\n"
NOTCH = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
"""A square of sides 3 with a notch of 2: its surface is 7."""


def ply(points: list[Any], faces: list[list[int]], element: str = "face") -> str:
    head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property float {axis}\n" for axis in "xyz")
    head += f"element {element} {len(faces)}\nproperty list int int vertex_indices\nend_header\n"
    rows = [" ".join(map(str, point)) for point in points]
    return (
        head + "\n".join(rows + [" ".join(map(str, [len(face), *face])) for face in faces]) + "\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "area"),
    [
        ("a.obj", "".join(f"v {x} {y} 0\n" for x, y in NOTCH) + "f 1 2 3 4 5 6 7 8\n", 7),
        (
            "b.obj",
            "".join(f"v {x} {y} 0\n" for x, y in NOTCH) + "f -8 -7 -6 -5 \\\n -4 -3 -2 -1\n",
            7,
        ),
        ("a.ply", ply([(x, y, 0) for x, y in NOTCH], [list(range(8))]), 7),
        (
            "b.ply",
            ply([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [[0, 1, 2, 3]], "tristrips"),
            1,
        ),
    ],
)
def test_polygons_that_are_not_convex_and_strips_keep_their_surface(
    in_blender: Any, tmp_path: Path, name: str, text: str, area: float
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert in_blender(measure, str(tmp_path / name))[1:] == [pytest.approx(area), []]


@pytest.mark.parametrize(
    ("name", "text", "refusal"),
    [
        ("a.obj", TRIANGLE + "f 1 2 9\n", "Invalid vertex index 8"),
        ("b.obj", TRIANGLE + "f -1 -2 -9\n", "Invalid vertex index"),
        ("c.obj", TRIANGLE + "v 1 x 2\n", "its vertex 'v 1 x 2' is not three numbers"),
        ("d.obj", TRIANGLE + "v 1 2\n", "its vertex 'v 1 2' is not three numbers"),
        (
            "e.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2 3\n",
            "'e' was left out, a mesh of points or lines only",
        ),
        ("f.obj", "v 0 0 0\nv 1 0 0\nv 1 0 0\nf 1 2 3\n", None),
        (
            "a.ply",
            ply([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [[0, 1, 2], [0, 1, 7]]),
            "Invalid PLY vertex index",
        ),
    ],
)
def test_faces_that_would_be_skipped_refuse_a_file(
    in_blender: Any, tmp_path: Path, name: str, text: str, refusal: str | None
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    answer = in_blender(measure, str(tmp_path / name))
    if refusal is None:
        assert answer[1:] == [0, ["'f' was left out, a mesh whose faces have no area"]]
    else:
        assert refusal in answer


def test_a_curved_surface_of_an_obj_is_said_to_be_missing(in_blender: Any, tmp_path: Path) -> None:
    surface = "cstype bezier\ndeg 1 1\nsurf 0 1 0 1 1 2 3 4\nparm u 0 1\nparm v 0 1\nend\n"
    (tmp_path / "a.obj").write_text(TRIANGLE + surface, encoding="utf-8")
    notes = in_blender(measure, str(tmp_path / "a.obj"))[2]
    assert "Blender says: OBJ element not recognized: 'surf 0 1 0 1 1 2 3 4'" in notes


FBX = """; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}
Objects:  {
	Geometry: 1, "Geometry::plate", "Mesh" {
		Vertices: *12 {
			a: 0,0,0,3,0,0,3,1,0,0,1,0
		}
		PolygonVertexIndex: *4 {
			a: 0,1,2,-4
		}
		GeometryVersion: 124
	}
	Model: 2, "Model::plate", "Mesh" {
		Version: 232
	}
	Geometry: 3, "Geometry::curve", "NurbsCurve" {
		Type: "NurbsCurve"
		NurbsCurveVersion: 100
		Order: 2
		Dimension: 3
		Form: "Open"
		Rational: 0
		Points: *8 {
			a: 0,0,0,1,1,0,0,1
		}
		KnotVector: *4 {
			a: 0,0,1,1
		}
	}
}
Connections:  {
	C: "OO",2,0
	C: "OO",1,2
}
"""


def test_a_text_fbx_is_read_and_says_what_it_lacks(in_blender: Any, tmp_path: Path) -> None:
    (tmp_path / "a.fbx").write_text(FBX, encoding="utf-8")
    extents, _, notes = in_blender(measure, str(tmp_path / "a.fbx"))
    assert max(extents) == pytest.approx(
        3 * min(extent for extent in extents if extent > 0), rel=1e-4
    )
    assert notes == ["geometry of the kind NurbsCurve was left out"]
    (tmp_path / "a.fbx").write_text(FBX.replace("a: 0,1,2,-4", "a: 0,1,9,-4"), encoding="utf-8")
    assert in_blender(measure, str(tmp_path / "a.fbx")).startswith("it cannot be read as .fbx")


def test_a_binary_stl_of_the_right_size_is_read_whatever_its_header_says(
    in_blender: Any, tmp_path: Path
) -> None:
    facet = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0)
    (tmp_path / "a.stl").write_bytes(b"solid".ljust(80) + struct.pack("<I", 1) + facet)
    assert in_blender(measure, str(tmp_path / "a.stl"))[1] == pytest.approx(2)


def save_scenes(folder: str) -> None:
    """Write .blend files of a box of sides 1 and a second object, which is seen in other ways. Runs
    in Blender's process."""
    for save_group in (
        _save_instances_of_collections,
        _save_hidden_collections,
        _save_hidden_boxes,
        _save_instances_on_vertices,
        _save_curves,
    ):
        save_group(Path(folder))


def _save_instances_of_collections(folder: Path) -> None:
    _start_scene()
    outer = _add_collection("outer")
    inner = _add_collection("inner", outer)
    _add_box("post", 2, inner)
    _add_box("unseen", 9, outer).hide_render = True
    _add_instance(outer, 4)
    _add_instance(outer, 8)
    _save(folder, "instances")
    inner.hide_render = True
    _save(folder, "instances_of_hidden")


def _save_hidden_collections(folder: Path) -> None:
    import bpy

    _start_scene()
    hidden = _add_collection("hidden", bpy.context.scene.collection)
    _add_box("post", 5, hidden)
    hidden.hide_render = True
    _save(folder, "hidden_collection")
    hidden.hide_render = False
    bpy.context.view_layer.layer_collection.children["hidden"].exclude = True
    _save(folder, "excluded_collection")


def _save_hidden_boxes(folder: Path) -> None:
    box = _start_scene()
    modifier = box.modifiers.new("row", "ARRAY")
    modifier.count, modifier.show_viewport = 3, False
    box.hide_viewport = True
    _save(folder, "hidden_in_viewport_only")
    box.hide_viewport = False
    box.hide_set(True)
    _save(folder, "eye_closed")


def _save_instances_on_vertices(folder: Path) -> None:
    import bpy

    box = _start_scene()
    bpy.context.scene.collection.objects.unlink(box)
    parent = _add_box("parent", 4)
    child = _add_box("child", 1)
    child.parent, parent.instance_type, parent.show_instancer_for_render = parent, "VERTS", False
    _save(folder, "instances_on_vertices")


def _save_curves(folder: Path) -> None:
    import bpy

    _start_scene()
    bpy.ops.curve.primitive_bezier_circle_add(radius=2)
    bpy.context.object.data.bevel_depth = 0.5
    _save(folder, "tube")
    bpy.context.object.data.bevel_depth = 0
    bpy.context.object.name = "ring"
    _save(folder, "ring")


def _start_scene() -> Any:
    """Begin a scene of a box of sides 1, which is returned."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    return _add_box("box", 1)


def _add_box(name: str, size: float, collection: Any = None) -> Any:
    import bpy

    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(size * x, size * y, size * z) for x, y, z in BOX], [], SIDES)
    box = bpy.data.objects.new(name, mesh)
    (collection or bpy.context.scene.collection).objects.link(box)
    return box


def _add_collection(name: str, parent: Any = None) -> Any:
    import bpy

    collection = bpy.data.collections.new(name)
    if parent:
        parent.children.link(collection)
    return collection


def _add_instance(collection: Any, x: float) -> None:
    import bpy

    instance = bpy.data.objects.new("instance", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", collection
    instance.location.x = x
    bpy.context.scene.collection.objects.link(instance)


def _save(folder: Path, name: str) -> None:
    import bpy

    bpy.ops.wm.save_as_mainfile(filepath=str(folder / f"{name}.blend"))


@pytest.fixture(scope="module")
def scenes(in_blender: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    in_blender(save_scenes, str(folder))
    return folder


@pytest.mark.parametrize(
    ("name", "extents", "notes"),
    [
        ("instances", [10, 2, 2], []),
        ("instances_of_hidden", [1, 1, 1], []),
        ("hidden_collection", [1, 1, 1], []),
        ("excluded_collection", [1, 1, 1], []),
        ("hidden_in_viewport_only", [3, 1, 1], []),
        ("eye_closed", [3, 1, 1], []),
        ("instances_on_vertices", [5, 5, 5], []),
        ("tube", [5, 5, 1.5], []),
        ("ring", [1, 1, 1], ["'ring' was left out, a curve without thickness"]),
    ],
)
def test_a_blend_file_is_read_as_it_renders(
    in_blender: Any, scenes: Path, name: str, extents: list[float], notes: list[str]
) -> None:
    answer = in_blender(measure, str(scenes / f"{name}.blend"))
    assert answer[0] == pytest.approx(extents, abs=0.05)
    assert answer[2] == notes
