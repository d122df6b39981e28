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
_COMPRESSION = (
    4  # of 9; Pillow's default of 6 takes three times as long, for files that are 5% smaller
)


@dataclass(frozen=True)
class ObjectBoxes:
    """Where an image shows an object.

    `index`: its place in the scene, from 0. `center`: column and row, in pixels, of the middle of
    its body, at half its
    height above the point it stands on; it may lie outside the image, or in a hole of the object.
    `amodal_box`: left,
    top, right, bottom of the object as if nothing hid it, clipped to the image, in whole pixels,
    right and bottom
    exclusive; it bounds the outline. `visible_box`: the same around the pixels whose centre shows
    the object, None
    where no pixel does. `visible_pixels`: how many pixels show it. `visible_fraction`:
    `visible_pixels` over the number
    of pixels that would show it if nothing hid it, 0..1.
    """

    index: int
    category: str
    center: tuple[float, float]
    amodal_box: Box
    visible_box: Box | None
    visible_pixels: int
    visible_fraction: float


@dataclass(frozen=True)
class PixelOutputs:
    """What the centre of each pixel of an image shows.

    `mask`: uint8 [height, width], 0 where there is no object, i + 1 for object i of the scene.
    `depth`: float32
    [height, width], metres along the viewing axis (not along the ray), infinite where there is
    neither object nor
    floor. `normals`: float32 [height, width, 3], unit vectors in the axes of the camera: x to the
    right, y up, z
    towards the camera; smooth as the surface is shaded, so near an outline z can be slightly
    negative; 0 where depth is
    infinite. `boxes`: one entry an object, in the scene's order.
    """

    mask: np.ndarray
    depth: np.ndarray
    normals: np.ndarray
    boxes: Sequence[ObjectBoxes]


class _Format(NamedTuple):
    suffix: str
    bytes_a_pixel: float
    encode: Callable[[PixelOutputs], bytes]
    decode: Callable[[bytes], Any]


def parse_outputs(spec: str | None) -> tuple[str, ...]:
    """The outputs that `--with masks,depth` names, each once, in the order of OUTPUTS. Raises
    UserError for any other name."""
    names = [name.strip() for name in spec.split(",")] if spec else []
    for name in names:
        if name not in OUTPUTS:
            raise UserError(
                f"--with {spec}: unknown output '{name}'; {did_you_mean(name, list(OUTPUTS))}"
            )
    return tuple(name for name in OUTPUTS if name in names)


def output_path(output: str, scene_id: str) -> str:
    """Path within the world of a scene's output, such as masks/000017.png."""
    return f"{output}/{scene_id}{_FORMATS[output].suffix}"


def bytes_a_pixel(outputs: Sequence[str]) -> float:
    """Approximate bytes of the files of these outputs for each pixel of an image."""
    return sum(_FORMATS[output].bytes_a_pixel for output in outputs)


def encode(output: str, pixels: PixelOutputs) -> bytes:
    """The bytes of an output's file; equal outputs give equal bytes."""
    return _FORMATS[output].encode(pixels)


def decode(output: str, data: bytes) -> Any:
    """An output from the bytes of its file: an array as in PixelOutputs, or for `boxes` a list of
    ObjectBoxes.

    Raises ValueError where the file is damaged.
    """
    return _FORMATS[output].decode(data)


def png(image: Image.Image) -> bytes:
    """An image as the bytes of a PNG file: only its pixels, so that equal images give equal
    bytes."""
    file, bare = io.BytesIO(), Image.frombytes(image.mode, image.size, image.tobytes())
    bare.save(file, "PNG", compress_level=_COMPRESSION)
    return file.getvalue()


def _read_png(data: bytes) -> np.ndarray:
    return np.asarray(read_png(data))


def _write_npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _read_npy(data: bytes) -> np.ndarray:
    return np.asarray(read_npy(data), dtype=np.float32)


def _write_boxes(pixels: PixelOutputs) -> bytes:
    return (json.dumps([asdict(each) for each in pixels.boxes], sort_keys=True) + "\n").encode()


def _read_boxes(data: bytes) -> list[ObjectBoxes]:
    try:
        return [_read_entry(entry) for entry in json.loads(data)]
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it lists no boxes ({error})") from None


def _read_entry(entry: Mapping[str, Any]) -> ObjectBoxes:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    return ObjectBoxes(**values)


_FORMATS = {
    "masks": _Format(".png", 0.1, lambda pixels: png(Image.fromarray(pixels.mask)), _read_png),
    "depth": _Format(".npy", 4, lambda pixels: _write_npy(pixels.depth), _read_npy),
    # half precision: a direction to within 0.03 degrees, in half the space
    "normals": _Format(
        ".npy", 6, lambda pixels: _write_npy(pixels.normals.astype(np.float16)), _read_npy
    ),
    "boxes": _Format(".json", 0.02, _write_boxes, _read_boxes),
}
OUTPUTS = tuple(_FORMATS)
"""The names that `gen render --with` accepts."""
