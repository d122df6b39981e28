"""Materials: one colour in two notations, and the floor's defaults."""

import numpy as np
import pytest
from PIL import ImageColor
from pydantic import ValidationError
from skimage.color import rgb2lab, xyz2lab
from skimage.color.colorconv import xyz_from_rgb

from generator.vocabulary.materials import (
    AttributeValue,
    Colored,
    FloorSpec,
    check_inputs,
    linear_of,
)


def test_a_colour_given_from_0_to_1_is_refused_and_black_is_not() -> None:
    with pytest.raises(
        ValueError, match=r"linear is from 0 to 255, and this is black; .* give \[204, 51, 127\.5\]"
    ):
        Colored(linear=(0.8, 0.2, 0.5))
    assert Colored(linear=(0, 0, 0)).color == (0, 0, 0)
    assert Colored(linear=(0.5, 0, 1.5)).color == (0.5, 0, 1.5)


def test_a_colour_is_linear_or_srgb_and_not_both() -> None:
    assert Colored(srgb="#ff0000").color == Colored(linear=(255, 0, 0)).color == (255, 0, 0)
    assert Colored().color is None
    with pytest.raises(ValidationError, match="two ways to give one colour"):
        Colored(srgb="#ff0000", linear=(255, 0, 0))


def test_a_floor_is_light_gray_and_rough_unless_declared() -> None:
    assert FloorSpec().inputs() == {
        "linear": (204, 204, 204),
        "metallic": 0.0,
        "roughness": 0.9,
        "specular": 0.5,
    }
    declared = FloorSpec(srgb="#00ff00", specular=1.0, roughness=0.1).inputs()
    assert declared == {"linear": (0, 255, 0), "metallic": 0.0, "roughness": 0.1, "specular": 1.0}


COLOR = {"red": AttributeValue(srgb="#ff0000"), "blue": AttributeValue(linear=(0, 0, 255))}
BODY = {"plain": AttributeValue(metallic=0.0, roughness=0.7, scale=0.5)}


def textured(*colors: str) -> AttributeValue:
    return AttributeValue.model_validate(
        {"texture": {"pattern": "dots", "scale": 0.1, "colors": colors or None}}
    )


MARKS, COVERING = textured(), textured("#000000", "#ffffff")
PLAIN, GRAY = AttributeValue(), AttributeValue(srgb="#808080")


def test_a_value_of_textures_may_be_plain() -> None:
    check_inputs({"body": BODY, "color": COLOR, "marks": {"dots": MARKS, "plain": PLAIN}}, ())
    check_inputs({"body": BODY, "marks": {"dots": COVERING, "plain": GRAY}}, ())


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"color": COLOR}, "no attribute kind sets 'metallic'"),
        (
            {"color": COLOR, "body": BODY, "coat": {"gray": GRAY}},
            "'color' and 'coat' both set 'linear'",
        ),
        ({"color": COLOR, "body": BODY, "marks": {"dots": COVERING}}, "'color' would not be seen"),
        ({"body": BODY, "marks": {"a": COVERING, "b": MARKS}}, "give them to all or none"),
        (
            {"body": BODY, "marks": {"a": COVERING, "b": PLAIN}},
            r"'marks' set different inputs.*; b sets none\.",
        ),
        (
            {"body": BODY, "color": COLOR, "marks": {"plain": PLAIN}},
            "'marks' set different inputs, or none",
        ),
    ],
)
def test_mistakes_are_named(attributes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_inputs(attributes, ())


@pytest.mark.parametrize("code", ["#0b7a75", "#000000", "#ffffff", "#0a0a0a", "#7f3310"])
def test_an_srgb_colour_is_the_light_that_an_image_shows_as_it(code: str) -> None:
    lab = rgb2lab(np.array(ImageColor.getrgb(code)) / 255)
    assert xyz2lab(np.array(linear_of(code)) / 255 @ xyz_from_rgb.T) == pytest.approx(lab, abs=1e-3)
