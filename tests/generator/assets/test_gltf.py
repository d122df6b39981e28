"""glTF files are reduced to their shape; parts that cannot be read are refused by name, or said in
a note."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.assets.gltf import ReducedGltf, reduce_gltf
from generator.base.errors import UserError
from tests.glb import glb, triangle

Change = Callable[[dict[str, Any]], object]


def reduce(
    folder: Path, change: Change = lambda description: None
) -> tuple[ReducedGltf, dict[str, Any]]:
    """Reduce a .glb of one triangle after a change of its description; returns the copy and its
    JSON."""
    description, data = triangle()
    change(description)
    file = folder / "a.glb"
    file.write_bytes(glb(description, data))
    reduced = reduce_gltf(file, folder)
    return reduced, json.loads(reduced.path.read_text(encoding="utf-8"))


def test_only_the_shape_is_kept(tmp_path: Path) -> None:
    def add_looks(description: dict[str, Any]) -> None:
        description["images"] = [{"uri": "/dev/zero"}]
        description["animations"] = [{"channels": []}]
        description["extensionsUsed"] = description["extensionsRequired"] = ["KHR_texture_basisu"]
        primitive = description["meshes"][0]["primitives"][0]
        primitive["material"] = 0
        primitive["attributes"]["TEXCOORD_0"] = 0

    reduced, copy = reduce(tmp_path, add_looks)
    assert not {"images", "animations", "extensionsUsed", "extensionsRequired"} & set(copy)
    assert copy["meshes"] == [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}]
    assert (reduced.notes, reduced.compressed) == ([], False)


def test_nodes_of_no_scene_and_hidden_nodes_show_no_mesh(tmp_path: Path) -> None:
    def add_nodes(description: dict[str, Any]) -> None:
        hidden = {"KHR_node_visibility": {"visible": False}}
        description["scenes"] = [{"nodes": [0]}, {"nodes": [1, 2]}]
        description["scene"] = 1
        description["nodes"] = [
            {"mesh": 0},
            {"mesh": 0},
            {"extensions": hidden, "children": [3]},
            {"mesh": 0},
        ]

    _, copy = reduce(tmp_path, add_nodes)
    assert [index for index, node in enumerate(copy["nodes"]) if "mesh" in node] == [1]
    assert (copy["scenes"], copy["scene"]) == ([{"nodes": [1, 2]}], 0)


def test_a_file_without_scenes_shows_all_its_nodes(tmp_path: Path) -> None:
    def drop_scenes(description: dict[str, Any]) -> None:
        del description["scenes"], description["scene"]
        description["nodes"] = [{"children": [1]}, {"mesh": 0}]

    assert reduce(tmp_path, drop_scenes)[1]["scenes"] == [{"nodes": [0]}]


@pytest.mark.parametrize(
    "name",
    [
        "EXT_meshopt_compression",
        "KHR_meshopt_compression",
        "KHR_gaussian_splatting",
        "MPEG_mesh_linking",
    ],
)
def test_an_unknown_extension_is_refused_if_required_and_said_if_optional(
    tmp_path: Path, name: str
) -> None:
    def require(description: dict[str, Any]) -> None:
        description["extensionsUsed"] = description["extensionsRequired"] = [name]

    with pytest.raises(UserError, match=f"requires the glTF extension {name}, which is not read"):
        reduce(tmp_path, require)
    reduced, _ = reduce(tmp_path, lambda description: description.update(extensionsUsed=[name]))
    assert reduced.notes == [f"its optional extension {name} was not read"]


def test_a_fallback_buffer_without_data_is_refused_with_its_extension(tmp_path: Path) -> None:
    def add_fallback(description: dict[str, Any]) -> None:
        description["buffers"].append(
            {"byteLength": 44, "extensions": {"EXT_meshopt_compression": {"fallback": True}}}
        )

    with pytest.raises(UserError, match=r"buffer 1 has no data \(it has EXT_meshopt_compression\)"):
        reduce(tmp_path, add_fallback)


def test_lines_and_parts_without_positions_are_noted(tmp_path: Path) -> None:
    def add_parts(description: dict[str, Any]) -> None:
        description["meshes"][0]["name"] = "kite"
        lines = {"mode": 1, "attributes": {"POSITION": 0}}
        description["meshes"][0]["primitives"] += [lines, {"attributes": {"NORMAL": 0}}]

    reduced, copy = reduce(tmp_path, add_parts)
    assert reduced.notes == [
        "lines and points of 'kite' were left out",
        "a part of 'kite' without positions was left out",
    ]
    assert len(copy["meshes"][0]["primitives"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda description: description["nodes"][0].update(mesh=1),
        lambda description: description["nodes"][0].update(mesh=-1),
        lambda description: description["nodes"][0].update(skin=0),
        lambda description: description["nodes"][0].update(children=[7]),
        lambda description: description["scenes"][0].update(nodes=[1]),
        lambda description: description.update(scene=3),
        lambda description: description["meshes"][0]["primitives"][0].update(indices=-1),
        lambda description: description["meshes"][0]["primitives"][0]["attributes"].update(
            POSITION=9
        ),
        lambda description: description["accessors"][0].update(bufferView=5),
        lambda description: description["bufferViews"][0].update(buffer=1),
        lambda description: description["buffers"][0].update(byteLength=1000),
        lambda description: description["nodes"][0].update(
            extensions={"EXT_mesh_gpu_instancing": {"attributes": {"_ID": 0}}}
        ),
    ],
)
def test_a_number_that_names_nothing_is_an_error(tmp_path: Path, change: Change) -> None:
    with pytest.raises(ValueError, match=r"names|has"):
        reduce(tmp_path, change)


@pytest.mark.parametrize("place", ["stored", "sparse"])
def test_positions_that_are_not_finite_are_refused(tmp_path: Path, place: str) -> None:
    description, data = triangle()
    points = np.frombuffer(data[:36], "<f4").copy()
    points[4] = np.inf
    changed = points.tobytes()
    if place == "stored":
        data = changed + data[36:]
    else:
        uri = "data:application/octet-stream;base64," + base64.b64encode(changed).decode()
        description["buffers"].append({"byteLength": 36, "uri": uri})
        description["bufferViews"].append({"buffer": 1, "byteLength": 36})
        indices = {"bufferView": 1, "componentType": 5123}
        description["accessors"][0]["sparse"] = {
            "count": 3,
            "indices": indices,
            "values": {"bufferView": 2},
        }
    (tmp_path / "a.glb").write_bytes(glb(description, data))
    with pytest.raises(UserError, match="not finite"):
        reduce_gltf(tmp_path / "a.glb", tmp_path)
