"""A worker process that reads, cleans and draws users' meshes. A file that crashes a parser crashes nothing else.

Each line on stdin is a request in JSON; a line of JSON answers it:

- {"read": file, "facing", "up", "out": npz}: reads a mesh file, cleans the mesh, writes it; answers {"mended":
  [sentences]}
- {"show": names, "assets", "side", "out": png}: draws meshes of an asset set from eight sides; answers {}

A request that cannot be met is answered by {"refused": sentence}. Blender is loaded only for the files that it alone
reads, and to draw.
"""

import json
import math
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from generator.base.errors import UserError

MAX_FACES = 2_000_000
_MOST_MEMORY = 8 << 30  # bytes; a mesh of MAX_FACES takes less, and a small file may state a far larger one
_Y_UP = (".obj", ".gltf", ".glb")  # formats in which y points up; the z of others does
_OF_BLENDER = (".fbx", ".blend")
_VIEWS = ("faces right", "", "faces away", "", "faces left", "", "faces you", "")
_CAMERA, _TARGET = (0.0, -5.4, 2.1), (0.0, 0.0, 0.85)


def main() -> None:
    """Answer requests until stdin ends. Blender's own output goes to stderr."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answered = answer(json.loads(line))
        except UserError as error:
            answered = {"refused": error.message}
        except (ImportError, MemoryError) as error:
            from generator.render.blender.system import load_fault

            answered = {"refused": load_fault(error) + "."}
        answers.write(json.dumps(answered) + "\n")
        answers.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Meet a request and return its answer. Raises UserError where it cannot be met."""
    if "show" in request:
        _draw(request["show"], request["assets"], request["side"]).save(request["out"])
        return {}
    from generator.assets.cleaning import cleaned

    vertices, faces, mended = read_file(Path(request["read"]))
    arrays, repairs = cleaned(vertices, faces, request["facing"], request["up"])
    np.savez(request["out"], **arrays)
    return {"mended": mended + repairs}


def read_file(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read all meshes of a file, joined where they stand in its scene, with z up.

    Returns vertices float [n, 3], triangles int [m, 3], and a sentence for anything skipped that the user should know
    of. Raises UserError where the file is not of the format of its suffix, or has no faces or more than MAX_FACES.
    """
    suffix = path.suffix.lower()
    try:
        vertices, faces, notes = _read_with_blender(path) if suffix in _OF_BLENDER else _read(path)
    except MemoryError:
        raise UserError(
            "it takes too much memory: it is damaged, or has far too many faces; export it again."
        ) from None
    except (UserError, ImportError):
        raise
    except Exception as error:  # parsers raise whatever they meet in a damaged file
        raise UserError(
            f"it cannot be read as {suffix} ({_reason(error)}): it is damaged or something else; export it again."
        ) from None
    _check_number(len(faces))
    return vertices, faces, notes


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    import trimesh

    if path.suffix.lower() == ".ply":
        return _read_ply(path)
    mesh = trimesh.load_scene(path, process=False, skip_materials=True).to_mesh()
    x, y, z = mesh.vertices.T
    return np.stack([x, -z, y] if path.suffix.lower() in _Y_UP else [x, y, z], axis=-1), mesh.faces, []


def _read_ply(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Faces of any numbers of corners, which trimesh does not read from a binary file."""
    from plyfile import PlyData

    elements = PlyData.read(path)
    vertices = np.stack([np.asarray(elements["vertex"][axis], np.float64) for axis in "xyz"], axis=-1)
    if "face" not in elements:
        return vertices, np.empty((0, 3), np.int64), []
    rows = elements["face"].data
    polygons = rows["vertex_indices" if "vertex_indices" in rows.dtype.names else "vertex_index"]
    triangles = [(face[0], face[i], face[i + 1]) for face in polygons for i in range(1, len(face) - 1)]
    faces = np.array(triangles, np.int64).reshape(-1, 3)
    if faces.size and not 0 <= faces.min() <= faces.max() < len(vertices):
        raise ValueError("a face has a vertex that is not there")
    return vertices, faces, []


def _read_with_blender(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The scene as Blender renders it: modifiers applied, hidden objects skipped. Scripts in the file are never run."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    if path.suffix.lower() == ".blend":
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
    else:
        _check_fbx(path)
        bpy.ops.import_scene.fbx(filepath=str(path))
    objects = [each for each in bpy.context.scene.objects if each.type == "MESH" and not each.hide_render]
    _check_number(sum(len(each.data.polygons) for each in objects))
    graph = bpy.context.evaluated_depsgraph_get()
    vertices, triangles, before = [], [], 0
    for each in [each.evaluated_get(graph) for each in objects]:
        mesh, world_from_mesh = each.data, np.array(each.matrix_world)
        _check_number(len(mesh.polygons))
        mesh.calc_loop_triangles()
        points, corners = np.empty(len(mesh.vertices) * 3, np.float32), np.empty(len(mesh.loop_triangles) * 3, np.int32)
        mesh.vertices.foreach_get("co", points)
        mesh.loop_triangles.foreach_get("vertices", corners)
        vertices.append(points.reshape(-1, 3) @ world_from_mesh[:3, :3].T + world_from_mesh[:3, 3])
        triangles.append(corners.reshape(-1, 3) + before)
        before += len(mesh.vertices)
    blocked = bpy.app.autoexec_fail and bpy.app.autoexec_fail_message.startswith("Driver")
    scripts = sorted(text.name for text in bpy.data.texts) + ["a driver"] * blocked
    notes = [f"its scripts ({', '.join(scripts)}) were not run"] if scripts else []
    return np.concatenate(vertices), np.concatenate(triangles), notes


def _check_fbx(path: Path) -> None:
    """Raises UserError where a vertex is not finite: Blender's importer reads it as 0."""
    from io_scene_fbx import parse_fbx

    from generator.assets.cleaning import check_coordinates

    waiting = [parse_fbx.parse(str(path))[0]]
    while waiting:
        element = waiting.pop()
        if element.id == b"Vertices":
            check_coordinates(np.asarray(element.props[0], np.float64).reshape(-1, 3))
        waiting += [each for each in element.elems if each is not None]


def _check_number(faces: int) -> None:
    if faces == 0:
        raise UserError("it has no faces, so there is nothing to show: export a mesh with faces.")
    if faces > MAX_FACES:
        raise UserError(
            f"it has {faces:,} faces, and at most {MAX_FACES:,} are taken: decimate it in the program that made it."
        )


def _reason(error: Exception) -> str:
    """The last line of an error that tells something. Blender ends its own with the place in its code."""
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("Location: ")]
    return (lines or ["no reason given"])[-1].removeprefix("Error: ").rstrip(".")


def _draw(names: Sequence[str], assets: str, side: int) -> Image.Image:
    """A sheet with a row for each mesh of an asset set: its name and its views, `side` pixels wide and high."""
    left, top, gap, line = 100, 8, 4, 20
    font = ImageFont.load_default(13)
    sheet = Image.new("RGB", (left + len(_VIEWS) * (side + gap), top + line + len(names) * (side + gap)), "white")
    pen = ImageDraw.Draw(sheet)
    for column, caption in enumerate(_VIEWS):
        pen.text((left + column * (side + gap), top), caption, "black", font)
    scene = _turntable(side)
    for row, name in enumerate(names):
        y = top + line + row * (side + gap)
        pen.text((6, y + side // 2), name, "black", font)
        for column, view in enumerate(_views(scene, name, assets)):
            sheet.paste(view, (left + column * (side + gap), y))
    return sheet


def _turntable(side: int) -> Any:
    """A scene of Blender with a grey floor, a lamp and a camera, for square images."""
    import bpy

    from generator.render.blender.materials import new_material
    from generator.render.blender.stage import configure, world_from_camera
    from generator.render.settings import read_quality

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    configure(scene, read_quality("draft"), side, side, 2)
    scene.render.use_persistent_data = False
    bpy.ops.mesh.primitive_plane_add(size=40)
    grey = new_material("floor")
    grey.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.25, 0.25, 0.25, 1.0)
    bpy.context.object.data.materials.append(grey)
    bpy.ops.object.light_add(type="SUN", rotation=(0.7, 0.3, 0.2))
    bpy.context.object.data.energy = 2.5
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.camera.matrix_world = world_from_camera(_CAMERA, _TARGET)
    scene.camera.data.lens = 62.0
    scene.collection.objects.link(scene.camera)
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.6, 0.6, 0.6, 1.0)
    return scene


def _views(scene: Any, name: str, assets: str) -> Iterator[Image.Image]:
    """RGB images of a mesh of an asset set: first facing right, then turned counter-clockwise by an eighth each time.

    Surfaces seen from inside are red. Raises UserError where the set has no such mesh.
    """
    import bpy

    from generator.render.blender.materials import new_material
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.textures import Nodes

    mesh, clay = build_mesh(name, assets), new_material("clay")
    nodes = Nodes(clay.node_tree)
    inside = nodes.add("NewGeometry").outputs["Backfacing"]
    color = nodes.mix(inside, (0.55, 0.45, 0.3), (1.0, 0.0, 0.0))
    nodes.set(clay.node_tree.nodes["Principled BSDF"].inputs["Base Color"], color)
    mesh.materials.append(clay)
    shown = bpy.data.objects.new(name, mesh)
    scene.collection.objects.link(shown)
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = str(Path(folder) / "view.png")
        for view in range(len(_VIEWS)):
            shown.rotation_euler = (0.0, 0.0, 2 * math.pi * view / len(_VIEWS))
            bpy.ops.render.render(write_still=True)
            with Image.open(scene.render.filepath) as image:
                yield image.convert("RGB")
    bpy.data.objects.remove(shown)


if __name__ == "__main__":
    main()
