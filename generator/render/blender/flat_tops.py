"""Checks that meshes are as flat on top as a family declares, and touch the ground where it says."""

import math
from collections.abc import Mapping

from mathutils import Vector

from generator.base.errors import UserError
from generator.render.blender.rays import RayMesh
from generator.vocabulary.schema import Vocabulary

_TOLERANCE = 1e-4  # in units of an object's scale
_RINGS, _SPOKES = 6, 24


def check_flat_tops(vocabulary: Vocabulary, meshes: Mapping[str, RayMesh]) -> None:
    """Cast vertical rays over the declared discs of each unit mesh.

    Raises UserError where a declared top is not the flat, highest part of the mesh, or where no part of the mesh touches
    the ground within a declared foot.
    """
    for name, declared in vocabulary.objects.items():
        mesh = meshes[name]
        if declared.top is not None:
            highest = float(mesh.vertices[:, 2].max())
            heights = _heights(mesh, declared.top.radius, downwards=True)
            if max(abs(height - declared.top.height) for height in (highest, *heights)) > _TOLERANCE:
                raise UserError(
                    f"objects.{name}.top: height = {declared.top.height} and radius = {declared.top.radius}, where the mesh "
                    f"is {highest:.5f} high and within that radius as low as {min(heights):.5f}; declare the disc on which "
                    f"it is flat, or no top."
                )
        if declared.foot is not None and min(_heights(mesh, declared.foot, downwards=False)) > 10 * _TOLERANCE:
            raise UserError(
                f"objects.{name}.foot = {declared.foot}: the mesh does not touch the ground within that radius of its axis; "
                f"declare a larger one, or no foot."
            )


def _heights(mesh: RayMesh, radius: float, downwards: bool) -> list[float]:
    """Heights at which vertical rays over a disc about the axis meet a mesh; -10 or 10, beyond it, for a miss."""
    start, direction = (10.0, Vector((0.0, 0.0, -1.0))) if downwards else (-10.0, Vector((0.0, 0.0, 1.0)))
    found = []
    for ring in range(_RINGS + 1):
        for spoke in range(_SPOKES):
            angle, distance = 2 * math.pi * spoke / _SPOKES, radius * ring / _RINGS
            place = mesh.tree.ray_cast(
                Vector((distance * math.cos(angle), distance * math.sin(angle), start)), direction
            )[0]
            found.append(-start if place is None else place.z)
    return found
