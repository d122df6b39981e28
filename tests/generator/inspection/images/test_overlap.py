"""What differs from its surroundings overlaps an outline where an object is, and not beside it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from skimage.color import rgb2lab

from generator.inspection.images.overlap import overlap, window

H, W = 60, 80


def disc(row: float, column: float, radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:H, :W]
    return np.hypot(rows - row, columns - column) <= radius


def lab(mask: np.ndarray, seed: int = 0) -> np.ndarray:
    image = np.where(mask[..., None], (0.7, 0.2, 0.2), (0.5, 0.5, 0.5))
    return rgb2lab(np.clip(image + np.random.default_rng(seed).normal(0, 0.02, image.shape), 0, 1))


@given(st.floats(20, 40), st.floats(20, 60), st.floats(5, 15))
def test_it_is_near_1_where_the_object_is_and_small_where_it_is_not(row: float, column: float, radius: float) -> None:
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
