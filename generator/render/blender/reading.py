"""Meshes of files that Blender reads; scripts in them are never run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from generator.assets.finite import check_obj, check_ply
from generator.dataset.errors import UserError
from generator.render.blender.finite import check_fbx, check_gltf

MOST_FACES = 2_000_000


def read_file(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Vertices [n, 3] and triangles [m, 3] of all meshes of a file, joined where they stand in its scene, as Blender shows it
    (z up); and what was left aside that a person should know.

    Raises UserError where the file is not what its name says, or has no faces or too many.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    suffix = path.suffix.lower()
    try:
        if suffix in _CHECKS:
            _CHECKS[suffix](str(path))
        _OPENERS[suffix](str(path))
    except (RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError) as error:
        last = (str(error).strip().splitlines() or ["no reason given"])[-1].removeprefix("Error: ").rstrip(".")
        raise UserError(
            f"Blender cannot read it as {suffix} ({last}): it is damaged or something else; export it again."
        ) from None
    vertices, faces = _joined()
    scripts = _scripts()
    return vertices, faces, [f"its scripts ({', '.join(scripts)}) were not run"] if scripts else []


_OPENERS: dict[str, Callable[[str], Any]] = {
    ".glb": lambda path: bpy.ops.import_scene.gltf(filepath=path),
    ".gltf": lambda path: bpy.ops.import_scene.gltf(filepath=path),
    ".obj": lambda path: bpy.ops.wm.obj_import(filepath=path),
    ".ply": lambda path: bpy.ops.wm.ply_import(filepath=path),
    ".fbx": lambda path: bpy.ops.import_scene.fbx(filepath=path),
    ".blend": lambda path: bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False),
}
_CHECKS: dict[str, Callable[[str], None]] = {
    ".obj": check_obj,
    ".ply": check_ply,
    ".glb": check_gltf,
    ".gltf": check_gltf,
    ".fbx": check_fbx,
}


def _joined() -> tuple[np.ndarray, np.ndarray]:
    """All faces of the scene in world coordinates, as they render: with modifiers, without what is hidden from renders."""
    things = [thing for thing in bpy.context.scene.objects if thing.type == "MESH" and not thing.hide_render]
    _check_number(sum(len(thing.data.polygons) for thing in things))
    graph = bpy.context.evaluated_depsgraph_get()
    bodies = [(thing.evaluated_get(graph), np.array(thing.evaluated_get(graph).matrix_world)) for thing in things]
    _check_number(sum(len(body.data.polygons) for body, _ in bodies))
    places, triangles, before = [], [], 0
    for body, world in bodies:
        mesh = body.data
        mesh.calc_loop_triangles()
        points, corners = np.empty(len(mesh.vertices) * 3, np.float32), np.empty(len(mesh.loop_triangles) * 3, np.int32)
        mesh.vertices.foreach_get("co", points)
        mesh.loop_triangles.foreach_get("vertices", corners)
        places.append(points.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3])
        triangles.append(corners.reshape(-1, 3) + before)
        before += len(mesh.vertices)
    return np.concatenate(places), np.concatenate(triangles)


def _scripts() -> list[str]:
    """What of the file is code: its texts, and drivers that Blender would not evaluate."""
    blocked = bpy.app.autoexec_fail and bpy.app.autoexec_fail_message.startswith("Driver")
    return sorted(text.name for text in bpy.data.texts) + ["a driver"] * blocked


def _check_number(faces: int) -> None:
    if faces == 0:
        raise UserError("it has no faces, so there is nothing to show: export a mesh with faces.")
    if faces > MOST_FACES:
        raise UserError(
            f"it has {faces:,} faces, and at most {MOST_FACES:,} are taken: decimate it in the program that made it."
        )
