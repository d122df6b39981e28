"""Finds objects of a family with outlines that people could confuse.

Outlines are compared from the family's camera, over the headings that objects may have.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from generator.assets.sets import find_mesh
from generator.assets.shapes import UnitMesh
from generator.inspection.object_masks import Mask
from generator.scene.projection import project
from generator.scene.scene import Camera
from generator.vocabulary.schema import Vocabulary

Points = NDArray[np.float32]
"""Points (n, 3)."""

SIDE = 64
"""Width and height of a mask, pixels."""
HEADINGS = 8
"""Headings at which objects are compared."""
ALIKE = 0.95
"""Two objects look alike if the intersection over union of their masks is larger."""
_SPACING = 1.2 / SIDE
"""Distance of points on a surface, in units of its mesh: less than a pixel of a mask."""
_R2 = (0.7548776662466927, 0.5698402909980532)
"""Steps of Roberts' low-discrepancy sequence in two dimensions."""


def alike(vocabulary: Vocabulary) -> Iterator[tuple[str, str, float]]:
    """Pairs of objects that look alike, with the overlap of their masks (0..1).

    Each object stands at the origin, at eight of its possible headings. Its bounding box is scaled
    to fill a mask of 64 x 64 pixels. For each heading of one object, takes the largest intersection
    over union among the other's headings. The overlap is the mean over the headings, the larger of
    both directions. Raises UserError if a mesh is not installed.
    """
    names = list(vocabulary.objects)
    points: dict[str, Points] = {}
    masks_of_objects = []
    for name in names:
        mesh = vocabulary.meshes[name]
        if mesh not in points:
            points[mesh] = surface_points(find_mesh(mesh, vocabulary.assets))
        masks_of_objects.append(_masks_of(vocabulary, name, points[mesh]))
    masks = np.stack(masks_of_objects)

    # Intersections of all pairs of masks as one product of matrices: the area of a mask is its
    # product with itself.
    n_objects = len(names)
    flat = masks.reshape(n_objects * HEADINGS, -1).astype(np.float32)
    intersections = flat @ flat.T
    areas = flat.sum(1)
    unions = areas[:, None] + areas[None, :] - intersections
    overlaps = intersections / unions

    # By object, heading and other object; then by object and other object.
    by_heading = overlaps.reshape(n_objects, HEADINGS, n_objects, HEADINGS)
    best_overlap = by_heading.max(3)
    likeness = best_overlap.mean(1)
    likeness = np.maximum(likeness, likeness.T)
    # Each pair once.
    is_alike = np.triu(likeness > ALIKE, 1)
    for i, j in zip(*np.nonzero(is_alike), strict=True):
        yield names[i], names[j], float(likeness[i, j])


def _masks_of(vocabulary: Vocabulary, name: str, points: Points) -> Mask:
    """Masks (HEADINGS, SIDE, SIDE) of an object at headings spread over its possible range."""
    spec = vocabulary.objects[name]
    view = vocabulary.camera
    camera = Camera(view.position, view.target, view.lens, view.sensor)
    mean_scale = sum(vocabulary.scales) / len(vocabulary.scales)
    scaled_points = points * np.float32(mean_scale)
    middle = vocabulary.facing(name, view.position)
    turn = math.radians(spec.turn)
    masks = []
    for i in range(HEADINGS):
        # The middles of equal steps over the turn.
        heading = middle + turn * ((i + 0.5) / HEADINGS - 0.5)
        if spec.shows == "side":
            # Every other heading shows the other side.
            heading += math.pi * (i % 2)
        masks.append(mask(scaled_points, heading, camera))
    return np.stack(masks)


def mask(points: Points, heading: float, camera: Camera) -> Mask:
    """Draw the mask of an object, scaled so that it touches the edges.

    Args:
        points: Points on its surface (n, 3), metres.
        heading: Its turn about z, radians.
        camera: The camera that sees it at the origin.

    Returns:
        (SIDE, SIDE).
    """
    x, y, z = points.T
    cos = np.float32(math.cos(heading))
    sin = np.float32(math.sin(heading))
    turned_x = x * cos - y * sin
    turned_y = x * sin + y * cos
    # An image of 1 x 1 pixels: the scale follows from the outline itself.
    column, row, _ = project(camera, turned_x, turned_y, z, 1, 1)
    column = column - column.min()
    row = row - row.min()
    scale = (SIDE - 1) / max(column.max(), row.max())

    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[_centred(row * scale), _centred(column * scale)] = True
    # Points may miss a pixel between two that they hit.
    pixels[1:-1] |= pixels[:-2] & pixels[2:]
    pixels[:, 1:-1] |= pixels[:, :-2] & pixels[:, 2:]
    return pixels


def _centred(places: Points) -> NDArray[np.int32]:
    """Places from 0 on as pixels in the middle of a side of a mask."""
    margin = (SIDE - 1 - places.max()) / 2
    return (places + margin).round().astype(np.int32)


def surface_points(mesh: UnitMesh) -> Points:
    """Points (n, 3) spread evenly over the surface of a mesh, in units of the mesh.

    They are its vertices, and in each triangle a number of points in proportion to its area, from a
    low-discrepancy sequence (Roberts' R2).
    """
    vertices = np.asarray(mesh.vertices, np.float32)
    triangles = vertices[_triangles(mesh.faces)]
    first_edges = triangles[:, 1] - triangles[:, 0]
    second_edges = triangles[:, 2] - triangles[:, 0]
    areas = np.linalg.norm(np.cross(first_edges, second_edges), axis=1) / 2
    counts = (areas / _SPACING**2).astype(np.int64)

    # For each point its triangle, and its number within the triangle.
    triangle = np.repeat(np.arange(len(triangles)), counts)
    first_points = np.cumsum(counts) - counts
    number = np.arange(len(triangle)) - np.repeat(first_points, counts)

    # The sequence fills the square of both edges; its far half is folded onto the triangle.
    u, v = ((0.5 + number * step) % 1 for step in _R2)
    is_beyond = u + v > 1
    u = np.where(is_beyond, 1 - u, u)
    v = np.where(is_beyond, 1 - v, v)
    along_first = u[:, None].astype(np.float32) * first_edges[triangle]
    along_second = v[:, None].astype(np.float32) * second_edges[triangle]
    corners = triangles[triangle, 0]
    inside = corners + along_first + along_second
    return np.concatenate([vertices, inside])


def _triangles(faces: Iterable[list[int]]) -> NDArray[np.int64]:
    """Faces cut into triangles (n, 3) of vertex indices; the triangles of a face share its first
    corner."""
    faces_by_corners: dict[int, list[list[int]]] = {}
    for face in faces:
        faces_by_corners.setdefault(len(face), []).append(face)
    fans = []
    for n_corners, group in faces_by_corners.items():
        corners = np.asarray(group)
        for i in range(1, n_corners - 1):
            fans.append(corners[:, [0, i, i + 1]])
    return np.concatenate(fans)
