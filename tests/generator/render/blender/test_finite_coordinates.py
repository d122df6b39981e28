"""Coordinates that are not finite in glTF and FBX files, as Blender writes them."""

from pathlib import Path
from typing import Any


def checked(folder: str) -> list[str | None]:
    """What is said of a whole file and of one with a coordinate that is not a number, for each format."""
    import struct

    import bpy

    from generator.base.errors import UserError
    from generator.render.blender.finite_coordinates import check_fbx, check_gltf

    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("wedge")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0.123)], [], [(0, 1, 2)])
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("wedge", mesh))
    bpy.ops.export_scene.gltf(filepath=f"{folder}/mesh.glb", export_yup=False, use_visible=False)
    found: list[str | None] = []
    path = Path(folder) / "mesh.glb"
    whole = path.read_bytes()
    for data in (whole, whole.replace(struct.pack("<f", 0.123), struct.pack("<f", float("nan")))):
        path.write_bytes(data)
        try:
            found.append(check_gltf(str(path)))
        except UserError as error:
            found.append(error.message)
    path.write_bytes(b"no mesh")
    for check in (check_gltf, check_fbx):
        try:
            check(str(path))
        except Exception as error:  # whatever the parser raises
            found.append(type(error).__name__ != "UserError")
    return found


def test_a_coordinate_that_is_no_number_is_found(in_blender: Any, tmp_path: Path) -> None:
    good, bad, *damaged = in_blender(checked, str(tmp_path))
    assert good is None
    assert "not finite" in bad
    assert damaged == [True, True]
