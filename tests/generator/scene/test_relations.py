"""Ground directions agree with the image; margins decide relations; scenes survive JSON."""

import json
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
from generator.scene.projection import project
from generator.scene.relations import along, decided, ground_directions, scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")


def a_scene(seed: int) -> Scene:
    objects = tuple(
        (name, {"color": color, "material": "metal", "size": "small"})
        for name, color in (("cube", "red"), ("arch", "cyan"))
    )
    return place_scene(
        Planned("000000", "", objects, (1, 0), "studio"), VOCABULARY, seed, 0, 320, 240
    )


@given(st.integers(0, 10**6))
def test_directions_are_those_of_the_image_and_json_is_exact(seed: int) -> None:
    scene = a_scene(seed)
    centre = project(scene.camera, 0.0, 0.0, 0.0, 320, 240)
    moved = {
        name: project(scene.camera, x, y, 0.0, 320, 240)
        for name, (x, y) in ground_directions(scene.camera).items()
    }
    assert moved["left"][0] < centre[0] < moved["right"][0]
    assert moved["behind"][2] > centre[2] > moved["front"][2]
    assert moved["behind"][1] < centre[1] < moved["front"][1]
    assert Scene.from_json(scene.to_json()) == scene


@given(st.integers(0, 10**6))
def test_the_graph_has_each_relation_by_its_steps_along_the_ground_and_its_converse(
    seed: int,
) -> None:
    scene = a_scene(seed)
    graph, directions = scene_graph(scene, VOCABULARY), ground_directions(scene.camera)
    assert [graph.nodes[i]["category"] for i in (0, 1)] == ["cube", "arch"]
    assert graph.number_of_edges() == 2 * len(VOCABULARY.relations)
    for i, j, name, edge in graph.edges(keys=True, data=True):
        one, other = (along(directions[name], scene.objects[index].position) for index in (i, j))
        assert edge["margin"] == pytest.approx(one - other, abs=2e-6)
        assert edge["holds"] is (edge["margin"] > 0)
        assert edge == graph.edges[j, i, VOCABULARY.relations[name].converse]
        assert abs(edge["margin"]) >= VOCABULARY.placement.clearance


@pytest.mark.parametrize(
    ("margin", "holds"), [(0.2, True), (0.1999, None), (-0.1999, None), (-0.2, False)]
)
def test_a_relation_holds_from_its_margin_on(margin: float, holds: bool | None) -> None:
    assert decided(margin, VOCABULARY.relations["left"]) is holds


def test_a_relation_within_its_margin_is_undecided() -> None:
    scene = a_scene(0)
    first, second = scene.objects
    near = replace(scene, objects=(first, replace(second, position=first.position)))
    assert {edge["holds"] for *_, edge in scene_graph(near, VOCABULARY).edges(data=True)} == {None}


@pytest.mark.parametrize(
    "text", ["", "null", "7", "[]", "{}", '{"objects": [{"category": 3}]}', "[" * 100_000]
)
def test_a_scene_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="The world has a damaged scene"):
        Scene.from_json(text)


def test_a_missing_scene_and_names_of_another_type_are_refused() -> None:
    with pytest.raises(UserError, match="TypeError"):
        Scene.from_json(cast(str, None))
    typed = {"category": 3, "attributes": {}, "position": [0, 0, 0], "heading": 0}
    with pytest.raises(UserError, match="expected a text, got 3"):
        Scene.from_json(json.dumps({"objects": [typed]}))
