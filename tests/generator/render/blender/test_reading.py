"""Files that Blender reads: all meshes joined in world coordinates; hidden ones and scripts are left out."""

from pathlib import Path
from typing import Any


def read(folder: str) -> list[Any]:
    import bpy

    from generator.base.errors import UserError
    from generator.render.blender.reading import read_file

    bpy.ops.wm.read_factory_settings(use_empty=True)
    for name, x, hidden in (("one", 0.0, False), ("two", 5.0, False), ("hidden", 9.0, True)):
        bpy.ops.mesh.primitive_cube_add(size=2, location=(x, 0, 0))
        bpy.context.object.name, bpy.context.object.hide_render = name, hidden
    bpy.data.texts.new("run_me.py").write("raise SystemExit")
    bpy.ops.wm.save_as_mainfile(filepath=f"{folder}/cubes.blend")
    vertices, faces, notes = read_file(Path(folder) / "cubes.blend")
    found = [vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist(), len(faces), notes]
    (Path(folder) / "broken.obj").write_text("v 0 0 0\n")
    for name in ("broken.obj", "nothing.ply"):
        try:
            read_file(Path(folder) / name)
        except UserError as error:
            found.append(error.message)
    return found


def test_meshes_are_joined_where_they_stand(in_blender: Any, tmp_path: Path) -> None:
    low, high, faces, notes, empty, missing = in_blender(read, str(tmp_path))
    assert (low, high, faces) == ([-1, -1, -1], [6, 1, 1], 24)
    assert notes == ["its scripts (run_me.py) were not run"]
    assert empty.startswith("it has no faces")
    assert missing.startswith("Blender cannot read it as .ply")
