"""Skies light evenly, whatever the camera sees."""

from typing import Any


def skies() -> list[Any]:
    from generator.render.blender.landscape import build_sky
    from generator.vocabulary.environments import SkySpec

    found = []
    for look in (
        None,
        SkySpec(horizon="#ffffff", zenith="#0000ff"),
        SkySpec(horizon="#000000", zenith="#000000", stars=True),
    ):
        tree = build_sky("sky", 0.7, look).node_tree
        kinds = [node.bl_idname for node in tree.nodes]
        mix = next((node for node in tree.nodes if node.bl_idname == "ShaderNodeMixShader"), None)
        even = tree.nodes["Background"]
        lights = mix is None or mix.inputs[1].links[0].from_node == even
        found.append(
            [round(even.inputs["Strength"].default_value, 3), lights, "ShaderNodeTexVoronoi" in kinds, mix is None]
        )
    return found


def test_only_the_camera_sees_the_look(in_blender: Any) -> None:
    assert in_blender(skies) == [[0.7, True, False, True], [0.7, True, False, False], [0.7, True, True, False]]
