"""The stage poses every object of a scene and hides those of an earlier one (images: tests/generator/render/test_run.py)."""

from typing import Any

from generator.placement.scenes import place_scene
from generator.render.quality import read_quality
from generator.scene.planned import Planned
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary

FAMILY = read_vocabulary("clevr")


def scene_of(n: int) -> Scene:
    values = {kind: FAMILY.values(kind)[0] for kind in FAMILY.attributes}
    objects = tuple((name, values) for name in list(FAMILY.objects)[:n])
    return place_scene(
        Planned("0", "", objects, tuple(range(n)), next(iter(FAMILY.environments))), FAMILY, 0, 0, 320, 240
    )


def posed(counts: list[int]) -> dict[str, Any]:
    import bpy

    from generator.render.blender.stage import Stage

    stage = Stage(FAMILY, read_quality("draft"), 64, 48, 1)
    for n in counts:
        stage.pose(scene_of(n))
    bpy.context.view_layer.update()
    shown = [each for each in bpy.data.objects if each.name.startswith("object") and not each.hide_render]
    camera = bpy.context.scene.camera
    return {
        "places": [[round(x, 4) for x in each.location] for each in shown], "camera": [round(x, 4) for x in camera.location],
        "meshes": [each.data.name for each in shown], "kinds": sorted(stage.meshes),
    }  # fmt: skip


def test_a_scene_is_posed_whole_and_nothing_of_an_earlier_one_is_left(in_blender: Any) -> None:
    found, scene = in_blender(posed, [2, 1]), scene_of(1)
    assert found["places"] == [[round(x, 4) for x in thing.position] for thing in scene.objects]
    assert found["camera"] == [round(x, 4) for x in scene.camera.position]
    assert found["kinds"] == sorted(FAMILY.objects)
    assert found == in_blender(posed, [1])
