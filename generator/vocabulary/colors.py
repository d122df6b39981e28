"""Colours as people write them, and as light."""

_LINEAR_PART = 0.04045  # below this an sRGB channel is straight (IEC 61966-2-1)


def linear_of(srgb: str) -> tuple[float, float, float]:
    """Red, green and blue of "#rrggbb" without the sRGB curve, 0..255, to four decimals.

    >>> linear_of("#ff8000")
    (255.0, 55.0444, 0.0)
    """
    red, green, blue = (_decoded(int(srgb[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return red, green, blue


def _decoded(channel: float) -> float:
    """An sRGB channel (0..1) as linear light, 0..255."""
    linear = channel / 12.92 if channel <= _LINEAR_PART else ((channel + 0.055) / 1.055) ** 2.4
    return round(255 * linear, 4)
