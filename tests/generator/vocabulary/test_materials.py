"""Materials: one colour in two notations, and the floor's defaults."""

import pytest
from pydantic import ValidationError
from skimage.color import rgb2lab

from generator.vocabulary.materials import AttributeValue, Colored, FloorSpec, check_inputs, linear_of


def test_a_colour_is_linear_or_srgb_and_not_both() -> None:
    assert Colored(srgb="#ff0000").color == Colored(linear=(255, 0, 0)).color == (255, 0, 0)
    assert Colored().color is None
    with pytest.raises(ValidationError, match="two ways to give one colour"):
        Colored(srgb="#ff0000", linear=(255, 0, 0))


def test_a_floor_is_light_gray_and_rough_unless_declared() -> None:
    assert FloorSpec().inputs() == {"linear": (204, 204, 204), "metallic": 0.0, "roughness": 0.9, "specular": 0.5}
    assert FloorSpec(srgb="#00ff00", specular=1.0, roughness=0.1).inputs() == {
        "linear": (0, 255, 0),
        "metallic": 0.0,
        "roughness": 0.1,
        "specular": 1.0,
    }


COLOR = {"red": AttributeValue(srgb="#ff0000"), "blue": AttributeValue(linear=(0, 0, 255))}
BODY = {"plain": AttributeValue(metallic=0.0, roughness=0.7, scale=0.5)}


def textured(*colors: str) -> AttributeValue:
    return AttributeValue.model_validate({"texture": {"pattern": "dots", "scale": 0.1, "colors": colors or None}})


def test_a_value_of_textures_may_be_plain() -> None:
    check_inputs({"body": BODY, "color": COLOR, "marks": {"dots": textured(), "plain": AttributeValue()}}, ())
    covering = textured("#000000", "#ffffff")
    check_inputs({"body": BODY, "marks": {"dots": covering, "plain": AttributeValue(srgb="#808080")}}, ())
    with pytest.raises(ValueError, match=r"values of 'marks' set different inputs.*; plain sets none\."):
        check_inputs({"body": BODY, "marks": {"dots": covering, "plain": AttributeValue()}}, ())
    with pytest.raises(ValueError, match="values of 'marks' set different inputs, or none"):
        check_inputs({"body": BODY, "color": COLOR, "marks": {"plain": AttributeValue()}}, ())


@pytest.mark.parametrize(
    ("attributes", "paints", "message"),
    [
        ({"color": COLOR}, (), "no attribute kind sets 'metallic'"),
        (
            {"color": COLOR, "body": BODY, "coat": {"chalk": AttributeValue(linear=(1, 1, 1))}},
            (),
            "'color' and 'coat' both set 'linear'",
        ),
        (
            {"color": COLOR, "body": BODY, "marks": {"dots": textured("#000000", "#ffffff")}},
            (),
            "'color' would not be seen",
        ),
        (
            {"body": BODY, "marks": {"a": textured("#000000", "#ffffff"), "b": textured()}},
            (),
            "give them to all or none",
        ),
        (
            {"body": BODY, "color": COLOR, "marks": {"a": textured()}},
            ("color", "marks"),
            "no attribute kind sets 'linear'",
        ),
    ],
)
def test_mistakes_are_named(attributes: dict, paints: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_inputs(attributes, paints)


def test_an_srgb_colour_is_the_light_that_an_image_shows_as_it() -> None:
    for code in ("#0b7a75", "#000000", "#ffffff", "#0a0a0a", "#7f3310"):
        rgb = [int(code[i : i + 2], 16) for i in (1, 3, 5)]
        linear = [channel / 255 for channel in linear_of(code)]
        x = 0.412453 * linear[0] + 0.357580 * linear[1] + 0.180423 * linear[2]
        y = 0.212671 * linear[0] + 0.715160 * linear[1] + 0.072169 * linear[2]
        f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x / 0.95047, y)]
        assert [116 * f[1] - 16, 500 * (f[0] - f[1])] == pytest.approx(
            rgb2lab([[[c / 255 for c in rgb]]])[0, 0, :2], abs=1e-3
        )
