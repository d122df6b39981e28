"""Thin sheets get a back; closed meshes stay as they are."""

from typing import Any

from tests.generator.render.blender.test_cleaning import CUBE, TRIANGLES


def closed(vertices: list[Any], faces: list[Any]) -> list[int]:
    """Sheets found, faces afterwards, and edges afterwards that are not between two faces."""
    import bmesh
    import bpy

    from generator.render.blender.thin_sheets import close_sheets

    mesh = bpy.data.meshes.new("sheet")
    mesh.from_pydata(vertices, [], faces)
    sheets = close_sheets(mesh)
    body = bmesh.new()
    body.from_mesh(mesh)
    found = [sheets, len(body.faces), sum(not edge.is_manifold for edge in body.edges)]
    body.free()
    return found


def test_a_sheet_becomes_a_closed_shell_and_a_cube_stays(in_blender: Any) -> None:
    square = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    assert in_blender(closed, square, [(0, 1, 2), (0, 2, 3)]) == [2, 2 + 2 + 8, 0]
    assert in_blender(closed, CUBE, TRIANGLES) == [0, 12, 0]
