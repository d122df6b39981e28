"""How alike two images of the same CLEVR scene are: colours, structure and outlines, object by
object."""

import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from scipy import ndimage
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.metrics import structural_similarity

from tests.paths import SHARED

REFERENCE = SHARED / "data" / "clevr_reference"
WIDTH, HEIGHT = 320, 240
AROUND = 3  # pixels by which an object's mask is dilated
NEAR = 8  # pixels around an object in which its outline is looked for
FINE = 4  # outlines are drawn this much finer than pixels, between which shares are interpolated
UNLIKE = 0.03  # how far two colours must be apart in linear light to be told from each other


class Likeness(NamedTuple):
    """Of an object: median CIEDE2000 and mean SSIM in its dilated mask, intersection over union of
    the outlines."""

    color: float
    structure: float
    outline: float

    @property
    def good(self) -> bool:
        return self.color <= 3 and self.structure >= 0.9 and self.outline >= 0.97


@cache
def records() -> dict[str, Any]:
    """The scenes of the reference by name."""
    scenes = json.loads((REFERENCE / "scenes.json").read_text())["scenes"]
    return {scene["image"].removesuffix(".png"): scene for scene in scenes}


def reference(name: str) -> np.ndarray:
    with Image.open(REFERENCE / f"{name}.png") as image:
        return np.asarray(image.convert("RGB"))


def difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """CIEDE2000 of each pixel."""
    return deltaE_ciede2000(rgb2lab(a), rgb2lab(b))


def structure(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """SSIM of each pixel, the mean of the channels."""
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    return structural_similarity(a, b, channel_axis=2, data_range=255, full=True, **options)[
        1
    ].mean(axis=2)


def likeness(
    image: np.ndarray, mask: np.ndarray, without: np.ndarray, theirs: np.ndarray
) -> list[Likeness]:
    """Of each object of a scene, how alike an image and theirs are; `mask` and `without` as in
    reference_renders."""
    return [likeness_of(i, image, mask, without, theirs) for i in range(len(without))]


def likeness_of(
    i: int, image: np.ndarray, mask: np.ndarray, without: np.ndarray, theirs: np.ndarray
) -> Likeness:
    """How alike an image and theirs are in object i."""
    rows, columns = ndimage.find_objects(mask == i + 1)[0]
    window = tuple(slice(max(0, s.start - 2 * NEAR), s.stop + 2 * NEAR) for s in (rows, columns))
    image, mask, behind, theirs = image[window], mask[window], without[i][window], theirs[window]
    own = mask == i + 1
    around = ndimage.binary_dilation(own, iterations=AROUND)
    return Likeness(
        float(np.median(difference(image, theirs)[around])),
        float(structure(image, theirs)[around].mean()),
        overlap(image, theirs, behind, own, mask),
    )


def overlap(
    image: np.ndarray, theirs: np.ndarray, behind: np.ndarray, own: np.ndarray, mask: np.ndarray
) -> float:
    """Intersection over union of the outlines of an object in two images, told in the same way in
    both.

    A pixel is a mixture of the object, whose colour is that of the nearest pixel well within it,
    and of what is behind it; it shows the object when it is more than half of it. Pixels where both
    are of one colour, or where another object stands in front, tell nothing and are left out.
    """
    near = ndimage.binary_dilation(own, iterations=NEAR) & ((mask == 0) | own)
    within = ndimage.binary_erosion(own, iterations=2)
    nearest = ndimage.distance_transform_edt(~within, return_distances=False, return_indices=True)
    back = linear(behind)
    front = linear(image)[tuple(nearest)] - back
    apart = (front**2).sum(axis=2)
    decided = ndimage.zoom(near & (apart > UNLIKE**2), FINE, order=0)
    ours, in_theirs = (
        ndimage.zoom(
            ((linear(picture) - back) * front).sum(axis=2) / np.maximum(apart, 1e-9), FINE, order=1
        )
        > 0.5
        for picture in (image, theirs)
    )
    return np.count_nonzero(ours & in_theirs & decided) / max(
        1, np.count_nonzero((ours | in_theirs) & decided)
    )


def linear(image: np.ndarray) -> np.ndarray:
    """Linear light 0..1 of an 8-bit sRGB image."""
    c = image / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
