"""Textures that cannot be seen on an object, measured in images of the family's own size.

Each texture is rendered on each object and divided by a render of the same object without it, which leaves the colours of
the surface without light and shade.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.color import rgb2lab

from generator.inspection.family.colors import decoded, encoded
from generator.inspection.outlines import Mask, outlines
from generator.inspection.single_objects import rendered, single_scene
from generator.vocabulary.materials import AttributeValue
from generator.vocabulary.schema import Vocabulary

LEAST_CONTRAST = 3.5
"""Least contrast of a texture on an object: how far the surface's colours are spread about each pixel (root mean square
distance in CIELAB, in a window of a seventh of the object), over all but the plainest fifth of the object."""
_SIDE = 128  # pixels, at draft quality: the smallest images that are usual
_GRAY = 0.5  # linear light of the surface that textures are compared with
_WINDOW = 0.15  # standard deviation of the window, over the root of the object's area
_PART = 0.2  # of the object may be plain, as between two marks
_PLAIN = "plain surface"  # no word of a family


class Faint(NamedTuple):
    """A texture that cannot be seen on an object, and its contrast there."""

    kind: str
    value: str
    category: str
    contrast: float


def faint(vocabulary: Vocabulary, workers: int) -> Iterator[Faint]:
    """Textures whose contrast on an object is less than LEAST_CONTRAST. Raises UserError if Blender cannot render them."""
    for kind, category, value, contrast in contrasts(vocabulary, workers):
        if contrast < LEAST_CONTRAST:
            yield Faint(kind, value, category, contrast)


def contrasts(vocabulary: Vocabulary, workers: int) -> Iterator[tuple[str, str, str, float]]:
    """Kind, category, value and contrast of each texture on each object, at the middle of its headings."""
    for kind, values in vocabulary.attributes.items():
        textured = [name for name, value in values.items() if value.texture is not None]
        if not textured:
            continue
        compared = _with_plain(vocabulary, kind)
        usual = {each: compared.values(each)[0] for each in compared.attributes}
        place = next(iter(compared.environments))
        shown = [(category, value) for category in compared.objects for value in (_PLAIN, *textured)]
        scenes = [
            single_scene(compared, category, {**usual, kind: value}, place, close=False) for category, value in shown
        ]
        images = rendered(scenes, compared, workers, _SIDE, "draft")
        plain: NDArray[np.float64] = np.zeros(0)
        for (category, value), scene, image in zip(shown, scenes, images, strict=True):
            light = _light(image)
            if value == _PLAIN:
                plain, mask = light, outlines(scene, compared, (_SIDE, _SIDE))[0].visible
            else:
                yield kind, category, value, contrast_of(light, plain, mask)


def contrast_of(textured: NDArray[np.float64], plain: NDArray[np.float64], mask: Mask) -> float:
    """The contrast within a mask [h, w] of two images [h, w, 3] in linear light, with a texture and without."""
    within = ndimage.binary_erosion(mask) if ndimage.binary_erosion(mask).any() else mask
    if not within.any():
        return 0.0
    surface = _GRAY * textured[within] / (plain[within].mean(-1, keepdims=True) + 0.01)
    lab = np.zeros(textured.shape)
    lab[within] = rgb2lab(encoded(surface))
    near = _WINDOW * float(np.sqrt(within.sum()))
    weight = np.maximum(ndimage.gaussian_filter(within.astype(float), near), 1e-6)

    def around(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean about each pixel of the object."""
        return np.asarray(ndimage.gaussian_filter(values, (near, near, 0)) / weight[..., None])

    spread = np.sqrt(np.clip(around(lab**2) - around(lab) ** 2, 0, None).sum(-1))
    return float(np.quantile(spread[within], _PART))


def _light(image: Image.Image) -> NDArray[np.float64]:
    return decoded(np.asarray(image) / 255)


def _with_plain(vocabulary: Vocabulary, kind: str) -> Vocabulary:
    """The family with one more value of a kind: gray without a texture, or without one in the object's own colour."""
    values = vocabulary.attributes[kind]
    covering = any(value.texture and value.texture.colors for value in values.values())
    first = next(value for value in values.values() if value.texture is not None)
    changes = {"texture": None, "linear": (255 * _GRAY,) * 3 if covering else None, "synonyms": (), "article": None}
    plain: AttributeValue = first.model_copy(update=changes)
    return vocabulary.model_copy(update={"attributes": {**vocabulary.attributes, kind: {**values, _PLAIN: plain}}})
