"""Materials take what the values of an object declare, and keep nothing of an earlier object."""

from typing import Any

from generator.scene.scene import SceneObject
from generator.vocabulary.schema import read_vocabulary

FAMILY = read_vocabulary("clevr-original")


def painted(*values: dict[str, str]) -> dict[str, Any]:
    """The inputs of one material after it was set for each object in turn."""
    from generator.render.blender.materials import material_inputs, new_material, set_inputs

    material = new_material("test")
    for attributes in values:
        set_inputs(material, material_inputs(SceneObject("cube", attributes, (0.0, 0.0, 0.0), 0.0), FAMILY))
    found = {}
    for node in sorted(material.node_tree.nodes, key=lambda node: node.name):
        for each in node.inputs:
            value = getattr(each, "default_value", None)
            if value is not None and not isinstance(value, str):
                found[f"{node.name}/{each.identifier}"] = list(value) if hasattr(value, "__len__") else value
    return found


def test_a_material_is_that_of_its_last_object(in_blender: Any) -> None:
    first, last = ({kind: FAMILY.values(kind)[i] for kind in FAMILY.attributes} for i in (0, 1))
    for one, other in ((first, last), (last, first)):
        alone, after = in_blender(painted, one), in_blender(painted, other, one)
        same = alone.keys() & after.keys()
        assert same
        if alone.keys() == after.keys():
            assert after == alone
    assert in_blender(painted, first) != in_blender(painted, last)
