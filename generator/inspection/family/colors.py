"""Colours that people could confuse under the lights of a family.

It uses a simple model instead of a render: a matt ball in the middle of the floor, lit by the family's sky and lamps
in Blender's units, without shadows and without light from the floor. A colour is the mean over the visible side of
the ball.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generator.scene.projection import axes
from generator.vocabulary.schema import Vocabulary

TOO_CLOSE = 10.0
"""Colours are too close where their difference (CIEDE2000) is smaller; 1 is about what a trained eye can just see."""
_ALONG = 12  # normals of the ball in each direction


class Close(NamedTuple):
    """Two values of a kind whose colours are too close, where they are closest, and their CIEDE2000 there."""

    kind: str
    one: str
    other: str
    environment: str
    distance: float


def too_close(vocabulary: Vocabulary) -> Iterator[Close]:
    """Pairs of values that differ in colour alone and whose colours are too close in some environment."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    lights = np.stack([light_on_ball(vocabulary, name) for name in vocabulary.environments])
    places = list(vocabulary.environments)
    for kind, values in vocabulary.attributes.items():
        inputs = {name: value.inputs() for name, value in values.items()}
        colored = [name for name, given in inputs.items() if "linear" in given]
        pairs = [(a, b) for a, b in combinations(colored, 2) if _rest(inputs[a]) == _rest(inputs[b])]
        if not pairs:
            continue
        shown = {name: rgb2lab(encoded(_mean_shown(inputs[name], lights))) for name in colored}
        one, other = (np.stack([shown[pair[i]] for pair in pairs]) for i in (0, 1))
        for (a, b), distances in zip(pairs, deltaE_ciede2000(one, other), strict=True):
            if distances.min() < TOO_CLOSE:
                yield Close(kind, a, b, places[distances.argmin()], float(distances.min()))


def light_on_ball(vocabulary: Vocabulary, environment: str) -> NDArray[np.float64]:
    """The linear light (n, 3) that a white matt ball reflects at n points of its visible side; 1 is white."""
    normals = _visible_normals(vocabulary)
    where = vocabulary.environments[environment]
    light = np.full((len(normals), 3), vocabulary.sky if where.light is None else where.light)
    for lamp in {**vocabulary.lamps, **where.lamps}.values():
        away = math.sqrt(sum(x * x for x in lamp.position))
        facing = np.clip(normals @ (np.asarray(lamp.position) / away), 0, None)
        power = lamp.energy / math.pi if lamp.type == "sun" else lamp.energy / (math.pi * away) ** 2
        light += facing[:, None] * power * np.asarray(lamp.color)
    return light


def encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light (0..1, clipped) encoded with the sRGB curve (IEC 61966-2-1)."""
    clipped = np.clip(linear, 0, 1)
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)


def decoded(shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `encoded`: linear light of sRGB, both 0..1."""
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def _visible_normals(vocabulary: Vocabulary) -> NDArray[np.float64]:
    """Unit normals (n, 3) in world coordinates of the visible side of a ball, evenly spaced in its image."""
    right, up, back = (np.asarray(axis) for axis in axes(vocabulary.camera.position, vocabulary.camera.target))
    along = (np.arange(_ALONG) + 0.5) / _ALONG * 2 - 1
    x, y = np.meshgrid(along, along)
    x, y = x[x * x + y * y < 1], y[x * x + y * y < 1]
    return x[:, None] * right + y[:, None] * up + np.sqrt(1 - x * x - y * y)[:, None] * back


def _mean_shown(inputs: Mapping[str, Any], lights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean linear colour (environments, 3) of the ball in an image, with channels clipped at white."""
    color = np.asarray(inputs["linear"]) / 255 * inputs.get("albedo", 1.0)
    shown: NDArray[np.float64] = np.clip(lights * color, 0, 1).mean(1)
    return shown


def _rest(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a value that are not its colour."""
    return {name: value for name, value in inputs.items() if name not in ("linear", "albedo")}
