"""Plans the samples of an image: many in rectangles around its objects, few elsewhere.

Highlights, outlines, reflections and contact shadows need many samples. The rest of an image is
smooth, so a few samples and denoising are enough (docs/engines.md has the figures).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from generator.dataset.outputs import Box
from generator.render.settings import Quality

FIRST_NOISE_CHECK = 16  # samples after which Cycles first estimates the noise of a pixel
_RENDER_COST = 6000  # cost of starting one more render, in samples of one pixel


class SamplePass(NamedTuple):
    """One render of the pixels in `parts`: samples `after` to `most`, fewer once their estimated
    noise is below `noise`.
    """

    parts: list[Box]
    most: int
    noise: float = 0.0
    after: int = 0

    @property
    def least(self) -> int:
        """The fewest samples that a pixel takes."""
        return FIRST_NOISE_CHECK if self.noise else self.most - self.after


def sample_passes(
    boxes: Sequence[Box],
    metallic: Sequence[bool],
    width: int,
    height: int,
    quality: Quality,
    around: int,
) -> list[SamplePass]:
    """The passes that together render an image. The last one covers the whole image; the others add
    samples to it.

    `boxes`: of the objects, in pixels. `metallic`: whether each box holds metal. `around`: samples
    away from the
    objects.
    """
    whole: Box = (0, 0, width, height)
    whole_image = [SamplePass([whole], quality.samples, quality.noise)]
    if not boxes or not 0 < around < quality.samples:
        return whole_image
    of_metal, matt = list(boxes), list[Box]()
    if around < quality.matt:
        of_metal = [box for box, metal in zip(boxes, metallic, strict=True) if metal]
        without_metal = [box for box, metal in zip(boxes, metallic, strict=True) if not metal]
        matt = join_boxes(without_metal, width, height, quality.matt - around)
        if matt == [whole]:
            matt, around = [], quality.matt
    more = SamplePass(of_metal, quality.samples, quality.noise, around)
    more = more._replace(parts=join_boxes(of_metal, width, height, more.least))
    if more.parts == [whole]:
        return whole_image
    found = [SamplePass(matt, quality.matt, 0.0, around), more, SamplePass([whole], around)]
    return [each for each in found if each.parts]


def join_boxes(boxes: Sequence[Box], width: int, height: int, more: int) -> list[Box]:
    """Rectangles that cover every box and a margin, joined while that is cheaper.

    `more`: how many samples their pixels take beyond those of the rest of the image. If the
    rectangles would cost as
    much as the whole image, the only rectangle is the whole image.
    """
    margin = max(width, height) // 480  # contact shadows are broader in larger images
    parts = [_grown(box, margin, width, height) for box in boxes]
    while len(parts) > 1:
        a, b = min(combinations(parts, 2), key=lambda pair: _extra_cost(pair, more))
        if _extra_cost((a, b), more) > 0:
            break
        parts = [part for part in parts if part not in (a, b)] + [_union(a, b)]
    whole = (0, 0, width, height)
    return (
        parts
        if sum(_cost(part, more) for part in parts) < _cost(whole, more) - _RENDER_COST
        else [whole]
    )


def _extra_cost(pair: tuple[Box, Box], more: int) -> int:
    """The cost of the joined rectangle minus the costs of both."""
    return _cost(_union(*pair), more) - _cost(pair[0], more) - _cost(pair[1], more)


def _cost(box: Box, more: int) -> int:
    left, top, right, bottom = box
    return (right - left) * (bottom - top) * more + _RENDER_COST


def _grown(box: Box, pixels: int, width: int, height: int) -> Box:
    left, top, right, bottom = box
    return (
        max(left - pixels, 0),
        max(top - pixels, 0),
        min(right + pixels, width),
        min(bottom + pixels, height),
    )


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
