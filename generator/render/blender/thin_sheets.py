"""Gives thin sheets of a mesh, such as ears and wings of one layer, a back; seen from inside they would be shaded wrong."""

import math

import bpy
from mathutils import Vector
from mathutils.bvhtree import BVHTree

import bmesh  # isort: skip  (it comes with bpy, which has to be loaded first)

_THICKNESS = 0.012  # in units of a unit mesh
_RAYS, _STEEPEST = 16, 0.2
_OPEN = 0.08  # share of rays that leave the mesh, above which the back of a face can be seen from outside


def close_sheets(mesh: bpy.types.Mesh) -> int:
    """Turn faces whose backs can be seen from outside into thin shells; returns their number.

    All faces of `mesh` point outward before and after.
    """
    body = bmesh.new()
    body.from_mesh(mesh)
    tree = BVHTree.FromBMesh(body)
    visible = [face for face in _in_open_parts(body) if _shows_its_back(face, tree)]
    if visible:
        parts = bmesh.ops.split(body, geom=visible)["geom"]
        _add_back(body, [part for part in parts if isinstance(part, bmesh.types.BMFace)])
        body.to_mesh(mesh)
    body.free()
    return len(visible)


def _in_open_parts(body: bmesh.types.BMesh) -> list[bmesh.types.BMFace]:
    """The faces of parts that are not closed; the backs of all others are inside."""
    found = {face for edge in body.edges if not edge.is_manifold for face in edge.link_faces}
    waiting = list(found)
    while waiting:
        for edge in waiting.pop().edges:
            new = [face for face in edge.link_faces if face not in found]
            found.update(new)
            waiting += new
    return [face for face in body.faces if face in found]


def _add_back(body: bmesh.types.BMesh, faces: list[bmesh.types.BMFace]) -> None:
    """Close detached faces: add a copy behind them that points the other way, and a rim around both."""
    bmesh.ops.recalc_face_normals(
        body, faces=faces
    )  # detached, because the rest of the mesh may have turned some of them
    normals: dict[bmesh.types.BMVert, Vector] = {}
    for face in faces:
        for vertex in face.verts:
            normals[vertex] = normals.get(vertex, Vector()) + face.normal * face.calc_area()
    behind = {
        vertex: body.verts.new(vertex.co - _THICKNESS * normal.normalized()) for vertex, normal in normals.items()
    }
    rims = [loop for face in faces for loop in face.loops if len(loop.edge.link_faces) == 1]
    for a, b in [(loop.vert, loop.link_loop_next.vert) for loop in rims]:
        body.faces.new((b, a, behind[a]))
        body.faces.new((b, behind[a], behind[b]))
    for face in faces:
        body.faces.new([behind[vertex] for vertex in reversed(face.verts)])


def _shows_its_back(face: bmesh.types.BMFace, tree: BVHTree) -> bool:
    centre, normal = face.calc_center_median(), face.normal
    backwards = [way for way in _DIRECTIONS if way.dot(normal) < -_STEEPEST]
    free = sum(tree.ray_cast(centre - 1e-4 * normal, way)[0] is None for way in backwards)
    return free > _OPEN * len(backwards)


def _even_directions(n: int) -> list[Vector]:
    """Unit vectors spread evenly: on a spiral from pole to pole, each turned on by the golden angle."""
    golden = math.pi * (3 - math.sqrt(5))
    heights = [1 - (2 * k + 1) / n for k in range(n)]
    return [
        Vector((math.sqrt(1 - z * z) * math.cos(golden * k), math.sqrt(1 - z * z) * math.sin(golden * k), z))
        for k, z in enumerate(heights)
    ]


_DIRECTIONS = _even_directions(2 * _RAYS)
