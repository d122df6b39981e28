"""The pixel outputs of a world: masks, depth, normals and boxes beside its images, and the files
that hold them.

All outputs come from one ray through the centre of each pixel (generator/render/blender/rays.py),
so they do not depend on the engine, its quality or its device. Rows run from the top of the image,
columns from the left; the pixel in row r and column c has its centre at (c + 0.5, r + 0.5) of
`generator.scene.projection`.
"""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from generator.base.arrays import read_npy, read_png
from generator.base.errors import UserError, did_you_mean

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in whole pixels, right and bottom exclusive."""
# Of 9. Pillow's default of 6 takes three times as long, for files that are 5% smaller.
_COMPRESSION = 4


@dataclass(frozen=True)
class ObjectBoxes:
    """Where an image shows an object."""

    index: int
    """Its place in the scene, from 0."""
    category: str
    """Its category, such as cube."""
    center: tuple[float, float]
    """Column and row, in pixels, of the middle of its body, at half its height above the point it
    stands on. It may lie outside the image, or in a hole of the object."""
    amodal_box: Box
    """Bounds of the object's outline as if nothing hid it, clipped to the image."""
    visible_box: Box | None
    """Bounds of the pixels whose centre shows the object; None where no pixel does."""
    visible_pixels: int
    """How many pixels show it."""
    visible_fraction: float
    """`visible_pixels` over the number of pixels that would show it if nothing hid it, 0..1."""


@dataclass(frozen=True)
class PixelOutputs:
    """What the centre of each pixel of an image shows."""

    mask: np.ndarray
    """uint8 (height, width): 0 where there is no object, i + 1 for object i of the scene."""
    depth: np.ndarray
    """float32 (height, width): metres along the viewing axis (not along the ray), infinite where
    there is neither object nor floor."""
    normals: np.ndarray
    """float32 (height, width, 3): unit vectors in the axes of the camera: x to the right, y up, z
    towards the camera. They are smooth as the surface is shaded, so near an outline z can be
    slightly negative. 0 where depth is infinite."""
    boxes: Sequence[ObjectBoxes]
    """One entry an object, in the scene's order."""


class _Format(NamedTuple):
    """How an output is stored."""

    suffix: str
    """End of the file's name."""
    bytes_a_pixel: float
    """Approximate size of the file, for each pixel of the image."""
    encode: Callable[[PixelOutputs], bytes]
    """Makes the bytes of the file; equal outputs give equal bytes."""
    decode: Callable[[bytes], Any]
    """Reads them; raises ValueError where the file is damaged."""


def parse_outputs(spec: str | None) -> tuple[str, ...]:
    """Parse the value of `--with`.

    Args:
        spec: Names separated by commas; None for no outputs.

    Returns:
        The names, each once, in the order of OUTPUTS.

    Raises:
        UserError: There is no output of a name.

    Example:
        >>> parse_outputs("depth,masks")
        ('masks', 'depth')
    """
    names = [name.strip() for name in spec.split(",")] if spec else []
    for name in names:
        if name not in OUTPUTS:
            raise UserError(
                f"--with {spec}: unknown output '{name}'; {did_you_mean(name, list(OUTPUTS))}"
            )
    return tuple(name for name in OUTPUTS if name in names)


def output_path(output: str, scene_id: str) -> str:
    """Name the file of a scene's output.

    Args:
        output: A name of OUTPUTS.
        scene_id: The scene.

    Returns:
        Its path within the world.

    Example:
        >>> output_path("masks", "000017")
        'masks/000017.png'
    """
    return f"{output}/{scene_id}{_FORMATS[output].suffix}"


def bytes_a_pixel(outputs: Sequence[str]) -> float:
    """Estimate the space that outputs take.

    Args:
        outputs: Names of OUTPUTS.

    Returns:
        Approximate bytes of their files for each pixel of an image.
    """
    return sum(_FORMATS[output].bytes_a_pixel for output in outputs)


def encode(output: str, pixels: PixelOutputs) -> bytes:
    """Encode an output; equal outputs give equal bytes.

    Args:
        output: A name of OUTPUTS.
        pixels: All outputs of a scene.

    Returns:
        The bytes of its file.
    """
    return _FORMATS[output].encode(pixels)


def decode(output: str, data: bytes) -> Any:
    """Decode an output.

    Args:
        output: A name of OUTPUTS.
        data: The bytes of its file.

    Returns:
        An array as in PixelOutputs, or for `boxes` a list of ObjectBoxes.

    Raises:
        ValueError: The file is damaged.
    """
    return _FORMATS[output].decode(data)


def png(image: Image.Image) -> bytes:
    """Encode an image as PNG, only its pixels, so that equal images give equal bytes.

    Args:
        image: The image.

    Returns:
        The bytes of the file.
    """
    file = io.BytesIO()
    # A new image has none of the metadata that Pillow would write.
    bare = Image.frombytes(image.mode, image.size, image.tobytes())
    bare.save(file, "PNG", compress_level=_COMPRESSION)
    return file.getvalue()


def _encode_mask(pixels: PixelOutputs) -> bytes:
    return png(Image.fromarray(pixels.mask))


def _decode_mask(data: bytes) -> np.ndarray:
    return np.asarray(read_png(data))


def _encode_depth(pixels: PixelOutputs) -> bytes:
    return _npy(pixels.depth)


def _encode_normals(pixels: PixelOutputs) -> bytes:
    # Half precision: a direction to within 0.03 degrees, in half the space.
    return _npy(pixels.normals.astype(np.float16))


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _decode_npy(data: bytes) -> np.ndarray:
    return np.asarray(read_npy(data), dtype=np.float32)


def _encode_boxes(pixels: PixelOutputs) -> bytes:
    # Sorted keys: equal boxes give equal bytes.
    entries = [asdict(boxes) for boxes in pixels.boxes]
    return (json.dumps(entries, sort_keys=True) + "\n").encode()


def _decode_boxes(data: bytes) -> list[ObjectBoxes]:
    try:
        return [_object_boxes(entry) for entry in json.loads(data)]
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it lists no boxes ({error})") from None


def _object_boxes(entry: Mapping[str, Any]) -> ObjectBoxes:
    # JSON has lists where ObjectBoxes has tuples.
    values: dict[str, Any] = {}
    for name, value in entry.items():
        values[name] = tuple(value) if isinstance(value, list) else value
    return ObjectBoxes(**values)


_FORMATS = {
    "masks": _Format(".png", 0.1, _encode_mask, _decode_mask),
    "depth": _Format(".npy", 4, _encode_depth, _decode_npy),
    "normals": _Format(".npy", 6, _encode_normals, _decode_npy),
    "boxes": _Format(".json", 0.02, _encode_boxes, _decode_boxes),
}
OUTPUTS = tuple(_FORMATS)
"""The names that `gen render --with` accepts."""
