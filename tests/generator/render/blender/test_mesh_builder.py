"""Several meshes joined into one, with colours, materials and shading."""

from typing import Any

TRIANGLE: Any = ([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [[0, 1, 2]])


def joined() -> dict[str, Any]:
    import bpy

    from generator.render.blender.meshes import PAINT, MeshBuilder

    builder = MeshBuilder()
    builder.add(TRIANGLE, (1.0, 0.0, 0.0, 1.0), 1)
    builder.add(TRIANGLE, [(0.0, 0.0, k / 4, 0.5) for k in range(3)], 0, smooth=True)
    mesh = builder.build("two", [bpy.data.materials.new(name) for name in ("ground", "painted")])
    return {
        "vertices": len(mesh.vertices), "faces": [list(face.vertices) for face in mesh.polygons],
        "slots": [face.material_index for face in mesh.polygons], "smooth": [face.use_smooth for face in mesh.polygons],
        "colors": [list(each.color) for each in mesh.color_attributes[PAINT].data], "materials": len(mesh.materials),
    }  # fmt: skip


def test_meshes_are_joined(in_blender: Any) -> None:
    assert in_blender(joined) == {
        "vertices": 6, "faces": [[0, 1, 2], [3, 4, 5]], "slots": [1, 0], "smooth": [False, True],
        "colors": [[1, 0, 0, 1]] * 3 + [[0, 0, 0, 0.5], [0, 0, 0.25, 0.5], [0, 0, 0.5, 0.5]], "materials": 2,
    }  # fmt: skip
