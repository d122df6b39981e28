"""Textures are measured in pixels: marks that lie on every side are seen, marks too small or too
alike are not."""

import numpy as np
import pytest

from generator.inspection.texture_contrast import LEAST_CONTRAST, contrast_of, contrasts
from generator.vocabulary.schema import Vocabulary, read_vocabulary

MARKED = """
extends = "clevr"
name = "marked"
paints = ["color", "marks"]
remove = ["attributes.size.small", "attributes.material.metal", "objects.sphere", "objects.cylinder", "objects.cone",
    "objects.torus", "objects.pyramid", "objects.cross", "objects.arch", "objects.hourglass", "objects.heart",
    "objects.crescent"]
[attributes.marks]
stripes = { texture = { pattern = "stripes", scale = 0.3, colors = ["#202020", "#e0e0e0"] } }
dots = { texture = { pattern = "dots", scale = 0.3, colors = ["#27357a", "#f6f3ea"] } }
alike = { texture = { pattern = "stripes", scale = 0.3, colors = ["#606060", "#646464"] } }
fine = { texture = { pattern = "dots", scale = 0.02, colors = ["#27357a", "#f6f3ea"] } }
plain = { srgb = "#808080" }
[kinds.marks]
phrase = "with {value}"
"""

TEXTURES = {"stripes", "dots", "alike", "fine"}


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    path = tmp_path_factory.mktemp("marked") / "marked.toml"
    path.write_text(MARKED)
    return read_vocabulary(str(path)).painted_with("marks")


def test_stripes_and_dots_are_seen_on_flat_objects_and_small_or_pale_marks_are_not(
    marked: Vocabulary,
) -> None:
    contrast_of = {
        (value, category): contrast for _, category, value, contrast in contrasts(marked, 1)
    }
    assert {category for _, category in contrast_of} == {"cube", "star"}
    assert {value for value, _ in contrast_of} == TEXTURES
    for (value, _), contrast in contrast_of.items():
        if value in ("stripes", "dots"):
            assert contrast > 15
        if value == "alike":
            assert contrast < LEAST_CONTRAST
    assert (
        max(contrast_of["fine", category] for category in ("cube", "star"))
        < contrast_of["dots", "star"] / 2
    )


def test_what_a_known_family_has_is_not_rendered_again(marked: Vocabulary) -> None:
    values = marked.attributes["marks"]
    without = marked.model_copy(update={"objects": {"cube": marked.objects["cube"]}})
    changed = without.model_copy(
        update={"attributes": {"marks": {**values, "dots": values["fine"]}}}
    )
    rendered_names = {
        (category, value) for _, category, value, _ in contrasts(marked, 1, [changed])
    }
    assert rendered_names == {("cube", "dots"), *(("star", value) for value in TEXTURES)}
    assert list(contrasts(marked, 1, [changed, marked])) == []


def test_a_family_without_textures_renders_nothing(marked: Vocabulary) -> None:
    plain = {"plain": marked.attributes["marks"]["plain"]}
    assert (
        list(
            contrasts(
                marked.model_copy(update={"attributes": {**marked.attributes, "marks": plain}}), 1
            )
        )
        == []
    )


def test_light_and_shade_are_no_contrast_and_a_plain_side_is_found() -> None:
    shade = np.repeat(np.linspace(0.1, 0.9, 60)[None, :, None], 60, axis=0).repeat(3, axis=2)
    mask = np.zeros((60, 60), bool)
    mask[10:50, 10:50] = True
    assert contrast_of(0.5 * shade, shade, mask) < 0.5
    stripes = np.where(np.arange(60) % 8 < 4, 0.2, 0.9)[None, :, None] * np.ones((60, 60, 3))
    assert contrast_of(stripes * shade, shade, mask) == pytest.approx(
        (72.9 - 37.8) / 2, rel=0.05
    )  # L* of 0.45 and of 0.1
    half = np.where((np.arange(60) < 30)[:, None, None], stripes, 0.5)
    assert contrast_of(half * shade, shade, mask) < LEAST_CONTRAST
    assert contrast_of(shade, shade, np.zeros((60, 60), bool)) == 0
