"""The ways of rendering that bench/quality.py compares, as its process with Blender needs them
too."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from generator.render.settings import Quality
from generator.vocabulary.schema import read_vocabulary

WIDTH, HEIGHT = 320, 240
FAMILY = read_vocabulary("clevr-original")
TimedImage = tuple[np.ndarray, float]
"""An image, uint8 (height, width, 3), and the seconds that it took."""


class Point(NamedTuple):
    """One way of rendering."""

    quality: Quality
    """Samples, noise threshold and the like, as `gen render --quality` sets them."""
    well: bool = False
    """Whether the image is denoised as well as can be."""
    settings: Mapping[str, Any] = {}
    """Settings of Cycles that differ, by name."""
