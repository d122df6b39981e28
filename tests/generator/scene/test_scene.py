"""Scenes survive JSON."""

from hypothesis import given
from hypothesis import strategies as st

from generator.placement.scenes import place_scene
from generator.scene.planned import Planned
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
def test_json_is_exact(seed: int) -> None:
    scene = a_scene(seed)
    assert Scene.from_json(scene.to_json()) == scene
    assert scene.environment == "studio"
