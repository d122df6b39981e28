"""Mesh files that name files outside of their folder: nothing of those is read, and the import
ends."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from generator.assets import importing
from generator.assets.importing import read_file
from generator.base.errors import UserError
from tests.glb import triangle

SECRET = "root:x:0:0"


def linking(folder: str) -> None:
    """Write a secret mesh outside of the folder `inner`, and files in it that would show the mesh
    or the secret."""
    import bpy

    outside, inner = Path(folder), Path(folder) / "given"
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("secret")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    secret = bpy.data.objects.new("secret", mesh)
    bpy.context.scene.collection.objects.link(secret)
    bpy.ops.wm.stl_export(filepath=str(outside / "secret.stl"))
    bpy.ops.export_scene.fbx(filepath=str(outside / "secret.fbx"))
    bpy.ops.wm.save_as_mainfile(filepath=str(outside / "secret.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(outside / "secret.blend"), link=True) as (_, linked):
        linked.objects = ["secret"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["secret"])
    bpy.ops.wm.save_as_mainfile(filepath=str(inner / "library.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    reader = bpy.data.objects.new("shown", bpy.data.meshes.new("empty"))
    bpy.context.scene.collection.objects.link(reader)
    tree = bpy.data.node_groups.new("reads", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    reads, out = tree.nodes.new("GeometryNodeImportSTL"), tree.nodes.new("NodeGroupOutput")
    reads.inputs["Path"].default_value = str(outside / "secret.stl")
    tree.links.new(reads.outputs[0], out.inputs[0])
    reader.modifiers.new("reads", "NODES").node_group = tree
    bpy.ops.wm.save_as_mainfile(filepath=str(inner / "nodes.blend"))


@pytest.fixture(scope="module")
def folder(in_blender: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "given").mkdir()
    in_blender(linking, str(folder))
    return folder


def outside_of(inner: Path) -> Path:
    """The data of a triangle, in a file beside the folder `inner`."""
    inner.mkdir(exist_ok=True)
    path = inner.parent / "triangle.bin"
    path.write_bytes(triangle()[1])
    return path


def gltf(folder: Path, uri: str) -> Path:
    """A glTF file whose data are said to be at `uri`."""
    description, data = triangle()
    description["buffers"] = [{"byteLength": len(data), "uri": uri}]
    path = folder / "a.gltf"
    path.write_text(json.dumps(description))
    return path


def obj(folder: Path, material: str) -> Path:
    path = folder / "a.obj"
    path.write_text(f"mtllib {material}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n")
    return path


@pytest.mark.parametrize("name", ["library", "nodes"])
def test_a_blend_file_shows_nothing_of_another_folder(folder: Path, name: str) -> None:
    with pytest.raises(UserError):
        read_file(folder / "given" / f"{name}.blend")


@pytest.mark.parametrize("suffix", ["blend", "fbx"])
def test_a_mesh_that_names_no_other_file_is_read(folder: Path, suffix: str) -> None:
    assert len(read_file(folder / f"secret.{suffix}")[1]) == 1


def test_a_system_that_cannot_confine_blender_refuses_its_own_formats(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "can_confine", lambda: False)
    with pytest.raises(UserError, match=r"export the mesh as \.glb"):
        read_file(folder / "secret.blend")
    assert len(read_file(folder / "secret.stl")[1]) == 1


@pytest.mark.parametrize(
    "uri", ["../triangle.bin", "{outside}", "link.bin", "..%2Ftriangle.bin", "linked/triangle.bin"]
)
def test_a_gltf_file_shows_nothing_of_another_folder(tmp_path: Path, uri: str) -> None:
    inner = tmp_path / "given"
    outside = outside_of(inner)
    os.symlink(outside, inner / "link.bin")
    os.symlink(outside.parent, inner / "linked")
    with pytest.raises(UserError):
        read_file(gltf(inner, uri.format(outside=outside)))


def test_a_gltf_file_may_use_files_beside_it(tmp_path: Path) -> None:
    outside_of(tmp_path / "given").rename(tmp_path / "given" / "data.bin")
    assert len(read_file(gltf(tmp_path / "given", "data.bin"))[1]) == 1


@pytest.mark.parametrize("material", ["../pipe.mtl", "pipe.mtl", "/dev/zero"])
def test_materials_that_never_end_are_not_read(tmp_path: Path, material: str) -> None:
    (tmp_path / "given").mkdir()
    for path in (tmp_path / "pipe.mtl", tmp_path / "given" / "pipe.mtl"):
        os.mkfifo(path)
    assert len(read_file(obj(tmp_path / "given", material))[1]) == 1
