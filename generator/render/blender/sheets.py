"""Thin sheets of a mesh, such as ears and wings of one layer, given a back: what shows its inside would be shaded wrong."""

import math

import bpy
from mathutils import Vector
from mathutils.bvhtree import BVHTree

import bmesh  # isort: skip  (it comes with bpy, which has to be loaded first)

_THICKNESS = 0.012  # in units of a unit mesh
_RAYS, _STEEPEST = 16, 0.2
_OPEN = 0.08  # share of the rays from the back of a face that leave the mesh


def close_sheets(mesh: bpy.types.Mesh) -> int:
    """Make thin shells of the faces whose backs can be seen from outside; returns their number. All faces look outward
    before and after."""
    body = bmesh.new()
    body.from_mesh(mesh)
    tree = BVHTree.FromBMesh(body)
    seen = [face for face in _in_open_parts(body) if _shows_its_back(face, tree)]
    if seen:
        parts = bmesh.ops.split(body, geom=seen)["geom"]
        _back(body, [part for part in parts if isinstance(part, bmesh.types.BMFace)])
        body.to_mesh(mesh)
    body.free()
    return len(seen)


def _in_open_parts(body: bmesh.types.BMesh) -> list[bmesh.types.BMFace]:
    """The faces of parts that are not closed; the backs of others are inside."""
    found = {face for edge in body.edges if not edge.is_manifold for face in edge.link_faces}
    waiting = list(found)
    while waiting:
        for edge in waiting.pop().edges:
            new = [face for face in edge.link_faces if face not in found]
            found.update(new)
            waiting += new
    return [face for face in body.faces if face in found]


def _back(body: bmesh.types.BMesh, faces: list[bmesh.types.BMFace]) -> None:
    """Close faces that hang together with no others: a copy behind them that looks the other way, and a rim around both."""
    bmesh.ops.recalc_face_normals(body, faces=faces)  # alone, as the rest of the mesh may have turned a part of them
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
