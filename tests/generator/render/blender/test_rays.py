"""Rays meet meshes where arithmetic and Blender say. tests/generator/dataset/test_outputs.py has
what follows."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from generator.scene.projection import project, ray
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary

VIEW, IMAGE = Camera((1.0, -8.0, 3.0), (0.2, 0.1, 0.5), 40.0, 36.0), (120, 90)
POSITION, HEADING, SCALE = (0.5, 0.7, 0.0), 0.6, 0.8
FAMILY = read_vocabulary("clevr")
ATTRIBUTES = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}


def turned_arch() -> list[Any]:
    """Every second pixel's depth and normal of a turned arch by our rays and by Blender's own in
    the scene; its box."""
    import bpy
    from mathutils import Vector

    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import PosedMesh, RayMesh

    bpy.ops.wm.read_factory_settings(use_empty=True)
    arch = bpy.data.objects.new("arch", build_mesh("arch"))
    bpy.context.scene.collection.objects.link(arch)
    arch.location, arch.rotation_euler, arch.scale = POSITION, (0.0, 0.0, HEADING), (SCALE,) * 3
    bpy.context.view_layer.update()
    rows, columns = np.mgrid[0:90:2, 0:120:2].reshape(2, -1)
    posed = PosedMesh(
        RayMesh(arch.data), VIEW, size=IMAGE, position=POSITION, heading=HEADING, scale=SCALE
    )
    depths, normals = posed.hits(rows, columns)
    ahead = (Vector(VIEW.target) - Vector(VIEW.position)).normalized()
    graph, theirs = bpy.context.evaluated_depsgraph_get(), []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        hit, place, normal, *_ = bpy.context.scene.ray_cast(
            graph, Vector(VIEW.position), Vector(ray(VIEW, column + 0.5, row + 0.5, *IMAGE))
        )
        theirs.append(
            [(place - Vector(VIEW.position)).dot(ahead), *normal] if hit else [math.inf, 0, 0, 0]
        )
    corners = [
        project(VIEW, *(arch.matrix_world @ vertex.co), *IMAGE)[:2] for vertex in arch.data.vertices
    ]
    return [np.column_stack([depths, normals]).tolist(), theirs, posed.box(), corners]


def test_a_posed_mesh_is_where_blender_puts_it(in_blender: Any) -> None:
    ours, theirs, box, corners = in_blender(turned_arch)
    ours, theirs, corners = np.array(ours), np.array(theirs), np.array(corners)
    both = np.isfinite(ours[:, 0]) & np.isfinite(theirs[:, 0])
    assert both.sum() > 60
    assert (np.isfinite(ours[:, 0]) != np.isfinite(theirs[:, 0])).sum() <= 2
    np.testing.assert_allclose(ours[both, 0], theirs[both, 0], atol=1e-3)
    alike = np.einsum(
        "nx,nx->n", ours[both, 1:], theirs[both, 1:]
    )  # Blender's are flat, ours are smooth at edges
    assert np.median(alike) > 0.999
    assert not ours[~np.isfinite(ours[:, 0]), 1:].any()
    assert box == [*np.floor(corners.min(axis=0)), *np.ceil(corners.max(axis=0))]


def sheet_hits() -> list[Any]:
    """What rays from above and below meet of a sheet that faces up, and one beside it."""
    import bpy

    from generator.render.blender.rays import RayMesh

    mesh = bpy.data.meshes.new("sheet")
    mesh.from_pydata([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [], [(0, 1, 2, 3)])
    origins = np.array([(0.1, 0.2, 3.0), (0.1, 0.2, -4.0), (1.5, 0.0, 3.0)])
    depths, normals = RayMesh(mesh).hits(
        origins, np.array([(0.0, 0.0, -1.0), (0.0, 0.0, 2.0), (0.0, 0.0, -1.0)])
    )
    return [depths.tolist(), normals.tolist()]


def test_a_sheet_faces_the_ray_on_both_sides(in_blender: Any) -> None:
    assert in_blender(sheet_hits) == [[3.0, 2.0, math.inf], [[0, 0, 1], [0, 0, -1], [0, 0, 0]]]


def traced(place: float) -> list[dict[str, Any]]:
    """What an image of 100x100 pixels shows of a sphere so many metres to the right."""
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import RayCaster, trace_objects

    camera = Camera((0.0, -10.0, 1.0), (0.0, 0.0, 1.0), 36.0, 36.0)
    sphere = SceneObject("sphere", ATTRIBUTES, (place, 0.0, 0.0), 0.0)
    scene = Scene((sphere,), camera, {}, next(iter(FAMILY.environments)))
    caster = RayCaster(
        FAMILY,
        meshes={"sphere": build_mesh("sphere")},
        find_ground=pytest.fail,
        width=100,
        height=100,
    )
    return [asdict(boxes) for boxes in trace_objects(scene, caster).boxes]


@pytest.mark.parametrize(
    ("place", "box", "pixels"), [(5.0, [91, 43, 100, 61], 113), (9.0, [100, 43, 100, 61], 0)]
)
def test_only_what_lies_within_the_image_counts(
    in_blender: Any, place: float, box: list[int], pixels: int
) -> None:
    """A sphere whose middle lies at the right edge of the image, where half of it covers 113
    pixels, or beyond it."""
    (boxes_of_sphere,) = in_blender(traced, place)
    assert (
        boxes_of_sphere["index"],
        boxes_of_sphere["category"],
        boxes_of_sphere["amodal_box"],
    ) == (0, "sphere", box)
    middle = FAMILY.scale(
        "sphere", ATTRIBUTES
    )  # metres above the ground; 10 m away 0.1 m is a pixel
    assert boxes_of_sphere["center"] == pytest.approx(
        [50 + 10 * place, 50 - 10 * (middle - 1)], abs=1e-3
    )
    assert abs(boxes_of_sphere["visible_pixels"] - pixels) < 6
    assert boxes_of_sphere["visible_fraction"] == (1.0 if pixels else 0.0)
