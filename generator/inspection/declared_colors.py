"""Compares the colours that a family declares with pixels, and with the colours that people call
by their names.

Light changes the brightness of a colour, so each declared colour is compared at many brightnesses,
and the smallest CIEDE2000 counts. In draft renders of the built-in families at 32 to 128 pixels,
each of 538 objects was nearer to its recorded colour than to any other colour, by at least 5.8.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor
from skimage.color import deltaE_ciede2000, rgb2lab

from generator.inspection.close_colors import encoded
from generator.vocabulary.schema import Vocabulary

Pixels = NDArray[np.float64]
"""[n, 3], 0..1"""

_CLEARLY = 3.0
"""A name is wrong if another name's colour is nearer by more than this, in CIEDE2000."""
_BRIGHTNESSES = np.geomspace(0.15, 2.5, 15)
"""Brightness of a surface, relative to a white wall in full light."""
_MOST_PIXELS = 100
"""Pixels of an object that are compared; more do not change the result."""
_COMMON_COLORS = {
    "red": "#e50000",
    "green": "#15b01a",
    "blue": "#0343df",
    "yellow": "#ffff14",
    "brown": "#653700",
    "purple": "#7e1e9c",
    "cyan": "#00ffff",
    "gray": "#929591",
    "grey": "#929591",
    "orange": "#f97306",
    "pink": "#ff81c0",
    "black": "#000000",
    "white": "#ffffff",
}
"""The colours that people most often call by these names: Munroe's survey of 222,500 people
(xkcd.com/color/rgb, CC0)."""


class NearestColor(NamedTuple):
    """Which declared colour some pixels are nearest to."""

    value: str
    """The value with the nearest colour."""
    distance: float
    """CIEDE2000 of the pixels and its colour."""
    distance_of_recorded: float
    """CIEDE2000 of the pixels and the recorded value's colour."""


def color_distances(pixels: Pixels, colors: Pixels) -> NDArray[np.float64]:
    """CIEDE2000 [n, v] of each pixel from each colour, at the brightness where the colour is
    nearest.

    Args:
        pixels: sRGB [n, 3], 0..1.
        colors: Linear light [v, 3], 0..1.

    >>> color_distances(np.array([[1.0, 0, 0]]), np.array([[1.0, 0, 0], [0, 0, 1.0]])).round()
    array([[ 0., 53.]])
    """
    lit_colors = rgb2lab(encoded(_BRIGHTNESSES[:, None, None] * colors))
    by_brightness = deltaE_ciede2000(rgb2lab(pixels)[:, None, None], lit_colors[None])
    nearest: NDArray[np.float64] = by_brightness.min(1)
    return nearest


class DeclaredColors:
    """The colours that a family declares."""

    kind: str | None
    """The attribute kind that sets an object's colour; None if there is none, e.g. if textures have
    own colours."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self.kind = None
        for kind, values in vocabulary.attributes.items():
            if all(value.color for value in values.values()):
                self.kind = kind
                break

    @cached_property
    def _linear(self) -> dict[str, tuple[float, ...]]:
        """Linear light, 0..1, of each value of the kind."""
        if self.kind is None:
            return {}
        linear = {}
        for name, value in self._vocabulary.attributes[self.kind].items():
            albedo = value.albedo or 1.0
            linear[name] = tuple(albedo * channel / 255 for channel in value.color or ())
        return linear

    def nearest(self, recorded: str, pixels: Pixels) -> NearestColor:
        """The value that pixels of an object are nearest to.

        Args:
            recorded: The value that the object should have.
            pixels: sRGB [n, 3], 0..1.
        """
        names = list(self._linear)
        colors = np.array(list(self._linear.values()))
        # Pixels at even steps, when there are many.
        n_sampled = min(len(pixels), _MOST_PIXELS)
        sample = np.linspace(0, len(pixels) - 1, n_sampled).astype(int)
        distances = color_distances(pixels[sample], colors)
        # The median leaves out highlights and edges.
        usual = np.median(distances, axis=0)
        best = int(usual.argmin())
        to_recorded = float(usual[names.index(recorded)])
        return NearestColor(names[best], float(usual[best]), to_recorded)

    def misnamed(self) -> Iterator[str]:
        """A sentence for each value whose colour people would clearly call by another value's
        name."""
        names = [name for name in self._linear if name in _COMMON_COLORS]
        if len(names) < 2:
            return
        common_rgb = [ImageColor.getrgb(_COMMON_COLORS[name]) for name in names]
        common = rgb2lab(np.array(common_rgb) / 255)
        for own, name in enumerate(names):
            lit = _BRIGHTNESSES[:, None] * np.array(self._linear[name])
            lit_color = rgb2lab(encoded(lit))
            distances = deltaE_ciede2000(lit_color[:, None], common[None]).min(0)
            nearest = int(distances.argmin())
            if distances[own] - distances[nearest] > _CLEARLY:
                yield (
                    f"the value '{name}' of {self.kind} has the colour that people call "
                    f"{names[nearest]}"
                )
