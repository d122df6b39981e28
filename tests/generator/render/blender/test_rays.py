"""Rays meet meshes where arithmetic and Blender say; masks, depth, normals, boxes and visibility follow from them."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from generator.scene.projection import project, ray, unproject
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary

VIEW, IMAGE = Camera((1.0, -8.0, 3.0), (0.2, 0.1, 0.5), 40.0, 36.0), (120, 90)
POSITION, HEADING, SCALE = (0.5, 0.7, 0.0), 0.6, 0.8
FAMILY, SIZE = read_vocabulary("clevr"), (80, 60)
ATTRIBUTES = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}


def turned_arch() -> list[Any]:
    """Every second pixel's depth and normal of a turned arch by our rays and by Blender's own in the scene; its box."""
    import bpy
    from mathutils import Vector

    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.rays import PosedMesh, RayMesh

    bpy.ops.wm.read_factory_settings(use_empty=True)
    shown = bpy.data.objects.new("arch", build_mesh("arch"))
    bpy.context.scene.collection.objects.link(shown)
    shown.location, shown.rotation_euler, shown.scale = POSITION, (0.0, 0.0, HEADING), (SCALE,) * 3
    bpy.context.view_layer.update()
    rows, columns = np.mgrid[0:90:2, 0:120:2].reshape(2, -1)
    posed = PosedMesh(RayMesh(shown.data), VIEW, IMAGE, POSITION, HEADING, SCALE)
    depths, normals = posed.hits(rows, columns)
    ahead = (Vector(VIEW.target) - Vector(VIEW.position)).normalized()
    graph, theirs = bpy.context.evaluated_depsgraph_get(), []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        hit, place, normal, *_ = bpy.context.scene.ray_cast(
            graph, Vector(VIEW.position), Vector(ray(VIEW, column + 0.5, row + 0.5, *IMAGE))
        )
        theirs.append([(place - Vector(VIEW.position)).dot(ahead), *normal] if hit else [math.inf, 0, 0, 0])
    corners = [project(VIEW, *(shown.matrix_world @ vertex.co), *IMAGE)[:2] for vertex in shown.data.vertices]
    return [np.column_stack([depths, normals]).tolist(), theirs, posed.box(), corners]


def test_a_posed_mesh_is_where_blender_puts_it(in_blender: Any) -> None:
    ours, theirs, box, corners = in_blender(turned_arch)
    ours, theirs, corners = np.array(ours), np.array(theirs), np.array(corners)
    both = np.isfinite(ours[:, 0]) & np.isfinite(theirs[:, 0])
    assert both.sum() > 60
    assert (np.isfinite(ours[:, 0]) != np.isfinite(theirs[:, 0])).sum() <= 2
    np.testing.assert_allclose(ours[both, 0], theirs[both, 0], atol=1e-3)
    alike = np.einsum("nx,nx->n", ours[both, 1:], theirs[both, 1:])  # Blender's are flat, ours are smooth at edges
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
    depths, normals = RayMesh(mesh).hits(origins, np.array([(0.0, 0.0, -1.0), (0.0, 0.0, 2.0), (0.0, 0.0, -1.0)]))
    return [depths.tolist(), normals.tolist()]


def test_a_sheet_faces_the_ray_on_both_sides(in_blender: Any) -> None:
    assert in_blender(sheet_hits) == [[3.0, 2.0, math.inf], [[0, 0, 1], [0, 0, -1], [0, 0, 0]]]


def traced(objects: list[list[Any]], camera: list[Any], size: list[int]) -> dict[str, Any]:
    """What each pixel of a scene of clevr shows; `objects` are categories with their positions."""
    from generator.render.blender.landscape import build_floor
    from generator.render.blender.meshes import build_mesh
    from generator.render.blender.passes import trace_objects, with_ground
    from generator.render.blender.rays import RayCaster

    things = tuple(SceneObject(name, ATTRIBUTES, (x, y, z), 0.0) for name, (x, y, z) in objects)
    scene = Scene(things, Camera(*camera), {}, next(iter(FAMILY.environments)))
    meshes = {name: build_mesh(name) for name, _ in objects}
    caster = RayCaster(FAMILY, meshes, lambda _: build_floor(FAMILY.floor), *size)
    bare = trace_objects(scene, caster)
    pixels = with_ground(bare, scene, caster)
    assert np.isinf(bare.depth[bare.mask == 0]).all()
    assert np.array_equal(bare.depth[bare.mask > 0], pixels.depth[bare.mask > 0])
    return {
        "mask": pixels.mask.tolist(),
        "depth": pixels.depth.tolist(),
        "normals": pixels.normals.tolist(),
        "boxes": [asdict(each) for each in pixels.boxes],
    }


def test_mask_depth_normals_and_boxes_agree(in_blender: Any) -> None:
    camera = Camera((0.0, -8.0, 2.0), (0.0, 0.0, 0.5), 50.0, 36.0)
    spheres = [["sphere", [0.0, 0.0, 0.0]], ["sphere", [0.9, 2.0, 0.0]]]
    found = in_blender(traced, spheres, list(asdict(camera).values()), SIZE)
    mask, depth, normals = (np.array(found[name]) for name in ("mask", "depth", "normals"))
    front, behind = found["boxes"]
    assert (front["index"], front["category"], front["visible_fraction"]) == (0, "sphere", 1.0)
    assert 0.2 < behind["visible_fraction"] < 0.9
    scale = FAMILY.scale("cube", ATTRIBUTES)
    for i, entry in enumerate((front, behind)):
        rows, columns = np.nonzero(mask == i + 1)
        assert entry["visible_pixels"] == len(rows)
        assert entry["visible_box"] == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        middle = np.add(spheres[i][1], (0, 0, scale))
        np.testing.assert_allclose(entry["center"], project(camera, *middle, *SIZE)[:2], atol=1e-3)
        places = np.stack(unproject(camera, columns + 0.5, rows + 0.5, depth[rows, columns], *SIZE), axis=-1)
        assert np.abs(np.linalg.norm(places - middle, axis=-1) - scale).max() < 2e-3  # spheres have flat faces
    assert behind["amodal_box"][0] < behind["visible_box"][0]  # the front one hides its left side
    rows, columns = np.nonzero((mask == 0) & np.isfinite(depth))
    assert np.abs(unproject(camera, columns + 0.5, rows + 0.5, depth[rows, columns], *SIZE)[2]).max() < 1e-4
    np.testing.assert_allclose(np.linalg.norm(normals[np.isfinite(depth)], axis=-1), 1, atol=1e-5)
    assert normals[int(front["center"][1]), int(front["center"][0]), 2] > 0.95  # its middle faces the camera


@pytest.mark.parametrize(("place", "box", "pixels"), [(5.0, [91, 43, 100, 61], 113), (9.0, [100, 43, 100, 61], 0)])
def test_only_what_lies_within_the_image_counts(in_blender: Any, place: float, box: list[int], pixels: int) -> None:
    """A sphere whose middle lies at the right edge of the image, where half of it covers 113 pixels, or beyond it."""
    camera = [[0.0, -10.0, 1.0], [0.0, 0.0, 1.0], 36.0, 36.0]
    (found,) = in_blender(traced, [["sphere", [place, 0.0, 0.0]]], camera, (100, 100))["boxes"]
    assert found["amodal_box"] == box
    assert abs(found["visible_pixels"] - pixels) < 6
    assert found["visible_fraction"] == (1.0 if pixels else 0.0)
