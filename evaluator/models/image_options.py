"""Overrides of how the dual encoders `hf:` and `open_clip:` prepare images, as arguments of a SPEC.

An override applies to the RGB image before the model's own preprocessing, so it is the same for all
models. To add one, add its field to `ImageOptions`, its step to `apply_image_options` and its words
to `describe_image_options`, and document it in docs/models.md: loaders take the fields of
`ImageOptions`, and cache keys and `run.json` hold those that are set.
"""

from typing import Any, Literal

from PIL import Image
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from generator.base.errors import UserError


class ImageOptions(TypedDict, total=False):
    """Overrides of preprocessing; a field that is not set leaves the model's own preprocessing."""

    framing: Literal["pad", "squash"]
    """How an image becomes square before the model's own resizing and cropping: `pad` adds black
    bars, `squash` stretches the shorter side. Most models crop the centre of an image, which can
    cut objects off. Square images do not change."""


def apply_image_options(image: Image.Image, options: ImageOptions) -> Image.Image:
    """Apply overrides to an RGB image.

    >>> apply_image_options(Image.new("RGB", (40, 20)), {"framing": "pad"}).size
    (40, 40)
    """
    framing = options.get("framing")
    side = max(image.size)
    if framing is None or image.size == (side, side):
        return image
    if framing == "squash":
        return image.resize((side, side), Image.Resampling.BICUBIC)
    square = Image.new("RGB", (side, side))
    left = (side - image.width) // 2
    top = (side - image.height) // 2
    square.paste(image, (left, top))
    return square


_WORDS = {"pad": "pad with black to a square", "squash": "stretch to a square, bicubic"}
"""A framing in words."""


def describe_image_options(options: ImageOptions) -> str:
    """The overrides as the first steps of a description of preprocessing.

    >>> describe_image_options({"framing": "pad"})
    'pad with black to a square → '
    """
    framing = options.get("framing")
    return f"{_WORDS[framing]} → " if framing else ""


def split_image_options(options: dict[str, Any]) -> tuple[ImageOptions, dict[str, Any]]:
    """Divide the arguments of a SPEC into overrides of preprocessing and the others."""
    overrides: Any = {
        name: value for name, value in options.items() if name in ImageOptions.__annotations__
    }
    others = {name: value for name, value in options.items() if name not in overrides}
    return overrides, others


def check_not_overridden(model: Any) -> None:
    """Raise UserError for a model with overrides of preprocessing, before it is trained: the folder
    of a trained model keeps the model's own preprocessing alone."""
    if getattr(model, "image_options", None):
        raise UserError(
            f"'{model.info['weights']}' is to be trained with an override of preprocessing "
            f"({', '.join(model.image_options)}), which the folder of a trained model does not "
            "keep; "
            f"leave that argument out here, and give it when you score the trained model."
        )
