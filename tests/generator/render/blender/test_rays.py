"""Rays meet meshes where arithmetic and Blender say; masks, depth, normals, boxes and visibility follow from them."""

import math
from typing import Any

import numpy as np

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_scenes
from generator.render.settings import read_quality
from generator.scene.projection import project, unproject
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary

VIEW, IMAGE = Camera((1.0, -8.0, 3.0), (0.2, 0.1, 0.5), 40.0, 36.0), (120, 90)


POSITION, HEADING, SCALE = (0.5, 0.7, 0.0), 0.6, 0.8


def sphere_hits(points: list[list[float]]) -> list[Any]:
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import PosedMesh, RayMesh

    posed = PosedMesh(RayMesh(build_mesh("sphere")), VIEW, IMAGE, POSITION, HEADING, SCALE)
    depths, normals = posed.hits(np.array(points))
    return [
        depths.tolist(),
        normals.tolist(),
        posed.bounds(),
        posed.center(),
    ]


def test_rays_meet_a_sphere_where_it_is(in_blender: Any) -> None:
    middle = np.add(POSITION, (0, 0, SCALE))
    center = project(VIEW, *middle, *IMAGE)[:2]
    points = [center, (center[0] + 4.0, center[1] - 3.0), (2.0, 2.0)]
    depths, normals, bounds, found_center = in_blender(sphere_hits, points)
    for point, depth, normal in zip(points[:2], depths, normals, strict=False):
        place = np.array(unproject(VIEW, *point, depth, *IMAGE))
        assert abs(np.linalg.norm(place - middle) - SCALE) < 2e-3  # the sphere is made of flat faces
        np.testing.assert_allclose(normal, (place - middle) / SCALE, atol=0.02)
    assert math.isinf(depths[2])
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
    own = PosedMesh(RayMesh(shown.data), VIEW, IMAGE, POSITION, HEADING, SCALE).hits(points)[0]
    ahead = (Vector(VIEW.target) - Vector(VIEW.position)).normalized()
    graph, theirs = bpy.context.evaluated_depsgraph_get(), []
    for column, row in points.tolist():
        hit, place, *_ = bpy.context.scene.ray_cast(
            graph, Vector(VIEW.position), Vector(ray(VIEW, column, row, *IMAGE))
        )
        theirs.append((place - Vector(VIEW.position)).dot(ahead) if hit else None)
    return [[None if math.isinf(each) else each for each in own.tolist()], theirs]


def test_a_posed_mesh_is_where_blender_puts_it(in_blender: Any) -> None:
    own, theirs = in_blender(turned_box)
    both = [(a, b) for a, b in zip(own, theirs, strict=True) if a is not None and b is not None]
    assert len(both) > 60
    assert sum((a is None) != (b is None) for a, b in zip(own, theirs, strict=True)) <= 2
    assert max(abs(a - b) for a, b in both) < 1e-3


FAMILY, SMALL = read_vocabulary("clevr"), (80, 60)


ATTRIBUTES = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}


PLACES = [(0.0, 0.0, 0.0), (0.9, 2.0, 0.0)]


SCENE = Scene(
    tuple(SceneObject("sphere", ATTRIBUTES, place, 0.0) for place in PLACES),
    Camera((0.0, -8.0, 2.0), (0.0, 0.0, 0.5), 50.0, 36.0),
    {},
    next(iter(FAMILY.environments)),
)


def traced() -> dict[str, Any]:
    from dataclasses import asdict

    from generator.render.blender.landscape import build_floor
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.passes import trace_pixels
    from generator.render.blender.rays import RayCaster

    caster = RayCaster(FAMILY, {"sphere": build_mesh("sphere")}, lambda _: build_floor(FAMILY.floor), *SMALL)
    pixels = trace_pixels(SCENE, caster)
    return {
        "mask": pixels.mask.tolist(),
        "depth": pixels.depth.tolist(),
        "normals": pixels.normals.tolist(),
        "boxes": [asdict(each) for each in pixels.boxes],
    }


def test_mask_depth_normals_and_boxes_agree(in_blender: Any) -> None:
    found = in_blender(traced)
    mask, depth, normals = (np.array(found[name]) for name in ("mask", "depth", "normals"))
    front, behind = found["boxes"]
    assert (front["index"], front["category"], front["visible_fraction"]) == (0, "sphere", 1.0)
    assert 0.2 < behind["visible_fraction"] < 0.9
    for i, entry in enumerate((front, behind)):
        rows, columns = np.nonzero(mask == i + 1)
        assert entry["visible_pixels"] == len(rows)
        assert entry["visible_box"] == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert behind["amodal_box"][0] < behind["visible_box"][0]  # the front one hides its left side
    rows, columns = np.nonzero((mask == 0) & np.isfinite(depth))
    x, y, z = unproject(SCENE.camera, columns + 0.5, rows + 0.5, depth[rows, columns], *SMALL)
    assert np.abs(z).max() < 1e-4
    np.testing.assert_allclose(
        np.stack(project(SCENE.camera, x, y, z, *SMALL)[:2]), [columns + 0.5, rows + 0.5], atol=1e-3
    )
    np.testing.assert_allclose(np.linalg.norm(normals[np.isfinite(depth)], axis=-1), 1, atol=1e-5)
    assert normals[int(front["center"][1]), int(front["center"][0]), 2] > 0.95  # its middle faces the camera


def estimated_and_counted() -> list[list[float]]:
    """Fraction and area of each object of twelve crowded scenes, each as estimated and as counted."""
    from generator.render.blender.passes import estimate_visibility, trace_pixels
    from generator.render.blender.rays import RayCaster
    from generator.render.blender.stage import Stage

    family = read_vocabulary("clevr-original")
    stage = Stage(family, read_quality("draft"), 320, 240, 1)
    caster = RayCaster(family, stage.meshes, stage.ground, 320, 240)
    found = []
    for planned in plan_scenes(family, SplitPlan(family, draw_block("3x2", family, 0)), {"train": 12}, 0, (9, 10)):
        scene = place_scene(planned, family, 0, 0, 320, 240)
        estimates = estimate_visibility(caster.objects(scene), caster.size)
        for one, exact in zip(estimates, trace_pixels(scene, caster).boxes, strict=True):
            assert one.amodal_box == exact.amodal_box
            found.append([one.visible_fraction, exact.visible_fraction, one.visible_area, exact.visible_pixels])
    return found


def test_the_estimate_agrees_with_the_count(in_blender: Any) -> None:
    found = in_blender(estimated_and_counted)
    assert sum(counted < 0.8 for _, counted, _, _ in found) >= 8
    assert max(abs(estimate - counted) for estimate, counted, _, _ in found) < 0.05
    assert all(abs(estimate - counted) < 20 + 0.05 * counted for _, _, estimate, counted in found)


def at_the_edge(place: float) -> list[Any]:
    """Box, area and fraction of a sphere that stands so many metres to the right of the middle of a small image."""
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.passes import estimate_visibility
    from generator.render.blender.rays import PosedMesh, RayMesh

    camera, size = Camera((0.0, -10.0, 1.0), (0.0, 0.0, 1.0), 36.0, 36.0), (100, 100)
    sphere = PosedMesh(RayMesh(build_mesh("sphere")), camera, size, (place, 0.0, 0.0))
    [found] = estimate_visibility([sphere], size)
    return [found.amodal_box, found.visible_area, found.visible_fraction]


def test_only_what_lies_within_the_image_counts(in_blender: Any) -> None:
    box, area, fraction = in_blender(at_the_edge, 5.0)  # half of it lies beyond the right edge
    assert box == [39 + 50, 39, 100, 61]
    assert abs(area - 168) < 6  # of an ellipse about column 100.5 with the half-axes 11.3 and 10.1
    assert fraction == 1
    assert in_blender(at_the_edge, 9.0) == [[100, 39, 100, 61], 0.0, 0.0]
