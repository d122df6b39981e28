"""What the centre of each pixel shows: which object, at what depth, with what normal; and from that each object's boxes.

Rays are cast on the meshes that are rendered. The engine's own passes blend neighbouring surfaces at every edge, and
differ between engines, qualities and devices.
"""

import math
from collections.abc import Sequence

import numpy as np

from generator.dataset.outputs import Box, ObjectBoxes, PixelOutputs
from generator.render.blender.rays import PosedMesh, RayCaster, amodal_box
from generator.scene.projection import axes
from generator.scene.scene import Scene


def trace_pixels(scene: Scene, caster: RayCaster) -> PixelOutputs:
    """What each pixel of a scene's image shows, by one ray through its centre."""
    width, height = caster.size
    mask = np.zeros((height, width), np.uint8)
    depth = np.full((height, width), math.inf)
    normals = np.zeros((height, width, 3))
    objects = caster.objects(scene)
    boxes = [amodal_box(posed.bounds(), caster.size) for posed in objects]
    amodal_pixels = []
    for i, (posed, (left, top, right, bottom)) in enumerate(zip(objects, boxes, strict=True)):
        rows, columns = np.mgrid[top:bottom, left:right].reshape(2, -1)
        depths, facing = posed.hits(_centers(rows, columns))
        amodal_pixels.append(int(np.isfinite(depths).sum()))
        nearer = depths < depth[rows, columns]
        there = rows[nearer], columns[nearer]
        mask[there], depth[there], normals[there] = i + 1, depths[nearer], facing[nearer]
    rows, columns = np.nonzero(mask == 0)
    depth[rows, columns], normals[rows, columns] = caster.ground(scene).hits(_centers(rows, columns))
    camera_from_world = np.array(axes(scene.camera.position, scene.camera.target))
    return PixelOutputs(
        mask,
        depth.astype(np.float32),
        (normals @ camera_from_world.T).astype(np.float32),
        _object_boxes(scene, objects, boxes, amodal_pixels, mask),
    )


def _centers(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Column and row [n, 2] of the centres of pixels."""
    return np.stack([columns, rows], axis=-1) + 0.5


def _object_boxes(
    scene: Scene, objects: Sequence[PosedMesh], boxes: Sequence[Box], amodal_pixels: Sequence[int], mask: np.ndarray
) -> list[ObjectBoxes]:
    found = []
    for i, (thing, posed, box, whole) in enumerate(zip(scene.objects, objects, boxes, amodal_pixels, strict=True)):
        rows, columns = np.nonzero(mask == i + 1)
        column, row = posed.center()
        fraction = round(len(rows) / whole, 6) if whole else 0.0
        visible_box = _box_around(rows, columns) if len(rows) else None
        center = (round(column, 3), round(row, 3))
        found.append(ObjectBoxes(i, thing.category, center, box, visible_box, len(rows), fraction))
    return found


def _box_around(rows: np.ndarray, columns: np.ndarray) -> Box:
    return (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
