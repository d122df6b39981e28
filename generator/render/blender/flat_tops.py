"""Whether meshes are as flat on top as a family declares, and touch what is under them where it says."""

import math

import bpy
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from generator.dataset.errors import UserError
from generator.vocabulary.schema import Vocabulary

_TOLERANCE = 1e-4  # in units of an object's scale
_RINGS, _SPOKES = 6, 24


def check_tops(vocabulary: Vocabulary, meshes: dict[str, bpy.types.Mesh]) -> None:
    """Raises UserError where a declared top is not the flat, highest part of the unit mesh, or where a foot finds nothing
    of the mesh to stand on; found by vertical rays over the declared discs."""
    for name, kind in vocabulary.objects.items():
        if kind.top is None and kind.foot is None:
            continue
        mesh = meshes[name]
        tree = BVHTree.FromPolygons([v.co for v in mesh.vertices], [tuple(p.vertices) for p in mesh.polygons])
        highest = max(v.co.z for v in mesh.vertices)
        if kind.top is not None:
            heights = _heights(tree, kind.top.radius, -1)
            if max(abs(height - kind.top.height) for height in (highest, *heights)) > _TOLERANCE:
                raise UserError(
                    f"objects.{name}.top: height = {kind.top.height} and radius = {kind.top.radius}, where the mesh is "
                    f"{highest:.5f} high and within that radius as low as {min(heights):.5f}; declare the disc on which it "
                    f"is flat, or no top."
                )
        if kind.foot is not None and min(_heights(tree, kind.foot, 1)) > 10 * _TOLERANCE:
            raise UserError(
                f"objects.{name}.foot = {kind.foot}: the mesh does not touch the ground within that radius of its axis; "
                f"declare a larger one, or no foot."
            )


def _heights(tree: BVHTree, radius: float, way: int) -> list[float]:
    """Heights at which vertical rays over a disc, downwards (-1) or upwards (1), meet a mesh; far away for a miss."""
    found = []
    for ring in range(_RINGS + 1):
        for spoke in range(_SPOKES):
            angle, reach = 2 * math.pi * spoke / _SPOKES, radius * ring / _RINGS
            start = Vector((reach * math.cos(angle), reach * math.sin(angle), -10.0 * way))
            place = tree.ray_cast(start, Vector((0.0, 0.0, way)))[0]
            found.append(10.0 * way if place is None else place.z)
    return found
