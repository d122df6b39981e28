"""Images of more than 8 bits become RGB without losing the picture, or are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generator.base.arrays import to_rgb


@given(st.integers(0, 65_535))
def test_each_level_of_16_bits_becomes_the_nearest_of_8(level: int) -> None:
    for mode in ("I;16", "I"):
        pixel = to_rgb(Image.new(mode, (2, 2), level)).getpixel((0, 0))
        assert pixel == (round(level / 257),) * 3


@pytest.mark.parametrize("mode", ["L", "LA", "P", "1", "RGB", "RGBA", "CMYK"])
def test_images_of_8_bits_are_converted_as_pillow_does(mode: str) -> None:
    image = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).convert(mode)
    assert to_rgb(image).tobytes() == image.convert("RGB").tobytes()


@pytest.mark.parametrize(("mode", "value"), [("I", 65_536), ("I", -1), ("F", 0.5)])
def test_pixels_of_an_unknown_white_are_refused(mode: str, value: float) -> None:
    with pytest.raises(ValueError, match="expected 8 or 16 bits"):
        to_rgb(Image.new(mode, (2, 2), value))
