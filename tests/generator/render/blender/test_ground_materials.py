"""Materials of landscapes show the mesh's colour, and the ground its pattern where that colour is transparent."""

from typing import Any

import pytest


def sources(pattern: str) -> dict[str, list[str]]:
    """The kinds of nodes in each material."""
    from generator.render.blender.materials import ground_material, painted_material, water_material
    from generator.render.blender.meshes import PAINT
    from generator.vocabulary.environments import GroundSpec

    look = GroundSpec(colors=("#d9b57c", "#c79d63"), pattern=pattern)
    materials = {"ground": ground_material("a", look), "painted": painted_material("a"), "water": water_material("a")}
    for material in materials.values():
        paint = next(node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeAttribute")
        assert paint.attribute_name == PAINT
        assert material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].is_linked
    return {name: sorted({node.bl_idname for node in each.node_tree.nodes}) for name, each in materials.items()}


@pytest.mark.parametrize(("pattern", "node"), [("spots", "ValToRGB"), ("paving", "TexBrick"), ("plates", "TexBrick")])
def test_materials_have_their_pattern(in_blender: Any, pattern: str, node: str) -> None:
    found = in_blender(sources, pattern)
    assert f"ShaderNode{node}" in found["ground"]
    assert "ShaderNodeBump" in found["ground"]
    assert "ShaderNodeTexNoise" in found["water"]
    assert "ShaderNodeTexNoise" not in found["painted"]
