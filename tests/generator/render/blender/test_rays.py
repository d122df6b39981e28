"""Rays: they meet meshes where arithmetic says, and the posed mesh is the one that the camera sees."""

import math
from typing import Any

import numpy as np

from generator.scene.projection import project, unproject
from generator.scene.scene import Camera

CAMERA, SIZE = Camera((1.0, -8.0, 3.0), (0.2, 0.1, 0.5), 40.0, 36.0), (120, 90)
POSITION, HEADING, SCALE = (0.5, 0.7, 0.0), 0.6, 0.8


def sphere_hits(points: list[list[float]]) -> list[Any]:
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import PosedMesh, RayMesh

    posed = PosedMesh(RayMesh(build_mesh("sphere")), CAMERA, SIZE, POSITION, HEADING, SCALE)
    depths, normals = posed.hits(np.array(points))
    return [
        depths.tolist(),
        normals.tolist(),
        posed.distances(np.array(points)).tolist(),
        posed.bounds(),
        posed.center(),
    ]


def test_rays_meet_a_sphere_where_it_is(in_blender: Any) -> None:
    middle = np.add(POSITION, (0, 0, SCALE))
    center = project(CAMERA, *middle, *SIZE)[:2]
    points = [center, (center[0] + 4.0, center[1] - 3.0), (2.0, 2.0)]
    depths, normals, distances, bounds, found_center = in_blender(sphere_hits, points)
    for point, depth, normal, distance in zip(points[:2], depths, normals, distances, strict=False):
        place = np.array(unproject(CAMERA, *point, depth, *SIZE))
        assert abs(np.linalg.norm(place - middle) - SCALE) < 2e-3  # the sphere is made of flat faces
        np.testing.assert_allclose(normal, (place - middle) / SCALE, atol=0.02)
        assert abs(np.linalg.norm(place - CAMERA.position) - distance) < 1e-4
    assert math.isinf(depths[2])
    assert math.isinf(distances[2])
    assert normals[2] == [0, 0, 0]
    np.testing.assert_allclose(found_center, center, atol=1e-6)
    left, top, right, bottom = bounds
    assert left < center[0] < right
    assert top < center[1] < bottom


def turned_box() -> list[Any]:
    """Depths of a long box that is turned, by rays and by Blender's own ray cast in the scene."""
    import bpy
    from mathutils import Vector

    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import PosedMesh, RayMesh
    from generator.scene.projection import ray

    bpy.ops.wm.read_factory_settings(use_empty=True)
    shown = bpy.data.objects.new("arch", build_mesh("arch"))
    bpy.context.scene.collection.objects.link(shown)
    shown.location, shown.rotation_euler, shown.scale = POSITION, (0.0, 0.0, HEADING), (SCALE,) * 3
    bpy.context.view_layer.update()
    rows, columns = np.mgrid[0:90:2, 0:120:2].reshape(2, -1)
    points = np.stack([columns, rows], axis=-1) + 0.5
    own = PosedMesh(RayMesh(shown.data), CAMERA, SIZE, POSITION, HEADING, SCALE).distances(points)
    graph, theirs = bpy.context.evaluated_depsgraph_get(), []
    for column, row in points.tolist():
        hit, place, *_ = bpy.context.scene.ray_cast(
            graph, Vector(CAMERA.position), Vector(ray(CAMERA, column, row, *SIZE))
        )
        theirs.append((place - Vector(CAMERA.position)).length if hit else None)
    return [[None if math.isinf(each) else each for each in own.tolist()], theirs]


def test_a_posed_mesh_is_where_blender_puts_it(in_blender: Any) -> None:
    own, theirs = in_blender(turned_box)
    both = [(a, b) for a, b in zip(own, theirs, strict=True) if a is not None and b is not None]
    assert len(both) > 60
    assert sum((a is None) != (b is None) for a, b in zip(own, theirs, strict=True)) <= 2
    assert max(abs(a - b) for a, b in both) < 1e-3


def clipped() -> list[Any]:
    from generator.render.blender.rays import amodal_box

    return [
        amodal_box(bounds, SIZE)
        for bounds in ((-3.2, 10.5, 20.0, 30.1), (130.0, 5.0, 140.0, 9.0), (-9.0, 1.0, -2.0, 3.0))
    ]


def test_a_box_is_clipped_to_the_image(in_blender: Any) -> None:
    assert in_blender(clipped) == [[0, 10, 20, 31], [120, 5, 120, 9], [0, 1, 0, 3]]
