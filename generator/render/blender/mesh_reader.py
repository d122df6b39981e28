"""Reads a user's mesh file with Blender's importers, or a panorama, in a bounded process
(generator/base/bounded.py).

What Blender skips, it only prints. So its output is read: skipped faces refuse the file, other
parts become notes.
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from generator.assets.gltf import DRACO, reduce_gltf
from generator.base.errors import UserError
from generator.render.blender.system import load_fault

if TYPE_CHECKING:
    import bpy

MAX_FACES = 2_000_000
"""Triangles of a file; more take too much memory."""
MAX_ROWS = 512
"""Rows of a panorama; more would not be seen, since the backdrop is out of focus."""

_GLTF = (".gltf", ".glb")
_WITHOUT_SURFACE = {
    "CURVE": "a curve without thickness",
    "CURVES": "hair",
    "FONT": "a text without thickness",
    "GREASEPENCIL": "a drawing",
    "MESH": "a mesh of points or lines only",
    "META": "a metaball",
    "POINTCLOUD": "a point cloud",
    "SURFACE": "a curved surface without faces",
    "VOLUME": "a volume",
}
"""What an object of a type is that shows no face. Types that never have a surface are missing, such
as lamps."""

# What Blender's importers print.
_WARNING = re.compile(
    r"^(?:(?:WARN|ERROR) \([\w.]+\): \S+:\d+ \w+: "  # Blender 4.5
    r"|.*\| (?:WARNING|ERROR):? "  # Blender 5.2, and the importer of glTF
    r"|(?:Warning|Error): )(.+)$",
    re.MULTILINE,
)
_DAMAGE = re.compile(
    r"invalid|ignoring face|skipping primitive|out of range|unable to", re.IGNORECASE
)
"""A warning that part of the shape is lost."""
_APPEARANCE = re.compile(r"\bmtl\b|materials?\b|textures?\b|images?\b|\buv\b", re.IGNORECASE)
"""A warning that concerns no shape."""
_MOST_NOTES = 5
"""Notes on parts of one sort: a file may have thousands of them."""

_OBJ_NOT_A_NUMBER = re.compile(
    rb"^[ \t]*v[ \t](?![ \t]*(?:[-+.\deE]+(?:[ \t\r\n\\]+|\Z)){3})[^\n]*", re.MULTILINE
)
"""A line of an .obj for a vertex that is not three numbers; Blender reads zeros there."""
_FBX_CURVED = re.compile(
    rb'(?:"|S.\0\0\0)(NurbsCurve|NurbsSurface|TrimNurbsSurface|Patch|Boundary)\b', re.DOTALL
)
"""The sort of a geometry of an .fbx that Blender skips, in a text file and in a binary one."""


def store_mesh(path: Path, out: str) -> Iterator[str]:
    """Write the vertices and faces of a mesh file to an archive.

    Args:
        path: The mesh file.
        out: The path of the archive, with the arrays `vertices` and `faces`.

    Yields:
        The notes of `read_file`.

    Raises:
        UserError: The file cannot be read.
    """
    try:
        vertices, faces, notes = read_file(path, Path(out).parent)
    except (ImportError, MemoryError) as error:
        raise UserError(load_fault(error) + ".") from None
    np.savez(out, vertices=vertices, faces=faces)
    yield from notes


def store_panorama(path: Path, out: str) -> Iterator[None]:
    """Write the linear light of a panorama to an archive.

    A larger panorama is scaled down to 1024 x 512 pixels.

    Args:
        path: The file of the panorama.
        out: The path of the archive, with the array `pixels`: float32 [h, w, 3], top row first.

    Returns:
        An iterator without items.

    Raises:
        UserError: The file cannot be read or is not a panorama.
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
            f"it has {width}x{height} pixels, and a panorama of all directions (equirectangular) "
            f"is twice as wide as high: take such an image, or export it again."
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


def read_file(path: Path, scratch: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read the surfaces of a mesh file, joined at their places in its scene.

    Args:
        path: A file of a format in `generator.assets.importing.MESHES`.
        scratch: A folder for temporary files.

    Returns:
        Vertices, float [n, 3], in the axes of the file (for .fbx in Blender's: z up, facing -y);
        triangles, int [m, 3]; and a clause for each part that was left out.

    Raises:
        UserError: The file is damaged or not of the format of its suffix, needs an extension that
            is not read, or has no faces or more than MAX_FACES.
    """
    suffix = path.suffix.lower()
    try:
        notes = _load(path, suffix, scratch)
        vertices, faces, without_surface = _read_surfaces()
    except MemoryError:
        raise UserError(
            "it takes too much memory: it is damaged, or has far too many faces; export it again."
        ) from None
    except (ImportError, UserError):
        raise
    except Exception as error:  # on a damaged file, parsers raise any kind of error
        raise UserError(
            f"it cannot be read as {suffix} ({_reason(error)}): it is damaged or has another "
            f"format; export it again."
        ) from None
    notes += without_surface
    if len(faces) == 0:
        left_out = f" ({'; '.join(notes)})" if notes else ""
        raise UserError(
            f"it has no faces, so there is nothing to show{left_out}: export a mesh with faces."
        )
    if len(faces) > MAX_FACES:
        raise UserError(
            f"it has {len(faces):,} faces, and at most {MAX_FACES:,} are allowed: decimate it in "
            f"the program that made it."
        )
    if suffix in _GLTF:
        # Blender turns (x, y, z) of a glTF file into (x, -z, y).
        vertices = vertices[:, [0, 2, 1]] * (1, 1, -1)
    return vertices, faces, notes


def _load(path: Path, suffix: str, scratch: Path) -> list[str]:
    """Open a file in Blender as its only scene; returns a clause for each part that was not read.

    Scripts in it are never run.
    """
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    if suffix in _GLTF:
        reduced = reduce_gltf(path, scratch)
        try:
            return reduced.notes + _import(reduced.path, ".gltf", scratch)
        except Exception as error:
            if not reduced.compressed:
                raise
            raise UserError(
                f"it uses {DRACO}, which Blender {bpy.app.version_string} could not read "
                f"({_reason(error)}): export it without this compression."
            ) from None
    if suffix == ".obj":
        line = _OBJ_NOT_A_NUMBER.search(path.read_bytes())
        if line:
            vertex = line[0].decode(errors="replace").strip()[:40]
            raise ValueError(f"its vertex '{vertex}' is not three numbers")
    notes = _import(path, suffix, scratch)
    if suffix == ".fbx":
        kinds = dict.fromkeys(_FBX_CURVED.findall(path.read_bytes()))
        notes += [f"geometry of the kind {kind.decode()} was left out" for kind in kinds]
    return notes


def _import(path: Path, suffix: str, scratch: Path) -> list[str]:
    """Call Blender's importer of a format; returns its warnings as clauses. Raises ValueError where
    it skips faces."""
    log = scratch / "import.log"
    with _output_to(log):
        _call_importer(path, suffix)
    printed = log.read_text(encoding="utf-8", errors="replace")
    warnings = dict.fromkeys(_WARNING.findall(printed))
    notes = []
    for warning in warnings:
        if _APPEARANCE.search(warning):
            continue
        if _DAMAGE.search(warning):
            raise ValueError(warning.rstrip("."))
        notes.append(f"Blender says: {warning.rstrip('.')}")
    return _first_notes(notes)


def _call_importer(path: Path, suffix: str) -> None:
    """Open a file in Blender.

    Axes stay as they are in the file; and checks of Blender are off where it would mend a mesh
    without a word.
    """
    import bpy

    filepath = str(path)
    axes = {"forward_axis": "Y", "up_axis": "Z"}
    if suffix == ".gltf":
        bpy.ops.import_scene.gltf(
            filepath=filepath, bone_heuristic="TEMPERANCE", import_shading="FLAT"
        )
    elif suffix == ".obj":
        bpy.ops.wm.obj_import(filepath=filepath, validate_meshes=False, **axes)
    elif suffix == ".ply":
        bpy.ops.wm.ply_import(filepath=filepath, import_attributes=False, **axes)
    elif suffix == ".stl":
        bpy.ops.wm.stl_import(filepath=filepath, use_mesh_validate=False, **axes)
    elif suffix == ".fbx":
        bpy.ops.wm.fbx_import(filepath=filepath, use_anim=False, validate_meshes=False)
    else:
        bpy.ops.wm.open_mainfile(filepath=filepath, load_ui=False, use_scripts=False)
        _show_what_renders(bpy.context.scene, bpy.context.view_layer)


@contextmanager
def _output_to(file: Path) -> Iterator[None]:
    """Send what this process and its libraries print to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender writes to the descriptors themselves, so replacing sys.stdout is not enough.
    copies = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    with file.open("wb") as log:
        for descriptor in copies:
            os.dup2(log.fileno(), descriptor)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)  # Blender prints through the buffers of C
        for descriptor, copy in copies.items():
            os.dup2(copy, descriptor)
            os.close(copy)


def _read_surfaces() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The surfaces of Blender's scene: modifiers applied, instances made, hidden objects skipped.

    Returns vertices [n, 3], triangles [m, 3], and a clause for each object without a surface.
    """
    import bpy

    from generator.render.blender.meshes import read_vectors

    graph = bpy.context.evaluated_depsgraph_get()
    # An array of each instance; empty ones first, so that they can be joined in any case.
    vertices = [np.empty((0, 3))]
    triangles = [np.empty((0, 3), np.int32)]
    n_vertices = n_triangles = 0
    without_surface: dict[str, str] = {}
    with_surface = set()
    for instance in graph.object_instances:
        obj = instance.object
        if not instance.show_self or not obj.visible_camera:
            continue
        if obj.type != "MESH" or len(obj.data.polygons) == 0:
            if obj.type in _WITHOUT_SURFACE:
                without_surface[obj.name] = _WITHOUT_SURFACE[obj.type]
            continue
        world_from_mesh = np.array(instance.matrix_world)
        obj.data.calc_loop_triangles()
        points = read_vectors(obj.data.vertices, "co", np.float32)
        corners = read_vectors(obj.data.loop_triangles, "vertices", np.int32)
        rotation, translation = world_from_mesh[:3, :3], world_from_mesh[:3, 3]
        vertices.append(points @ rotation.T + translation)
        triangles.append(corners + n_vertices)
        n_vertices += len(points)
        n_triangles += len(corners)
        if _has_area(points, corners):
            with_surface.add(obj.name)
        else:
            without_surface[obj.name] = "a mesh whose faces have no area"
        # Instances of instances can state more than any memory holds.
        if n_triangles > MAX_FACES:
            break
    notes = []
    for name, kind in without_surface.items():
        # A curve with thickness is listed twice: as a curve, and as the mesh of its surface.
        if name not in with_surface:
            notes.append(f"'{name}' was left out, {kind}")
    return np.concatenate(vertices), np.concatenate(triangles), _first_notes(notes)


def _show_what_renders(scene: "bpy.types.Scene", layer: "bpy.types.ViewLayer") -> None:
    """Make the viewport show what a render shows: Python sees only objects and modifiers as in the
    viewport."""
    import bpy

    for collection in (*bpy.data.collections, scene.collection):
        collection.hide_viewport = collection.hide_render
    for item in bpy.data.objects:
        item.hide_viewport = item.hide_render
        item.show_instancer_for_viewport = item.show_instancer_for_render
        for modifier in item.modifiers:
            modifier.show_viewport = modifier.show_render
    waiting = [layer.layer_collection]
    while waiting:
        collection = waiting.pop()
        collection.hide_viewport = False
        waiting += collection.children
    layer.update()
    for item in layer.objects:
        item.hide_set(False, view_layer=layer)


def _has_area(points: np.ndarray, corners: np.ndarray) -> bool:
    """Whether any triangle is more than a line; numbers that are not finite count, since they are
    refused later."""
    first, second, third = (points[corners[:, i]] for i in range(3))
    across = np.cross(second - first, third - first)
    doubled_areas = np.linalg.norm(across, axis=1)
    return not (doubled_areas == 0).all()


def _first_notes(notes: list[str]) -> list[str]:
    """The first notes, and how many more there are."""
    n_more = len(notes) - _MOST_NOTES
    if n_more <= 0:
        return notes
    return [*notes[:_MOST_NOTES], f"and {n_more} more parts"]


def _reason(error: Exception) -> str:
    """The last informative line of an error. Blender's own errors end with a location in its
    code."""
    reason = "no reason given"
    for line in str(error).strip().splitlines():
        if not line.startswith("Location: "):
            reason = line
    reason = reason.removeprefix("Error: ").rstrip(".")
    # The text of such an error is only the key or the number.
    if isinstance(error, LookupError):
        return f"{type(error).__name__}: {reason}"
    return reason
