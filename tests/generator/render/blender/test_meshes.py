"""Unit meshes as Blender's, and textures that cover them."""

from typing import Any, get_args

import numpy as np
import pytest

from generator.assets.shapes import SHAPES, unit_mesh
from generator.vocabulary.materials import Pattern


def built(name: str) -> list[Any]:
    from generator.render.blender.meshes import build_mesh

    mesh = build_mesh(name)
    corners = [[loop.vertex_index, *mesh.corner_normals[loop.index].vector] for loop in mesh.loops]
    return [[list(v.co) for v in mesh.vertices], corners, len(mesh.polygons), len(mesh.materials)]


@pytest.mark.parametrize("name", SHAPES)
def test_vertices_and_normals_are_those_of_the_unit_mesh(in_blender: Any, name: str) -> None:
    vertices, corners, faces, materials = in_blender(built, name)
    mesh = unit_mesh(name)
    np.testing.assert_allclose(vertices, mesh.vertices, atol=1e-6)
    normals = np.array([mesh.normals[int(vertex)] for vertex, *_ in corners])
    np.testing.assert_allclose([normal for _, *normal in corners], normals, atol=2e-3)
    assert (faces, materials) == (len(mesh.faces), 0)


def textured(patterns: list[str]) -> list[Any]:
    from generator.render.blender.materials import new_material
    from generator.render.blender.textures import set_texture

    material = new_material("textured")
    for pattern in patterns:
        set_texture(
            material,
            {"pattern": pattern, "scale": 0.2, "relief": 0.5},
            object_color=(0.5, 0.2, 0.1),
            scale=1.0,
        )
    shader = material.node_tree.nodes["Principled BSDF"]
    return [
        len(material.node_tree.nodes),
        shader.inputs["Base Color"].is_linked,
        shader.inputs["Normal"].is_linked,
    ]


@pytest.mark.parametrize("pattern", get_args(Pattern))
def test_a_pattern_covers_the_material_in_place_of_an_earlier_one(
    in_blender: Any, pattern: str
) -> None:
    alone = in_blender(textured, [pattern])
    assert alone[0] > 4
    assert alone[1:] == [True, True]
    assert in_blender(textured, ["noise", pattern]) == alone


def plain_again() -> list[Any]:
    from generator.render.blender.materials import new_material, set_inputs

    material = new_material("plain")
    inputs = {"linear": (200, 100, 50), "metallic": 0.0, "roughness": 0.5, "scale": 1.0}
    before = len(material.node_tree.nodes)
    set_inputs(material, {**inputs, "texture": {"pattern": "stripes", "scale": 0.2, "relief": 0.5}})
    set_inputs(material, inputs)
    shader = material.node_tree.nodes["Principled BSDF"]
    return [
        len(material.node_tree.nodes) - before,
        shader.inputs["Base Color"].is_linked,
        shader.inputs["Normal"].is_linked,
    ]


def test_an_object_without_a_texture_keeps_none_of_an_earlier_one(in_blender: Any) -> None:
    assert in_blender(plain_again) == [0, False, False]
