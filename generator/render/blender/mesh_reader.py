"""Reads a mesh file or panorama of the user, in a bounded process (generator/base/bounded.py). Blender is loaded only
for formats that need it.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from generator.base.errors import UserError
from generator.render.blender.system import load_fault

MAX_FACES = 2_000_000
MAX_ROWS = 512  # of a panorama: the backdrop is out of focus
_OF_BLENDER = (".fbx", ".blend", ".ply")


def store_mesh(path: Path, out: str) -> Iterator[None]:
    """Write the vertices and faces of a mesh file to the archive `out`; yields nothing. Raises UserError."""
    try:
        vertices, faces = read_file(path)
    except (ImportError, MemoryError) as error:
        raise UserError(load_fault(error) + ".") from None
    np.savez(out, vertices=vertices, faces=faces)
    yield from ()


def store_panorama(path: Path, out: str) -> Iterator[None]:
    """Write the linear light [h, w, 3] of a panorama, top row first, to the archive `out`; yields nothing.

    A larger panorama is scaled down to 1024 x 512 pixels. Raises UserError.
    """
    try:
        import bpy

        image = bpy.data.images.load(str(path))
    except (ImportError, MemoryError) as error:
        raise UserError(load_fault(error) + ".") from None
    except RuntimeError as error:
        raise UserError(f"it cannot be read ({_reason(error)}): export it again.") from None
    width, height = image.size
    if not 0 < width == 2 * height:
        raise UserError(
            f"it has {width}x{height} pixels, and a panorama of all directions (equirectangular) is twice as wide as "
            f"high: take such an image, or export it again."
        )
    if height > MAX_ROWS:
        image.scale(2 * MAX_ROWS, MAX_ROWS)
        width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(pixels)
    light = pixels.reshape(height, width, 4)[::-1, :, :3]
    if not np.isfinite(light).all():
        raise UserError("it has colours that are not finite numbers: export it again.")
    if light.max() <= 0:
        raise UserError("it is black, so it would give no light: export it again.")
    np.savez(out, pixels=light)
    yield from ()


def read_file(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read all meshes of a file, joined at their places in its scene, in the axes of the file.

    Returns vertices float [n, 3] and triangles int [m, 3]. Raises UserError where the file is not of the format of its
    suffix, or has no faces or more than MAX_FACES.
    """
    import trimesh

    suffix = path.suffix.lower()
    try:
        if suffix in _OF_BLENDER:
            vertices, faces = _read_with_blender(path)
        else:
            mesh = trimesh.load_scene(path, process=False, skip_materials=True).to_mesh()
            vertices, faces = mesh.vertices, mesh.faces
    except MemoryError:
        raise UserError(
            "it takes too much memory: it is damaged, or has far too many faces; export it again."
        ) from None
    except ImportError:
        raise
    except Exception as error:  # on a damaged file, parsers raise any kind of error
        raise UserError(
            f"it cannot be read as {suffix} ({_reason(error)}): it is damaged or has another format; export it again."
        ) from None
    if len(faces) == 0:
        raise UserError("it has no faces, so there is nothing to show: export a mesh with faces.")
    if len(faces) > MAX_FACES:
        raise UserError(
            f"it has {len(faces):,} faces, and at most {MAX_FACES:,} are allowed: decimate it in the program that "
            f"made it."
        )
    return vertices, faces


def _read_with_blender(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The scene as Blender renders it: modifiers applied, hidden objects skipped. Scripts in the file are never run."""
    import bpy

    from generator.render.blender.meshes import read_vectors

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    if path.suffix.lower() == ".blend":
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
    elif path.suffix.lower() == ".fbx":
        bpy.ops.import_scene.fbx(filepath=str(path))
    else:
        bpy.ops.wm.ply_import(filepath=str(path))
    graph = bpy.context.evaluated_depsgraph_get()
    vertices, triangles, before = [np.empty((0, 3))], [np.empty((0, 3), np.int32)], 0
    for each in bpy.context.scene.objects:
        if each.type == "MESH" and not each.hide_render:
            shown = each.evaluated_get(graph)
            world_from_mesh = np.array(shown.matrix_world)
            shown.data.calc_loop_triangles()
            points = read_vectors(shown.data.vertices, "co", np.float32)
            vertices.append(points @ world_from_mesh[:3, :3].T + world_from_mesh[:3, 3])
            triangles.append(read_vectors(shown.data.loop_triangles, "vertices", np.int32) + before)
            before += len(points)
    return np.concatenate(vertices), np.concatenate(triangles)


def _reason(error: Exception) -> str:
    """The last informative line of an error. Blender's own errors end with a location in its code."""
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("Location: ")]
    return (lines or ["no reason given"])[-1].removeprefix("Error: ").rstrip(".")
