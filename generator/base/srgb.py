"""The sRGB curve (IEC 61966-2-1): from linear light to the channels of images and back."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LINEAR_PART = 0.04045
"""Channels below this are proportional to the light."""
_LINEAR_LIGHT = 0.0031308
"""The light of that channel."""


def encode_srgb(light: ArrayLike) -> NDArray[np.float64]:
    """Encode linear light as channels of sRGB.

    Args:
        light: Of any shape, 0..1; brighter light gives channels above 1.

    Returns:
        The channels, in the shape of `light`.

    >>> encode_srgb([0.0, 0.001, 0.5, 1.0]).round(4).tolist()
    [0.0, 0.0129, 0.7354, 1.0]
    """
    light = np.asarray(light, np.float64)
    curved = 1.055 * light ** (1 / 2.4) - 0.055
    return np.where(light <= _LINEAR_LIGHT, 12.92 * light, curved)


def decode_srgb(channels: ArrayLike) -> NDArray[np.float64]:
    """Decode channels of sRGB to linear light.

    Args:
        channels: Of any shape, 0..1.

    Returns:
        The light, 0..1, in the shape of `channels`.

    >>> decode_srgb([0.0, 0.02, 0.5, 1.0]).round(4).tolist()
    [0.0, 0.0015, 0.214, 1.0]
    """
    channels = np.asarray(channels, np.float64)
    curved = ((channels + 0.055) / 1.055) ** 2.4
    return np.where(channels <= _LINEAR_PART, channels / 12.92, curved)
