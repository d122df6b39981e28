"""Where an image needs the most samples: rectangles about its objects.

Highlights, outlines, reflections and the shadows under an object are what few samples get wrong; the rest of an image is
smooth, and denoising makes much of a few samples there (docs/engines.md has the figures).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from generator.dataset.outputs import Box
from generator.render.quality import Quality

LEAST = 16  # samples before Cycles first looks at the noise of a pixel
_ONE_MORE = 6000  # what beginning one more render costs, in samples of a pixel


class Shot(NamedTuple):
    """Rectangles whose pixels take the samples from `after` to `most`, none more once they have less `noise` than that."""

    parts: list[Box]
    most: int
    noise: float = 0.0
    after: int = 0

    @property
    def least(self) -> int:
        """How many samples a pixel takes at least."""
        return LEAST if self.noise else self.most - self.after


def shots(
    boxes: Sequence[Box], shines: Sequence[bool], width: int, height: int, quality: Quality, around: int
) -> list[Shot]:
    """What makes up an image; the last is the whole one, which the others add to.

    `shines` says of each box whether metal is in it. Away from the objects a pixel takes `around` samples.
    """
    whole: Box = (0, 0, width, height)
    wholly = [Shot([whole], quality.samples, quality.noise)]
    if not boxes or not 0 < around < quality.samples:
        return wholly
    shiny, matt = list(boxes), list[Box]()
    if around < quality.matt:
        shiny = [box for box, metal in zip(boxes, shines, strict=True) if metal]
        dull = [box for box, metal in zip(boxes, shines, strict=True) if not metal]
        matt = focus(dull, width, height, quality.matt - around)
        if matt == [whole]:
            matt, around = [], quality.matt
    more = Shot(shiny, quality.samples, quality.noise, around)
    more = more._replace(parts=focus(shiny, width, height, more.least))
    if more.parts == [whole]:
        return wholly
    found = [Shot(matt, quality.matt, 0.0, around), more, Shot([whole], around)]
    return [shot for shot in found if shot.parts]


def focus(boxes: Sequence[Box], width: int, height: int, more: int) -> list[Box]:
    """Rectangles that hold every box with a margin, for pixels that take at least so many samples `more` than all around.

    Boxes are joined while that is cheaper. Where rectangles would cost as much as the whole image, it is the only one.
    """
    margin = max(width, height) // 480  # the larger, the broader is the shadow where an object touches the ground
    parts = [_grown(box, margin, width, height) for box in boxes]
    while len(parts) > 1:
        a, b = min(combinations(parts, 2), key=lambda pair: _loss(pair, more))
        if _loss((a, b), more) > 0:
            break
        parts = [part for part in parts if part not in (a, b)] + [_union(a, b)]
    whole = (0, 0, width, height)
    return parts if sum(_cost(part, more) for part in parts) < _cost(whole, more) - _ONE_MORE else [whole]


def _loss(pair: tuple[Box, Box], more: int) -> int:
    """What joining two rectangles costs more than both."""
    return _cost(_union(*pair), more) - _cost(pair[0], more) - _cost(pair[1], more)


def _cost(box: Box, more: int) -> int:
    left, top, right, bottom = box
    return (right - left) * (bottom - top) * more + _ONE_MORE


def _grown(box: Box, pixels: int, width: int, height: int) -> Box:
    left, top, right, bottom = box
    return max(left - pixels, 0), max(top - pixels, 0), min(right + pixels, width), min(bottom + pixels, height)


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
