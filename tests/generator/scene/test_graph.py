"""The scene graph: an edge per relation and ordered pair, three-valued."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")


def a_scene(seed: int) -> Scene:
    things = tuple(
        (name, {"color": color, "material": "metal", "size": "small"})
        for name, color in (("cube", "red"), ("arch", "cyan"))
    )
    return place_scene(Planned("000000", "", things, (1, 0), "studio"), VOCABULARY, seed, 0, 320, 240)


@given(st.integers(0, 10**6))
def test_graph_has_each_relation_and_its_converse(seed: int) -> None:
    scene = a_scene(seed)
    graph = scene_graph(scene, VOCABULARY)
    assert graph.nodes[0]["category"] == "cube"
    assert graph.number_of_edges() == 2 * len(VOCABULARY.relations)
    for i, j, name, edge in graph.edges(keys=True, data=True):
        back = graph.edges[j, i, VOCABULARY.relations[name].converse]
        assert edge["holds"] is back["holds"]
        np.testing.assert_allclose(edge["margin"], back["margin"], atol=1e-9)
        assert edge["holds"] is not None
        assert abs(edge["margin"]) >= VOCABULARY.placement.clearance


def test_a_relation_within_its_margin_is_undecided() -> None:
    scene = a_scene(0)
    first, second = scene.objects
    near = type(second)(second.category, second.attributes, first.position, 0.0)
    graph = scene_graph(Scene((first, near), scene.camera, scene.lamps, scene.environment), VOCABULARY)
    assert {edge["holds"] for *_, edge in graph.edges(data=True)} == {None}
