"""What the centre of each pixel shows: which object, at what depth, with what normal; and from that each object's
boxes.

Rays are cast on the meshes that are rendered. The engine's own passes blend neighbouring surfaces at every edge, and
differ between engines, qualities and devices.
"""

from dataclasses import replace

import numpy as np

from generator.dataset.outputs import Box, ObjectBoxes, PixelOutputs
from generator.render.blender.rays import RayCaster
from generator.scene.projection import axes
from generator.scene.scene import Scene


def trace_objects(scene: Scene, caster: RayCaster) -> PixelOutputs:
    """What each pixel of a scene's image shows of its objects; elsewhere depth is infinite and the normal 0."""
    width, height = caster.size
    mask, depth = np.zeros((height, width), np.uint8), np.full((height, width), np.inf, np.float32)
    normals = np.zeros((height, width, 3), np.float32)
    objects = caster.objects(scene)
    boxes, whole = [posed.box() for posed in objects], []
    for i, (posed, (left, top, right, bottom)) in enumerate(zip(objects, boxes, strict=True)):
        rows, columns = np.mgrid[top:bottom, left:right].reshape(2, -1)
        depths, facing = posed.hits(rows, columns)
        whole.append(int(np.isfinite(depths).sum()))
        nearer = depths < depth[rows, columns]
        there = rows[nearer], columns[nearer]
        mask[there], depth[there], normals[there] = i + 1, depths[nearer], facing[nearer]
    found = []
    for i, (thing, posed) in enumerate(zip(scene.objects, objects, strict=True)):
        rows, columns = np.nonzero(mask == i + 1)
        column, row = posed.center()
        fraction = round(len(rows) / whole[i], 6) if whole[i] else 0.0
        around = _box_around(rows, columns) if len(rows) else None
        center = (round(column, 3), round(row, 3))
        found.append(ObjectBoxes(i, thing.category, center, boxes[i], around, len(rows), fraction))
    return PixelOutputs(mask, depth, normals @ _camera_from_world(scene).T, found)


def with_ground(objects: PixelOutputs, scene: Scene, caster: RayCaster) -> PixelOutputs:
    """What each pixel shows, the ground included."""
    depth, normals = objects.depth.copy(), objects.normals.copy()
    rows, columns = np.nonzero(objects.mask == 0)
    depth[rows, columns], facing = caster.ground(scene).hits(rows, columns)
    normals[rows, columns] = facing @ _camera_from_world(scene).T
    return replace(objects, depth=depth, normals=normals)


def _camera_from_world(scene: Scene) -> np.ndarray:
    return np.array(axes(scene.camera.position, scene.camera.target), np.float32)


def _box_around(rows: np.ndarray, columns: np.ndarray) -> Box:
    return (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
