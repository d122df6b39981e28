"""Attribute values: each input of an object is set by one kind."""

import pytest

from generator.vocabulary.materials import AttributeValue, check_inputs
from generator.vocabulary.schema import read_vocabulary

COLOR = {"red": AttributeValue(srgb="#ff0000"), "blue": AttributeValue(linear=(0, 0, 255))}
BODY = {"plain": AttributeValue(metallic=0.0, roughness=0.7, scale=0.5)}


def textured(*colors: str) -> AttributeValue:
    return AttributeValue.model_validate({"texture": {"pattern": "dots", "scale": 0.1, "colors": colors or None}})


def test_srgb_and_linear_set_the_same_input() -> None:
    assert COLOR["red"].inputs() == {"linear": (255, 0, 0)}
    assert COLOR["red"].inputs().keys() == COLOR["blue"].inputs().keys()
    assert AttributeValue(synonyms=("matte",), article="an", roughness=1.0).inputs() == {"roughness": 1.0}


def test_every_input_set_once_is_accepted() -> None:
    check_inputs({"color": COLOR, "body": BODY}, ())
    check_inputs(read_vocabulary("pug").attributes, ("color", "texture"))


def test_a_value_of_textures_may_be_plain() -> None:
    check_inputs({"body": BODY, "color": COLOR, "marks": {"dots": textured(), "plain": AttributeValue()}}, ())
    covering = textured("#000000", "#ffffff")
    check_inputs({"body": BODY, "marks": {"dots": covering, "plain": AttributeValue(srgb="#808080")}}, ())
    with pytest.raises(ValueError, match="values of 'marks' set different inputs"):
        check_inputs({"body": BODY, "marks": {"dots": covering, "plain": AttributeValue()}}, ())
    with pytest.raises(ValueError, match="values of 'marks' set different inputs, or none"):
        check_inputs({"body": BODY, "color": COLOR, "marks": {"plain": AttributeValue()}}, ())


@pytest.mark.parametrize(
    ("attributes", "paints", "message"),
    [
        ({"color": COLOR}, (), "no attribute kind sets 'metallic'"),
        ({"color": COLOR, "body": BODY, "coat": {"chalk": AttributeValue(linear=(1, 1, 1))}}, (), "'color' and 'coat' both set 'linear'"),
        ({"color": {**COLOR, "odd": AttributeValue(roughness=1.0)}, "body": BODY}, (), "values of 'color' set different inputs"),
        ({"color": COLOR, "body": BODY, "marks": {"dots": textured("#000000", "#ffffff")}}, (), "'color' would not be seen"),
        ({"body": BODY, "marks": {"a": textured("#000000", "#ffffff"), "b": textured()}}, (), "give them to all or none"),
        ({"body": BODY, "color": COLOR, "marks": {"a": textured()}}, ("color", "marks"), "no attribute kind sets 'linear'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(attributes: dict, paints: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_inputs(attributes, paints)
