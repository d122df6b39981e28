"""Computes which pixels each object of a scene covers, from its pose and the mesh of its category,
without rendering."""

import math
from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from generator.assets.sets import find_mesh
from generator.scene.projection import project
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

Mask = NDArray[np.bool_]
"""[height, width]"""
_FINER = 3
"""Masks are drawn at this multiple of the resolution and sampled at the centre of each pixel."""


class ObjectMask(NamedTuple):
    """The pixels that an object covers."""

    whole: Mask
    """As if nothing hid it."""
    visible: Mask
    """The part that other objects leave visible."""


def object_masks(scene: Scene, vocabulary: Vocabulary, size: tuple[int, int]) -> list[ObjectMask]:
    """The mask of each object, in the scene's order. Nearer objects hide farther ones.

    Args:
        scene: The scene.
        vocabulary: The vocabulary of its family.
        size: Width and height of the image, pixels.

    Raises:
        UserError: A mesh is not installed.
        ValueError: An object is not in front of the camera.
    """
    whole = []
    distances = []
    for scene_object in scene.objects:
        whole.append(object_mask(scene_object, scene.camera, vocabulary, size))
        distances.append(math.dist(scene.camera.position, scene_object.position))

    # From the nearest on, each object loses the pixels of those before it. All of an object counts
    # as far away as the point it stands on.
    nearest_first = sorted(range(len(whole)), key=distances.__getitem__)
    hidden = np.zeros(size[::-1], bool)
    masks: dict[int, ObjectMask] = {}
    for i in nearest_first:
        masks[i] = ObjectMask(whole[i], whole[i] & ~hidden)
        hidden = hidden | whole[i]
    return [masks[i] for i in range(len(whole))]


def object_mask(
    scene_object: SceneObject, camera: Camera, vocabulary: Vocabulary, size: tuple[int, int]
) -> Mask:
    """Draw the mask of an object as if nothing hid it.

    Args:
        scene_object: The object.
        camera: The camera of its scene.
        vocabulary: The vocabulary of its family.
        size: Width and height of the image, pixels.

    Returns:
        The mask [height, width].

    Raises:
        UserError: The mesh is not installed.
        ValueError: The object is not in front of the camera.
    """
    mesh_name = vocabulary.meshes[scene_object.category]
    vertices, faces = _load_mesh(mesh_name, vocabulary.assets)

    # From the mesh to the world: scaled, turned about the vertical, moved.
    scale = vocabulary.scale(scene_object.category, scene_object.attributes)
    x, y, z = (vertices * scale).T
    cos, sin = math.cos(scene_object.heading), math.sin(scene_object.heading)
    right, along, up = scene_object.position
    world_x = x * cos - y * sin + right
    world_y = x * sin + y * cos + along
    column, row, depth = project(camera, world_x, world_y, z + up, *size)
    if not (depth > 0).all():
        raise ValueError(f"the {scene_object.category} is not in front of the camera")

    # Pillow fills every pixel that a polygon touches. Its pixel centres are integers, those of
    # `project` are at halves.
    points = _FINER * np.stack([column, row], 1) - 0.5
    drawing = Image.new("1", (_FINER * size[0], _FINER * size[1]))
    pen = ImageDraw.Draw(drawing)
    for faces_of_n_corners in faces:
        corners = points[faces_of_n_corners]
        is_large = np.ptp(corners, axis=1).max(1) > 1
        # Pillow takes a polygon as x, y, x, y and so on.
        n_numbers = 2 * corners.shape[1]
        polygons = corners[is_large].reshape(int(is_large.sum()), n_numbers)
        for polygon in polygons.tolist():
            pen.polygon(polygon, fill=1)
        # The corners alone fill a face that is smaller than a pixel.
        small_corners = corners[~is_large].round()
        pen.point(small_corners.reshape(-1).tolist(), fill=1)
    centres = slice(_FINER // 2, None, _FINER)
    return np.asarray(drawing)[centres, centres]


@cache
def _load_mesh(name: str, assets: str) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Vertices [n, 3] of a unit mesh, and its faces as vertex indices: an array [m, k] for each
    number of corners k."""
    mesh = find_mesh(name, assets)
    faces_by_corners = defaultdict[int, list[list[int]]](list)
    for face in mesh.faces:
        faces_by_corners[len(face)].append(face)
    faces = [np.asarray(of_n_corners) for of_n_corners in faces_by_corners.values()]
    return np.asarray(mesh.vertices, float), faces
