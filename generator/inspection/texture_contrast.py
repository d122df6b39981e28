"""Measures how well a family's textures show on its objects.

Each texture is rendered on each object; dividing by a render of the same object without the texture
removes light and shade and leaves the colours of the surface.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.color import rgb2lab

from generator.base.srgb import decode_srgb
from generator.inspection.close_colors import encoded
from generator.inspection.object_masks import Mask, object_masks
from generator.inspection.swatches import rendered, single_scene
from generator.vocabulary.materials import AttributeValue
from generator.vocabulary.schema import Vocabulary

Image = NDArray[np.float64]
"""Linear light [h, w, 3]."""

LEAST_CONTRAST = 3.5
"""Minimum contrast of a texture on an object. Contrast is the 20% quantile, over the object's
pixels, of the local spread of colours: root mean square distance in CIELAB in a window of about a
seventh of the object. The textures of `pug` had 4 to 32; stripes that leave a side plain had 1 to
2."""
_TEXTURE_SIDE = 128
"""Width and height of the compared images, pixels: the smallest usual size."""
_GRAY = 0.5
"""Linear light of the surface that textures are compared with."""
_WINDOW = 0.15
"""Standard deviation of the window, over the root of the object's area."""
_PART = 0.2
"""Share of the object that may be plain, as between two marks."""
_PLAIN = "plain surface"
"""Name of the value without a texture; no family uses it."""


def contrasts(
    vocabulary: Vocabulary, workers: int, known: Sequence[Vocabulary] = ()
) -> Iterator[tuple[str, str, str, float]]:
    """Render each texture on each object, at the middle of its headings, and measure its contrast.

    Args:
        vocabulary: The family.
        workers: Number of render processes.
        known: Families whose textures on their objects are skipped.

    Yields:
        Kind, category, value and contrast.

    Raises:
        UserError: Blender cannot render the images.
    """
    for kind, values in vocabulary.attributes.items():
        textured = [name for name, value in values.items() if value.texture is not None]
        if not textured:
            continue
        compared = _with_plain(vocabulary, kind)
        # All else is the same in the images that are compared: the first value of each kind.
        usual = {own: compared.values(own)[0] for own in compared.attributes}
        environment = next(iter(compared.environments))

        swatches: list[tuple[str, str]] = []
        for category in vocabulary.objects:
            unknown = []
            for value in textured:
                is_known = [
                    _has(family, vocabulary, kind=kind, category=category, value=value)
                    for family in known
                ]
                if not any(is_known):
                    unknown.append((category, value))
            if unknown:
                # The plain surface first, since the textures are compared with it.
                swatches += [(category, _PLAIN), *unknown]
        scenes = []
        for category, value in swatches:
            attributes = {**usual, kind: value}
            scene = single_scene(
                compared, category, attributes=attributes, environment=environment, close=False
            )
            scenes.append(scene)
        images = rendered(scenes, compared, workers, _TEXTURE_SIDE, "draft")
        plain: Image = np.zeros(0)
        for (category, value), scene, image in zip(swatches, scenes, images, strict=True):
            light = decode_srgb(np.asarray(image) / 255)
            if value == _PLAIN:
                plain = light
                (object_mask,) = object_masks(scene, compared, (_TEXTURE_SIDE, _TEXTURE_SIDE))
            else:
                yield kind, category, value, contrast_of(light, plain, object_mask.visible)


def _has(
    known: Vocabulary, vocabulary: Vocabulary, *, kind: str, category: str, value: str
) -> bool:
    """Whether the family `known` has the same object and value as `vocabulary`."""
    if known.objects.get(category) != vocabulary.objects[category]:
        return False
    values = known.attributes.get(kind, {})
    return values.get(value) == vocabulary.attributes[kind][value]


def contrast_of(textured: Image, plain: Image, mask: Mask) -> float:
    """Measure the contrast of a texture.

    Args:
        textured: The image of an object with it, linear light [h, w, 3].
        plain: The image of the same object without it.
        mask: The object's pixels [h, w].

    Returns:
        The contrast, as LEAST_CONTRAST defines it; 0 if no pixel shows the object.
    """
    # Pixels of the edge mix the object with what is behind it; a thin object has no others.
    inside = ndimage.binary_erosion(mask)
    if not inside.any():
        inside = mask
    if not inside.any():
        return 0.0

    # Dividing by the plain render removes light and shade. What is added keeps black pixels from
    # dividing by 0.
    brightness = plain[inside].mean(-1, keepdims=True) + 0.01
    surface = _GRAY * textured[inside] / brightness
    lab = np.zeros(textured.shape)
    lab[inside] = rgb2lab(encoded(surface))

    # The local spread: the variance in a window is E[x²] - E[x]². Blurring counts pixels outside of
    # the object as 0, so the blurred values are divided by the blurred mask.
    sigma = _WINDOW * float(np.sqrt(inside.sum()))
    weight = np.maximum(ndimage.gaussian_filter(inside.astype(float), sigma), 1e-6)

    def local_mean(values: Image) -> Image:
        """Mean around each pixel, over pixels of the object alone."""
        blurred = ndimage.gaussian_filter(values, (sigma, sigma, 0))
        return np.asarray(blurred / weight[..., None])

    mean_of_squares = local_mean(lab**2)
    square_of_mean = local_mean(lab) ** 2
    # Rounding may leave a difference just below 0.
    variance = np.clip(mean_of_squares - square_of_mean, 0, None)
    spread = np.sqrt(variance.sum(-1))
    return float(np.quantile(spread[inside], _PART))


def _with_plain(vocabulary: Vocabulary, kind: str) -> Vocabulary:
    """The family with one more value of a kind, without texture: gray if textures set colours, else
    as the object."""
    values = vocabulary.attributes[kind]
    textured = [value for value in values.values() if value.texture is not None]
    sets_color = any(value.texture and value.texture.colors for value in textured)
    # The texture aside, the new value is as the first that has one.
    first = textured[0]
    changes = {
        "texture": None,
        "linear": (255 * _GRAY,) * 3 if sets_color else None,
        "synonyms": (),
        "article": None,
    }
    plain: AttributeValue = first.model_copy(update=changes)
    attributes = {**vocabulary.attributes, kind: {**values, _PLAIN: plain}}
    return vocabulary.model_copy(update={"attributes": attributes})
