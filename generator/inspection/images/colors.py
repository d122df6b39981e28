"""Which declared colour some pixels show, whatever the light on them.

A lit surface shows its colour brighter or darker, so each declared colour is compared at many brightnesses, and the
nearest by CIEDE2000 counts. Of 538 objects in draft renders of the built-in families at 32 to 128 pixels, each was nearer
to the colour of its record than to any other, by 5.8 at least.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor
from skimage.color import deltaE_ciede2000, rgb2lab

from generator.inspection.family.colors import encoded
from generator.vocabulary.materials import linear_of
from generator.vocabulary.schema import Vocabulary

Pixels = NDArray[np.float64]
CLEARLY = 3.0
"""CIEDE2000 by which another colour has to be nearer before a record counts as wrong."""
_LIGHTS = np.geomspace(0.15, 2.5, 15)[:, None, None]  # brightness over that of a white wall in full light
_MOST = 100  # pixels of an object that are compared; more decide nothing

# The colours that people most often call by these names: Munroe's survey of 222,500 people (xkcd.com/color/rgb, CC0).
_NAMED = {
    "red": "#e50000", "green": "#15b01a", "blue": "#0343df", "yellow": "#ffff14", "brown": "#653700", "purple": "#7e1e9c",
    "cyan": "#00ffff", "gray": "#929591", "grey": "#929591", "orange": "#f97306", "pink": "#ff81c0", "black": "#000000",
    "white": "#ffffff",
}  # fmt: skip


def distances(pixels: Pixels, colors: Pixels) -> Pixels:
    """CIEDE2000 [n, v] of each pixel from each colour in the light in which it comes nearest.

    `pixels`: sRGB [n, 3], 0..1. `colors`: linear light [v, 3], 0..1.
    """
    shown = rgb2lab(encoded(_LIGHTS * colors))
    found: Pixels = deltaE_ciede2000(rgb2lab(pixels)[:, None, None], shown[None]).min(1)
    return found


class Colors:
    """The colours that a family declares.

    `kind`: the attribute kind that sets an object's colour; None if none does, as where textures bring their own.
    """

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self.kind = next(
            (kind for kind, values in vocabulary.attributes.items() if all(each.color for each in values.values())),
            None,
        )

    @cached_property
    def _declared(self) -> dict[str, tuple[float, ...]]:
        """Linear light, 0..1, of each value of the kind."""
        values = self._vocabulary.attributes[self.kind] if self.kind else {}
        return {
            name: tuple((value.albedo or 1.0) * channel / 255 for channel in value.color or ())
            for name, value in values.items()
        }

    def palette(self, attributes: dict[str, str]) -> Pixels:
        """The colours [v, 3] that an object may show: its own, or those of its texture."""
        for kind, name in attributes.items():
            texture = self._vocabulary.attributes[kind][name].texture
            if texture is not None and texture.colors is not None:
                return np.array([linear_of(color) for color in texture.colors]) / 255
        return np.array([self._declared[attributes[self.kind]]]) if self.kind else np.zeros((0, 3))

    def other_than(self, recorded: str, pixels: Pixels) -> tuple[str, float, float] | None:
        """The value that pixels [n, 3] show, if it is clearly another than the recorded one, and CIEDE2000 of both."""
        some = pixels[np.linspace(0, len(pixels) - 1, min(len(pixels), _MOST)).astype(int)]
        off = np.median(distances(some, np.array(list(self._declared.values()))), axis=0)
        return _clearly_other(list(self._declared), off, recorded)

    def misnamed(self) -> Iterator[str]:
        """A sentence for each value called by the common name of a colour that is clearly another value's."""
        names = [name for name in self._declared if name in _NAMED]
        if len(names) < 2:
            return
        common = np.array([ImageColor.getrgb(_NAMED[name]) for name in names]) / 255
        for name in names:
            shown = encoded(_LIGHTS[:, 0] * np.array(self._declared[name]))
            off = deltaE_ciede2000(rgb2lab(shown)[:, None], rgb2lab(common)[None]).min(0)
            if other := _clearly_other(names, off, name):
                yield f"the value '{name}' of {self.kind} has the colour that people call {other[0]}"


def _clearly_other(names: Sequence[str], off: Pixels, own: str) -> tuple[str, float, float] | None:
    nearest, due = int(off.argmin()), off[names.index(own)]
    if due - off[nearest] <= CLEARLY:
        return None
    return names[nearest], float(off[nearest]), float(due)
