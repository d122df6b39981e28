"""Computes the mask of each object in an image from its recorded pose and the mesh of its
category."""

import math
from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from generator.assets.sets import find_mesh
from generator.scene.projection import project
from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

Mask = NDArray[np.bool_]
# outlines are drawn at this multiple of the resolution and sampled at the centre of each pixel
_FINER = 3


class Outline(NamedTuple):
    """Masks [height, width] of an object: as if nothing hid it, and the part that other objects
    leave visible."""

    whole: Mask
    visible: Mask


def outlines(scene: Scene, vocabulary: Vocabulary, size: tuple[int, int]) -> list[Outline]:
    """The outline of each object, in the scene's order.

    `size`: width and height of the image, pixels. Nearer objects hide farther ones. Raises
    UserError if a mesh is not
    installed, and ValueError if an object is not in front of the camera.
    """
    whole = [outline(thing, scene.camera, vocabulary, size) for thing in scene.objects]
    eye = scene.camera.position
    nearest_first = sorted(
        range(len(whole)), key=lambda i: math.dist(eye, scene.objects[i].position)
    )
    hidden, found = np.zeros(size[::-1], bool), dict[int, Outline]()
    for i in nearest_first:
        found[i] = Outline(whole[i], whole[i] & ~hidden)
        hidden = hidden | whole[i]
    return [found[i] for i in range(len(whole))]


def shadows(scene: Scene, vocabulary: Vocabulary, size: tuple[int, int]) -> Mask:
    """Mask [height, width] of the shadows that objects cast on a bare floor in sunlight. Raises as
    `outlines` does."""
    found = np.zeros(size[::-1], bool)
    for sun in (
        lamp.position
        for lamp in scene.lamps.values()
        if lamp.type == "sun" and lamp.position[2] > 0
    ):
        for thing in scene.objects:
            found |= outline(thing, scene.camera, vocabulary, size, sun)
    return found


def outline(
    thing: SceneObject,
    camera: Camera,
    vocabulary: Vocabulary,
    size: tuple[int, int],
    sun: Point | None = None,
) -> Mask:
    """The mask [height, width] of an object as if nothing hid it; with `sun`, of its shadow on the
    floor.

    `sun`: a point in the direction of the sun, seen from the origin.
    """
    vertices, faces = _mesh(vocabulary.meshes[thing.category], vocabulary.assets)
    x, y, z = (vertices * vocabulary.scale(thing.category, thing.attributes)).T
    cos, sin = math.cos(thing.heading), math.sin(thing.heading)
    right, along, up = thing.position
    x, y, z = x * cos - y * sin + right, x * sin + y * cos + along, z + up
    if sun is not None:
        x, y, z = x - z * sun[0] / sun[2], y - z * sun[1] / sun[2], 0 * z
    column, row, depth = project(camera, x, y, z, *size)
    if not (depth > 0).all():
        raise ValueError(f"the {thing.category} is not in front of the camera")
    # Pillow fills every pixel that a polygon touches. Its pixel centres are integers, those of
    # `project` are at halves
    points = _FINER * np.stack([column, row], 1) - 0.5
    drawn = Image.new("1", (_FINER * size[0], _FINER * size[1]))
    pen = ImageDraw.Draw(drawn)
    for corners in (points[each] for each in faces):
        coarse = (
            np.ptp(corners, axis=1).max(1) > 1
        )  # smaller faces are filled by their corners alone
        for polygon in corners[coarse].reshape(int(coarse.sum()), 2 * corners.shape[1]).tolist():
            pen.polygon(polygon, fill=1)
        pen.point(corners[~coarse].round().reshape(-1).tolist(), fill=1)
    return np.asarray(drawn)[_FINER // 2 :: _FINER, _FINER // 2 :: _FINER]


@cache
def _mesh(name: str, assets: str) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Vertices [n, 3] of a unit mesh, and its faces as vertex indices: an array [m, k] for each
    number of corners k."""
    mesh = find_mesh(name, assets)
    faces = defaultdict[int, list[list[int]]](list)
    for face in mesh.faces:
        faces[len(face)].append(face)
    return np.asarray(mesh.vertices, float), [np.asarray(each) for each in faces.values()]
