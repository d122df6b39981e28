"""How far the pixels that differ from an object's surroundings overlap its recorded outline."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from generator.inspection.outlines import Mask

_LEAST = 12  # pixels of which something is told
_SOLID = 24  # pixels well within an outline that tell its colour
_NOISE = 4.0  # variance of a channel of CIELAB that a Gaussian has at least


class Window(NamedTuple):
    """The part of an image around an object.

    `at`: rows and columns of the image. `inside`: well within the outline. `around`: well outside of it, and of other objects.
    `shape`: the outline. `known`: where no other object is. All are masks of the part. `solid`: whether enough pixels are
    well within the outline, and not at its edge, where two colours mix.
    """

    at: tuple[slice, slice]
    solid: bool
    inside: Mask
    around: Mask
    shape: Mask
    known: Mask


def window(outline: Mask, others: Mask) -> Window | None:
    """The window around an outline, a third wider and higher than it; None if the object or its surroundings show too little.

    `others`: where other objects are seen.
    """
    if not outline.any():
        return None
    rows, columns = ndimage.find_objects(outline.astype(int))[0]
    margin = max(3, (rows.stop - rows.start) // 3, (columns.stop - columns.start) // 3)
    down, across = (slice(max(0, part.start - margin), part.stop + margin) for part in (rows, columns))
    at = (down, across)
    shape, known = outline[at], ~others[at]
    inside, around = ndimage.binary_erosion(shape), ~ndimage.binary_dilation(shape) & known
    solid = bool(inside.sum() >= _SOLID)
    if inside.sum() < _LEAST:
        inside = shape
    if min(inside.sum(), around.sum()) < _LEAST:
        return None
    return Window(at, solid, inside, around, shape, known)


def overlap(lab: NDArray[np.float64], seen: Window) -> float:
    """Intersection over union, 0..1, of the outline and the pixels that look like its inside rather than its surroundings.

    `lab`: the window's pixels [h, w, 3] in CIELAB. A Gaussian of the pixels inside and one of those around tell them apart.
    """
    own = (_likelihood(lab, lab[seen.inside]) > _likelihood(lab, lab[seen.around])) & seen.known
    shape = seen.shape & seen.known
    return float((own & shape).sum() / max(1, (own | shape).sum()))


def _likelihood(lab: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the density of each pixel under a Gaussian fitted to some; a constant is left out."""
    spread = np.cov(like.T) + _NOISE * np.eye(3)
    off = lab - like.mean(0)
    found: NDArray[np.float64] = (
        -np.einsum("...i,ij,...j", off, np.linalg.inv(spread), off) - np.linalg.slogdet(spread)[1]
    )
    return found
