"""sRGB colours as light, against scikit-image."""

import pytest
from skimage.color import rgb2lab

from generator.vocabulary.materials import linear_of


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
