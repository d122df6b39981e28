"""Colours are told whatever the light, and common names of colours are held to what people call so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.inspection.family.colors import encoded
from generator.inspection.images.colors import Colors, distances
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.inspection.images.scenes import CLEVR

FAMILIES = ["clevr", "clevr-many", "clevr-original", "clevr-relations", "pearson2025", "pug"]


def family(name: str) -> Vocabulary:
    return read_vocabulary(name).painted_with("color")


def recolored(vocabulary: Vocabulary, **others: str) -> Vocabulary:
    """The family with the colour of another value for some of its values."""
    told = vocabulary.attributes["color"]
    changed = {name: told[name].model_copy(update={"linear": told[other].linear}) for name, other in others.items()}
    return vocabulary.model_copy(update={"attributes": {**vocabulary.attributes, "color": {**told, **changed}}})


@given(st.sampled_from(FAMILIES), st.data(), st.floats(0.2, 1.5))
def test_a_colour_is_told_in_any_light(name: str, data: st.DataObject, light: float) -> None:
    vocabulary = family(name)
    values = vocabulary.values("color")
    true, claimed = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    linear = light * np.array(vocabulary.attributes["color"][true].color) / 255
    if linear.max() > 1:
        return  # burnt out: no longer that colour
    pixels = np.repeat(encoded(linear)[None], 20, axis=0)
    told = Colors(vocabulary).other_than(claimed, pixels)
    assert told is None if claimed == true else told is not None and told[0] == true


@pytest.mark.parametrize("name", FAMILIES)
def test_the_names_of_the_built_in_families_are_those_people_use(name: str) -> None:
    assert list(Colors(family(name)).misnamed()) == []


def test_exchanged_names_are_found() -> None:
    told = list(Colors(recolored(CLEVR, red="blue", blue="red")).misnamed())
    assert told == [
        "the value 'red' of color has the colour that people call blue",
        "the value 'blue' of color has the colour that people call red",
    ]


def test_names_that_are_no_common_ones_mean_what_a_family_says() -> None:
    told = CLEVR.attributes["color"]
    renamed = {"ochre": told["red"], "puce": told["blue"]}
    vocabulary = CLEVR.model_copy(update={"attributes": {**CLEVR.attributes, "color": renamed}})
    assert list(Colors(vocabulary).misnamed()) == []


def test_a_pixel_is_no_distance_from_its_own_colour() -> None:
    colors = np.array([[0.5, 0.1, 0.1], [0.1, 0.1, 0.5]])
    off = distances(encoded(0.15 * colors), colors)
    assert off.shape == (2, 2)
    assert off.diagonal() == pytest.approx([0, 0], abs=1e-6)
    assert off[0, 1] > 20


def test_textures_bring_their_own_colours() -> None:
    textured = read_vocabulary("pug").painted_with("texture")
    colors = Colors(textured)
    assert colors.kind is None
    assert colors.palette({"texture": "lava", "coat": "matt"}).shape == (3, 3)
    assert list(colors.misnamed()) == []
    assert Colors(CLEVR).palette({"color": "red"}) == pytest.approx(np.array([[173, 35, 35]]) / 255)
