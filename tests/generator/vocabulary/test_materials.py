"""Materials: one colour in two notations, and the floor's defaults."""

import pytest
from pydantic import ValidationError

from generator.vocabulary.materials import Colored, FloorSpec


def test_a_colour_is_linear_or_srgb_and_not_both() -> None:
    assert Colored(srgb="#ff0000").color == Colored(linear=(255, 0, 0)).color == (255, 0, 0)
    assert Colored().color is None
    with pytest.raises(ValidationError, match="two ways to give one colour"):
        Colored(srgb="#ff0000", linear=(255, 0, 0))


def test_a_floor_is_light_gray_and_rough_unless_declared() -> None:
    assert FloorSpec().inputs() == {"linear": (204, 204, 204), "metallic": 0.0, "roughness": 0.9, "specular": 0.5}
    assert FloorSpec(srgb="#00ff00", specular=1.0, roughness=0.1).inputs() == {
        "linear": (0, 255, 0), "metallic": 0.0, "roughness": 0.1, "specular": 1.0
    }  # fmt: skip
