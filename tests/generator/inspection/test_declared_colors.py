"""Colours are recognised in any light, and common names of colours are compared with what people
call so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.inspection.close_colors import encoded
from generator.inspection.declared_colors import DeclaredColors, color_distances
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.inspection.scenes import CLEVR

FAMILIES = ["clevr", "clevr-many", "clevr-original", "clevr-relations", "pearson2025", "pug"]


def family(name: str) -> Vocabulary:
    return read_vocabulary(name).painted_with("color")


def recolored(vocabulary: Vocabulary, **others: str) -> Vocabulary:
    """The family with the colour of another value for some of its values."""
    declared = vocabulary.attributes["color"]
    changed = {
        name: declared[name].model_copy(update={"linear": declared[other].linear})
        for name, other in others.items()
    }
    return vocabulary.model_copy(
        update={"attributes": {**vocabulary.attributes, "color": {**declared, **changed}}}
    )


@given(st.sampled_from(FAMILIES), st.data(), st.floats(0.2, 1.5))
def test_a_colour_is_recognised_in_any_light(name: str, data: st.DataObject, light: float) -> None:
    vocabulary = family(name)
    values = vocabulary.values("color")
    true, recorded = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    linear = light * np.array(vocabulary.attributes["color"][true].color) / 255
    if linear.max() > 1:
        return  # burnt out: no longer that colour
    pixels = np.repeat(encoded(linear)[None], 20, axis=0)
    nearest = DeclaredColors(vocabulary).nearest(recorded, pixels)
    assert nearest.value == true
    assert (nearest.distance_of_recorded > nearest.distance + 3) == (recorded != true)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_names_of_the_built_in_families_are_those_people_use(name: str) -> None:
    assert list(DeclaredColors(family(name)).misnamed()) == []


def test_exchanged_names_are_found() -> None:
    sentences = list(DeclaredColors(recolored(CLEVR, red="blue", blue="red")).misnamed())
    assert sentences == [
        "the value 'red' of color has the colour that people call blue",
        "the value 'blue' of color has the colour that people call red",
    ]


def test_a_pixel_is_no_distance_from_its_own_colour() -> None:
    colors = np.array([[0.5, 0.1, 0.1], [0.1, 0.1, 0.5]])
    distances = color_distances(encoded(0.15 * colors), colors)
    assert distances.shape == (2, 2)
    assert distances.diagonal() == pytest.approx([0, 0], abs=1e-6)
    assert distances[0, 1] > 20


def test_textures_bring_their_own_colours() -> None:
    textured = DeclaredColors(read_vocabulary("pug").painted_with("texture"))
    assert textured.kind is None
    assert list(textured.misnamed()) == []
