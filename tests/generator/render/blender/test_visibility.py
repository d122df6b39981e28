"""Visibility as estimated before an image is rendered, against the count of every pixel."""

from typing import Any

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_scenes
from generator.render.settings import read_quality
from generator.scene.scene import Camera
from generator.vocabulary.schema import read_vocabulary


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
