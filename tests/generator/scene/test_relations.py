"""Ground directions agree with the image; margins decide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
from generator.scene.projection import project
from generator.scene.relations import Space, along, decided, ground_directions
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
def test_directions_are_those_of_the_image(seed: int) -> None:
    camera = a_scene(seed).camera
    centre = project(camera, 0.0, 0.0, 0.0, 320, 240)
    moved = {name: project(camera, x, y, 0.0, 320, 240) for name, (x, y) in ground_directions(camera).items()}
    assert moved["left"][0] < centre[0] < moved["right"][0]
    assert moved["behind"][2] > centre[2] > moved["front"][2]
    assert moved["behind"][1] < centre[1] < moved["front"][1]


def test_margins_are_the_steps_along_the_directions_of_the_ground() -> None:
    scene = a_scene(3)
    space, directions = Space(scene, VOCABULARY), ground_directions(scene.camera)
    one, other = (obj.position for obj in scene.objects)
    for name, relation in VOCABULARY.relations.items():
        step = along(directions[name], one) - along(directions[name], other)
        assert space.margin(relation, 0, 1) == pytest.approx(step, abs=1e-6)
        assert space.margin(relation, 1, 0) == pytest.approx(-step, abs=1e-6)


@pytest.mark.parametrize(("margin", "holds"), [(0.2, True), (0.1999, None), (-0.1999, None), (-0.2, False)])
def test_a_relation_holds_from_its_margin_on(margin: float, holds: bool | None) -> None:
    assert decided(margin, VOCABULARY.relations["left"]) is holds
