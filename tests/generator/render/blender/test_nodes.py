"""Nodes are added, linked and found again by their label."""

from typing import Any


def tree() -> dict[str, Any]:
    import bpy

    from generator.render.blender.textures import Nodes

    material = bpy.data.materials.new("nodes")
    material.use_nodes = True
    before = len(material.node_tree.nodes)
    nodes = Nodes(material.node_tree, "mine")
    step = nodes.between(nodes.noise(nodes.stretched(nodes.place(), (1.0, 2.0, 3.0)), 2.0), 0.8, 0.2)
    ramp = nodes.ramp(step, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)], (0.2, 0.8))
    mixed = nodes.mix(nodes.compute("ADD", step, 0.25), ramp, (0.0, 0.0, 0.0))
    bump = nodes.bump(step, 0.5, 0.1)
    elements = ramp.node.color_ramp.elements
    ends = [step.node.inputs[name].default_value for name in ("From Min", "From Max", "To Min", "To Max")]
    found = {
        "ramp": [[round(each.position, 3), list(each.color)[:3]] for each in elements], "ends": [round(x, 3) for x in ends],
        "mixed": mixed.node.inputs[6].links[0].from_node == ramp.node, "bump": bump.node.inputs["Distance"].default_value,
        "added": len(material.node_tree.nodes) - before,
    }  # fmt: skip
    nodes.clear()
    return {**found, "bump": round(found["bump"], 3), "left": len(material.node_tree.nodes) - before}


def test_nodes_are_linked_as_asked(in_blender: Any) -> None:
    assert in_blender(tree) == {
        "ramp": [[0.2, [1, 0, 0]], [0.5, [0, 1, 0]], [0.8, [0, 0, 1]]], "ends": [0.2, 0.8, 1, 0], "mixed": True,
        "bump": 0.1, "added": 8, "left": 0,
    }  # fmt: skip
