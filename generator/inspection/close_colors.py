"""Finds values of a family whose colours people could confuse.

Colours use a simple model instead of a render: a matt ball in the middle of the floor, lit by the
family's sky and lamps in Blender's units, without shadows and without light from the floor.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skimage.color import rgb2lab

from generator.base.srgb import encode_srgb
from generator.scene.projection import axes
from generator.vocabulary.schema import Vocabulary

Array = NDArray[np.float64]

TOO_CLOSE = 10.0
"""Colours are too close if their CIEDE2000 difference is smaller. A trained eye can just see about
1."""
_SHADES = np.geomspace(0.5, 2.0, 9)
"""Factors on the light of one of two colours. A side of an object in shade gets about half the
light of a lit one, so colours that differ only in lightness, such as cyan and teal, are confused.
The closest two values of a shipped family differ by 13 (clevr-original: brown and yellow)."""
_ALONG = 12
"""Normals of the ball in each direction."""


class Close(NamedTuple):
    """Two values of a kind with too close colours."""

    kind: str
    """The kind of attribute."""
    one: str
    """The first value."""
    other: str
    """The second value."""
    environment: str
    """The environment where they are closest."""
    distance: float
    """CIEDE2000 there."""


def too_close(vocabulary: Vocabulary) -> Iterator[Close]:
    """Pairs of values that differ in colour alone and whose colours are too close in some
    environment, in the same light or with one of them in up to twice the other's light."""
    environments = list(vocabulary.environments)
    lights = np.stack([light_on_ball(vocabulary, name) for name in environments])
    for kind, values in vocabulary.attributes.items():
        inputs = {name: value.inputs() for name, value in values.items()}
        pairs = _pairs_of_colors(inputs)
        if not pairs:
            continue
        firsts = np.stack([_mean_color(inputs[one], lights) for one, _ in pairs])
        seconds = np.stack([_mean_color(inputs[other], lights) for _, other in pairs])
        smallest = _smallest_differences(firsts, seconds)
        for (one, other), distances in zip(pairs, smallest, strict=True):
            closest = int(distances.argmin())
            distance = float(distances[closest])
            if distance < TOO_CLOSE:
                yield Close(kind, one, other, environments[closest], distance)


def _pairs_of_colors(inputs: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The pairs of values of a kind that differ in colour alone, from the inputs of each value.

    Values that differ in more, such as a texture, are told apart by that.
    """
    colored = [name for name, own in inputs.items() if "linear" in own]
    pairs = []
    for one, other in combinations(colored, 2):
        if _without_color(inputs[one]) == _without_color(inputs[other]):
            pairs.append((one, other))
    return pairs


def _smallest_differences(firsts: Array, seconds: Array) -> Array:
    """CIEDE2000 (pairs, environments) between linear colours (pairs, environments, 3), where the
    light on the first colour is such that it comes closest to the second."""
    from skimage.color import deltaE_ciede2000

    seconds_in_lab = rgb2lab(encoded(seconds))
    smallest = np.full(firsts.shape[:2], np.inf)
    for shade in _SHADES:
        firsts_in_lab = rgb2lab(encoded(shade * firsts))
        differences = deltaE_ciede2000(firsts_in_lab, seconds_in_lab)
        smallest = np.minimum(smallest, differences)
    return smallest


def light_on_ball(vocabulary: Vocabulary, environment: str) -> Array:
    """The linear light (n, 3) that a white matt ball reflects at n points of its visible side; 1 is
    white.

    A photographed place counts as even white light: `family_check` checks colours there on renders.
    """
    normals = _visible_normals(vocabulary)
    place = vocabulary.environments[environment]
    if place.photo is not None:
        return np.ones((len(normals), 3))
    sky = vocabulary.sky if place.light is None else place.light
    light = np.full((len(normals), 3), sky)
    # A place may change a lamp of the family, by its name.
    lamps = {**vocabulary.lamps, **place.lamps}
    for lamp in lamps.values():
        distance = math.sqrt(sum(x * x for x in lamp.position))
        direction = np.asarray(lamp.position) / distance
        # Lambert's cosine law; a surface that is turned away gets nothing.
        cosine = np.clip(normals @ direction, 0, None)
        if lamp.type == "sun":
            # Its energy is watts per square metre, whatever the distance.
            strength = lamp.energy / math.pi
        else:
            # Watts, of which less arrives with the square of the distance.
            strength = lamp.energy / (math.pi * distance) ** 2
        color = np.asarray(lamp.color)
        light += cosine[:, None] * strength * color
    return light


def encoded(linear: Array) -> Array:
    """Linear light, clipped to 0..1, encoded with the sRGB curve."""
    return encode_srgb(np.clip(linear, 0, 1))


def _visible_normals(vocabulary: Vocabulary) -> Array:
    """Unit normals (n, 3) in world coordinates of the visible side of a ball, evenly spaced in its
    image."""
    camera = vocabulary.camera
    right, up, back = (np.asarray(axis) for axis in axes(camera.position, camera.target))
    # The middles of equal steps from -1 to 1.
    steps = (np.arange(_ALONG) + 0.5) / _ALONG * 2 - 1
    x, y = np.meshgrid(steps, steps)
    is_on_ball = x * x + y * y < 1
    x, y = x[is_on_ball], y[is_on_ball]
    z = np.sqrt(1 - x * x - y * y)
    return x[:, None] * right + y[:, None] * up + z[:, None] * back


def _mean_color(inputs: Mapping[str, Any], lights: Array) -> Array:
    """Mean linear colour (environments, 3) of the ball in an image, with channels clipped at
    white."""
    color = np.asarray(inputs["linear"]) / 255 * inputs.get("albedo", 1.0)
    reflected = np.clip(lights * color, 0, 1)
    mean: Array = reflected.mean(1)
    return mean


def _without_color(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a value without its colour."""
    return {name: value for name, value in inputs.items() if name not in ("linear", "albedo")}
