"""Plans the samples of an image: many in rectangles around its objects, few elsewhere.

Highlights, outlines, reflections and contact shadows need many samples. The rest of an image is
smooth, so a few samples and denoising are enough (docs/engines.md has the figures).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from generator.dataset.outputs import Box
from generator.render.settings import Quality

FIRST_NOISE_CHECK = 16
"""Samples after which Cycles first estimates the noise of a pixel."""
_RENDER_COST = 6000
"""The cost of starting one more render, in samples of one pixel."""


class SamplePass(NamedTuple):
    """One render of some rectangles of an image."""

    parts: list[Box]
    """The rectangles, in pixels."""
    most: int
    """The number of the last sample of a pixel."""
    noise: float = 0.0
    """If above 0, a pixel stops earlier, once its estimated noise is below this."""
    after: int = 0
    """The samples that other passes take before."""

    @property
    def least(self) -> int:
        """The fewest samples that a pixel takes."""
        return FIRST_NOISE_CHECK if self.noise else self.most - self.after


def sample_passes(
    boxes: Sequence[Box],
    metallic: Sequence[bool],
    *,
    width: int,
    height: int,
    quality: Quality,
    around: int,
) -> list[SamplePass]:
    """Plan the passes that together render an image.

    Up to three sorts of pixels take different numbers of samples: those around metal objects the
    most, those around other objects `quality.matt`, all others `around`. The last pass covers the
    whole image with `around` samples; the passes before it add samples in rectangles.

    Args:
        boxes: The boxes of the objects, in pixels.
        metallic: Whether each box holds metal.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        quality: The settings of Cycles.
        around: Samples of a pixel away from the objects.

    Returns:
        The passes in the order in which they are rendered; at least the one of the whole image.

    >>> quality = Quality(samples=256, matt=8, denoise="fast", bounces=3)
    >>> box = (100, 100, 140, 140)
    >>> sizes = {"width": 320, "height": 240, "quality": quality, "around": 4}
    >>> passes = sample_passes([box], [True], **sizes)
    >>> [(sample_pass.parts, sample_pass.most) for sample_pass in passes]
    [([(100, 100, 140, 140)], 256), ([(0, 0, 320, 240)], 4)]
    """
    whole: Box = (0, 0, width, height)
    whole_image = [SamplePass([whole], quality.samples, quality.noise)]
    if not boxes or not 0 < around < quality.samples:
        return whole_image

    # Objects without metal have no sharp reflections, so fewer samples do.
    metal_boxes = list(boxes)
    matt_parts: list[Box] = []
    if around < quality.matt:
        metal_boxes, matt_boxes = _split_by_metal(boxes, metallic)
        more = quality.matt - around
        matt_parts = join_boxes(matt_boxes, width=width, height=height, more=more)
        if matt_parts == [whole]:
            # One pass over the whole image is cheaper than the rectangles.
            matt_parts = []
            around = quality.matt

    metal_pass = SamplePass(metal_boxes, quality.samples, quality.noise, around)
    metal_parts = join_boxes(metal_boxes, width=width, height=height, more=metal_pass.least)
    if metal_parts == [whole]:
        return whole_image
    passes = [
        SamplePass(matt_parts, quality.matt, 0.0, around),
        metal_pass._replace(parts=metal_parts),
        SamplePass([whole], around),
    ]
    return [sample_pass for sample_pass in passes if sample_pass.parts]


def _split_by_metal(boxes: Sequence[Box], metallic: Sequence[bool]) -> tuple[list[Box], list[Box]]:
    """The boxes of metal objects, and those of others."""
    metal_boxes: list[Box] = []
    matt_boxes: list[Box] = []
    for box, is_metal in zip(boxes, metallic, strict=True):
        group = metal_boxes if is_metal else matt_boxes
        group.append(box)
    return metal_boxes, matt_boxes


def join_boxes(boxes: Sequence[Box], *, width: int, height: int, more: int) -> list[Box]:
    """Return rectangles that cover every box and a margin, joined while that is cheaper.

    Each rectangle costs its pixels and a start of the renderer, so two near boxes are cheaper as
    one. The pair whose union saves most is joined first.

    Args:
        boxes: The boxes, in pixels.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        more: How many samples their pixels take beyond those of the rest of the image.

    Returns:
        The rectangles; only the whole image if the rectangles would cost as much as that.
    """
    # Contact shadows are broader in larger images.
    margin = max(width, height) // 480
    parts = [_grow(box, margin, width=width, height=height) for box in boxes]
    while len(parts) > 1:
        pairs = combinations(parts, 2)
        first, second = min(pairs, key=lambda pair: _extra_cost(pair, more))
        if _extra_cost((first, second), more) > 0:
            break
        others = [part for part in parts if part not in (first, second)]
        parts = [*others, _union(first, second)]
    whole = (0, 0, width, height)
    cost_of_parts = sum(_cost(part, more) for part in parts)
    if cost_of_parts < _cost(whole, more) - _RENDER_COST:
        return parts
    return [whole]


def _extra_cost(pair: tuple[Box, Box], more: int) -> int:
    """The cost of the joined rectangle minus the costs of both."""
    first, second = pair
    cost_of_joined = _cost(_union(first, second), more)
    return cost_of_joined - _cost(first, more) - _cost(second, more)


def _cost(box: Box, more: int) -> int:
    """The cost of rendering a rectangle, in samples of one pixel."""
    left, top, right, bottom = box
    return (right - left) * (bottom - top) * more + _RENDER_COST


def _grow(box: Box, pixels: int, *, width: int, height: int) -> Box:
    """A box with a margin, clipped to the image."""
    left, top, right, bottom = box
    return (
        max(left - pixels, 0),
        max(top - pixels, 0),
        min(right + pixels, width),
        min(bottom + pixels, height),
    )


def _union(a: Box, b: Box) -> Box:
    """The smallest rectangle that holds both."""
    left, top, right, bottom = a
    other_left, other_top, other_right, other_bottom = b
    return (
        min(left, other_left),
        min(top, other_top),
        max(right, other_right),
        max(bottom, other_bottom),
    )
