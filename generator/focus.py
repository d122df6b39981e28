"""Where an image needs the most samples: rectangles about its objects.

Highlights, outlines, reflections and the shadows under an object are what few samples get wrong; the rest of an image is
smooth, and denoising makes much of a few samples there (docs/engines.md has the figures).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from PIL import Image

Box = tuple[int, int, int, int]
"""Whole pixels [left, top, right, bottom)."""

RIM = 2  # pixels within the edge of what is rendered that the denoiser gets wrong, for want of neighbours
FADE = 3  # pixels within the edge of a rectangle over which it blends with what lies around it
_ONE_MORE = 2000  # what beginning one more render costs, in pixels rendered within rectangles
_LEAST = 16  # samples of a pixel within rectangles


def focus(boxes: Sequence[Box], width: int, height: int, around: int) -> list[Box]:
    """Rectangles that hold every box with a margin, for the best samples; all around them takes `around` samples a pixel.

    Boxes are joined while that is cheaper. Where rectangles would cost as much as the whole image, it is the only one.
    """
    whole = (0, 0, width, height)
    margin = (
        FADE + max(width, height) // 320
    )  # the larger, the broader is the shadow where an object touches the ground
    parts = _joined([grown(box, margin, whole) for box in boxes])
    rest = _area(whole) * around / _LEAST + _ONE_MORE
    return parts if sum(map(_cost, parts)) + rest < _area(whole) + _ONE_MORE else [whole]


def fading(width: int, height: int) -> Image.Image:
    """How much of a rectangle shows over what lies around it: a mask of that size, less and less towards the edges."""
    column, row = (np.minimum(np.arange(side), np.arange(side)[::-1]) for side in (width, height))
    shares = np.minimum(1.0, (np.minimum.outer(row, column) + 1) / (FADE + 1))
    return Image.fromarray(np.rint(255 * shares).astype(np.uint8))


def _joined(parts: list[Box]) -> list[Box]:
    while len(parts) > 1:
        a, b = min(combinations(parts, 2), key=_loss)
        if _loss((a, b)) > 0:
            break
        parts = [part for part in parts if part not in (a, b)] + [_union(a, b)]
    return parts


def _loss(pair: tuple[Box, Box]) -> int:
    """What joining two rectangles costs more than both."""
    return _cost(_union(*pair)) - _cost(pair[0]) - _cost(pair[1])


def _cost(box: Box) -> int:
    left, top, right, bottom = box
    return (right - left + 2 * RIM) * (bottom - top + 2 * RIM) + _ONE_MORE


def grown(box: Box, pixels: int, whole: Box) -> Box:
    """A box and some pixels more on each side, within the whole image."""
    left, top, right, bottom = box
    return max(left - pixels, 0), max(top - pixels, 0), min(right + pixels, whole[2]), min(bottom + pixels, whole[3])


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
