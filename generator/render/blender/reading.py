"""Reads the meshes of a file with Blender; scripts in the file are never run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from generator.assets.finite_coordinates import check_obj, check_ply
from generator.base.errors import UserError
from generator.render.blender.finite_coordinates import check_fbx, check_gltf

MAX_FACES = 2_000_000


def read_file(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read all meshes of a file, joined where they stand in its scene, as Blender shows it (z up).

    Returns vertices float [n, 3], triangles int [m, 3], and a sentence for anything skipped that the user should know of.
    Raises UserError where the file is not of the format of its suffix, or has no faces or more than MAX_FACES.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    suffix = path.suffix.lower()
    try:
        if suffix in _CHECKS:
            _CHECKS[suffix](str(path))
        _OPENERS[suffix](str(path))
    except MemoryError:
        raise UserError(
            "it takes too much memory: it is damaged, or has far too many faces; export it again."
        ) from None
    except (RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError) as error:
        raise UserError(
            f"Blender cannot read it as {suffix} ({_reason(error)}): it is damaged or something else; export it again."
        ) from None
    vertices, faces = _joined()
    scripts = _scripts()
    return vertices, faces, [f"its scripts ({', '.join(scripts)}) were not run"] if scripts else []


def _reason(error: Exception) -> str:
    """The last line of an error that tells something. Blender ends its own with the place in its code."""
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("Location: ")]
    return (lines or ["no reason given"])[-1].removeprefix("Error: ").rstrip(".")


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
    """Vertices and triangles of the scene in world coordinates, as rendered: modifiers applied, hidden objects skipped."""
    objects = [each for each in bpy.context.scene.objects if each.type == "MESH" and not each.hide_render]
    _check_number(sum(len(each.data.polygons) for each in objects))
    graph = bpy.context.evaluated_depsgraph_get()
    evaluated = [each.evaluated_get(graph) for each in objects]
    _check_number(sum(len(each.data.polygons) for each in evaluated))
    vertices, triangles, before = [], [], 0
    for each in evaluated:
        mesh, world_from_mesh = each.data, np.array(each.matrix_world)
        mesh.calc_loop_triangles()
        points, corners = np.empty(len(mesh.vertices) * 3, np.float32), np.empty(len(mesh.loop_triangles) * 3, np.int32)
        mesh.vertices.foreach_get("co", points)
        mesh.loop_triangles.foreach_get("vertices", corners)
        vertices.append(points.reshape(-1, 3) @ world_from_mesh[:3, :3].T + world_from_mesh[:3, 3])
        triangles.append(corners.reshape(-1, 3) + before)
        before += len(mesh.vertices)
    return np.concatenate(vertices), np.concatenate(triangles)


def _scripts() -> list[str]:
    """The code in the file: names of its texts, and `a driver` where Blender refused to evaluate one."""
    blocked = bpy.app.autoexec_fail and bpy.app.autoexec_fail_message.startswith("Driver")
    return sorted(text.name for text in bpy.data.texts) + ["a driver"] * blocked


def _check_number(faces: int) -> None:
    if faces == 0:
        raise UserError("it has no faces, so there is nothing to show: export a mesh with faces.")
    if faces > MAX_FACES:
        raise UserError(
            f"it has {faces:,} faces, and at most {MAX_FACES:,} are taken: decimate it in the program that made it."
        )
