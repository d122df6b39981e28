"""Colours are told whatever the light, and common names of colours are held to what people call
so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.color import rgb2lab

from generator.inspection.appearance import encoded
from generator.inspection.pixels import Colors, box_of, distances, overlap, window
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.inspection.scenes import CLEVR

FAMILIES = ["clevr", "clevr-many", "clevr-original", "clevr-relations", "pearson2025", "pug"]


def family(name: str) -> Vocabulary:
    return read_vocabulary(name).painted_with("color")


def recolored(vocabulary: Vocabulary, **others: str) -> Vocabulary:
    """The family with the colour of another value for some of its values."""
    told = vocabulary.attributes["color"]
    changed = {
        name: told[name].model_copy(update={"linear": told[other].linear})
        for name, other in others.items()
    }
    return vocabulary.model_copy(
        update={"attributes": {**vocabulary.attributes, "color": {**told, **changed}}}
    )


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
    assert Colors(CLEVR).palette({"color": "red"}) == pytest.approx(np.array([[148, 4, 6]]) / 255)


H, W = 60, 80


def disc(row: float, column: float, radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:H, :W]
    return np.hypot(rows - row, columns - column) <= radius


def lab(mask: np.ndarray, seed: int = 0) -> np.ndarray:
    image = np.where(mask[..., None], (0.7, 0.2, 0.2), (0.5, 0.5, 0.5))
    return rgb2lab(np.clip(image + np.random.default_rng(seed).normal(0, 0.02, image.shape), 0, 1))


@given(st.floats(20, 40), st.floats(20, 60), st.floats(5, 15))
def test_it_is_near_1_where_the_object_is_and_small_where_it_is_not(
    row: float, column: float, radius: float
) -> None:
    mask, none = disc(row, column, radius), np.zeros((H, W), bool)
    seen = window(mask, none)
    assert seen is not None
    image = lab(mask)
    assert overlap(image[seen.at], seen) > 0.9
    assert overlap(lab(none)[seen.at], seen) < 0.65  # noise alone splits the pixels in two
    elsewhere = window(disc(H - row, (column + W / 2) % W, radius), none)
    assert elsewhere is None or overlap(image[elsewhere.at], elsewhere) < 0.65


def test_other_objects_are_left_out() -> None:
    mask, other = disc(30, 30, 10), disc(30, 48, 9)
    seen = window(mask, other)
    assert seen is not None
    assert overlap(lab(mask | other)[seen.at], seen) > 0.9
    assert not (seen.around & ~seen.known).any()


def test_little_objects_are_not_judged_or_not_solid() -> None:
    none = np.zeros((H, W), bool)
    assert window(none, none) is None
    assert window(disc(30, 30, 1), none) is None
    small, large = window(disc(30, 30, 2.5), none), window(disc(30, 30, 8), none)
    assert small is not None
    assert not small.solid
    assert large is not None
    assert large.solid
    assert window(disc(30, 30, 8), ~disc(30, 30, 8)) is None


def test_a_box_is_around_all_of_a_mask() -> None:
    mask = np.zeros((6, 8), bool)
    assert box_of(mask) is None
    mask[2:4, 3:7] = True
    assert box_of(mask) == (3, 2, 7, 4)
