from generator.describe.captioner import AbsentValues
from generator.language.foils import Atom
from tests.generator.scenes import described, scene_of

COLORS = {"color": ["red", "blue", "green"], "size": ["small", "large"]}


def test_values_that_the_scene_lacks_replace_values_of_single_objects() -> None:
    shown = described(
        scene_of(
            ("cube", {"color": "red", "size": "small"}),
            ("cone", {"color": "red", "size": "large"}),
            ("torus", {"color": "blue", "size": "large"}),
        )
    )
    absent = AbsentValues(shown, COLORS)
    assert [absent.sayable(thing) for thing in range(3)] == [[], [], ["color"]]  # red is on two, and no size is absent
    assert absent.among(["red", "green"], Atom("attribute", 0, "color")) == ["green"]
    assert absent.among(["left"], Atom("relation", 0, "relation")) == ["left"]
