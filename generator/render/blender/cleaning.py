"""Cleans an imported mesh: merges double vertices, drops loose ones, limits the triangles, turns normals outward."""

import math

import bpy
import numpy as np

from generator.render.blender.thin_sheets import close_sheets

import bmesh  # isort: skip  (it comes with bpy, which has to be loaded first)

MAX_TRIANGLES = 100_000
"""A mesh with more triangles is decimated to this many."""
_MERGE_DISTANCE = 1e-5  # in units of a unit mesh
_SHARP_ANGLE = math.radians(60)  # edges bent more than this stay sharp


def clean(vertices: np.ndarray, faces: np.ndarray) -> tuple[dict[str, np.ndarray], list[str]]:
    """Clean a mesh of unit size: `vertices` float [n, 3], triangles `faces` int [m, 3].

    Returns the arrays of the cleaned mesh, `vertices` and `normals` float32 [k, 3] and `faces` int32 [l, 3], where a vertex
    on a sharp edge appears once for each side; and a sentence for each repair that the user should know of.
    """
    mesh, mended = bpy.data.meshes.new("import"), []
    mesh.from_pydata(vertices.tolist(), [], faces.tolist())
    _merge(mesh)
    if len(mesh.polygons) > MAX_TRIANGLES:
        mended.append(f"its {len(mesh.polygons):,} triangles were decimated to {MAX_TRIANGLES:,}")
        mesh = _decimated(mesh)
    _face_outward(mesh)
    if sheets := close_sheets(mesh):
        mended.append(f"{sheets:,} of its faces were thin sheets seen from both sides, and were given a back")
    mesh.shade_smooth()
    mesh.set_sharp_from_angle(angle=_SHARP_ANGLE)
    return _arrays(mesh), mended


def _merge(mesh: bpy.types.Mesh) -> None:
    body = bmesh.new()
    body.from_mesh(mesh)
    bmesh.ops.remove_doubles(body, verts=body.verts[:], dist=_MERGE_DISTANCE)
    bmesh.ops.dissolve_degenerate(body, edges=body.edges[:], dist=_MERGE_DISTANCE)
    bmesh.ops.triangulate(body, faces=body.faces[:])
    bmesh.ops.delete(body, geom=[vertex for vertex in body.verts if not vertex.link_faces], context="VERTS")
    body.to_mesh(mesh)
    body.free()


def _face_outward(mesh: bpy.types.Mesh) -> None:
    body = bmesh.new()
    body.from_mesh(mesh)
    bmesh.ops.recalc_face_normals(body, faces=body.faces[:])
    body.to_mesh(mesh)
    body.free()


def _decimated(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    holder = bpy.data.objects.new("import", mesh)
    bpy.context.scene.collection.objects.link(holder)
    modifier = holder.modifiers.new("fewer", "DECIMATE")
    modifier.ratio = MAX_TRIANGLES / len(mesh.polygons)
    modifier.use_collapse_triangulate = True
    bpy.context.view_layer.update()
    fewer = bpy.data.meshes.new_from_object(holder.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    bpy.data.objects.remove(holder)
    return fewer


def _arrays(mesh: bpy.types.Mesh) -> dict[str, np.ndarray]:
    """Vertices are equal where both place and normal are."""
    corners = _read(mesh.loops, "vertex_index", 1, np.int32).ravel()
    normals = _read(mesh.corner_normals, "vector", 3, np.float32)
    keys = np.column_stack([corners, np.round(normals, 3)])
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    places = _read(mesh.vertices, "co", 3, np.float32)[corners[first]]
    return {"vertices": places, "normals": normals[first], "faces": which.reshape(-1, 3).astype(np.int32)}


def _read(collection: bpy.types.bpy_prop_collection, name: str, width: int, kind: type) -> np.ndarray:
    values: np.ndarray = np.empty(len(collection) * width, kind)
    collection.foreach_get(name, values)
    return values.reshape(-1, width)
