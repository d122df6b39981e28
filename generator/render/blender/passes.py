"""What the centre of each pixel shows: which object, at what depth, with what normal; and from that each object's
boxes.

Rays are cast on the meshes that are rendered. The engine's own passes blend neighbouring surfaces at every edge, and
differ between engines, qualities and devices.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


_RAYS = 24  # along the longer side of an object's bounds: its area is known within a few percent

_Bounds = tuple[float, float, float, float]


@dataclass(frozen=True)
class Visibility:
    """How much of an object an image shows.

    `amodal_box`: left, top, right, bottom of the whole object as if nothing hid it, clipped to the image, in whole
    pixels, right and bottom exclusive. `visible_area`: the area that shows it, in pixels. `visible_fraction`: that area
    over the area that would show it if nothing hid it, 0..1. What lies outside the image counts in neither.
    """

    amodal_box: Box
    visible_area: float
    visible_fraction: float


def estimate_visibility(objects: Sequence[PosedMesh], size: tuple[int, int]) -> list[Visibility]:
    """The visibility of each object of a scene, in an image of that width and height."""
    bounds = [_clipped(each.bounds(), size) for each in objects]
    return [_estimate(i, objects, bounds, size) for i in range(len(objects))]


def _estimate(i: int, objects: Sequence[PosedMesh], bounds: Sequence[_Bounds], size: tuple[int, int]) -> Visibility:
    """Cast rays in a grid over the object's bounds; where one meets the object, ask the others whether they are
    nearer.
    """
    box = amodal_box(bounds[i], size)
    if box[0] >= box[2] or box[1] >= box[3]:
        return Visibility(box, 0.0, 0.0)
    points, step = _grid(bounds[i])
    distances = objects[i].distances(points)
    hit = np.isfinite(distances)
    points, distances = points[hit], distances[hit]
    visible = np.ones(len(points), bool)
    for j, other in enumerate(objects):
        asked = visible & _near(points, bounds[j], step)
        if j != i and asked.any():
            visible[asked] = distances[asked] <= other.distances(points[asked])
    n = int(visible.sum())
    fraction = round(n / len(points), 3) if len(points) else 0.0
    return Visibility(box, round(n * step * step, 1), fraction)


def _clipped(bounds: _Bounds, size: tuple[int, int]) -> _Bounds:
    left, top, right, bottom = bounds
    return max(left, 0.0), max(top, 0.0), min(right, float(size[0])), min(bottom, float(size[1]))


def _grid(bounds: _Bounds) -> tuple[np.ndarray, float]:
    """The centres [n, 2] of the squares of a grid over bounds, and the side of a square in pixels."""
    left, top, right, bottom = bounds
    step = max(right - left, bottom - top) / _RAYS
    columns = left + (np.arange(math.ceil((right - left) / step)) + 0.5) * step
    rows = top + (np.arange(math.ceil((bottom - top) / step)) + 0.5) * step
    return np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2), step


def _near(points: np.ndarray, bounds: _Bounds, margin: float) -> np.ndarray:
    """Which points [n, 2] lie within bounds or within a margin of them: bool [n]."""
    left, top, right, bottom = bounds
    column, row = points.T
    return (left - margin < column) & (column < right + margin) & (top - margin < row) & (row < bottom + margin)
