"""Finds and reads the images of a published benchmark: files, cells of Parquet files, or boxes
inside images."""

import hashlib
import io
import logging
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import ExifTags, Image

from evaluator.benchmarks.question import Box, Cell, Shown
from generator.base.arrays import reason_of_image, to_rgb
from generator.base.errors import UserError
from generator.base.limits import MOST_IN_SCENE, read_bytes
from generator.base.paths import file_in, folder_in

logger = logging.getLogger(__name__)
_UPRIGHT = 1
FORMATS = ("JPEG", "PNG", "WEBP")
MOST_PIXELS = 100_000_000
"""The most pixels of one image: 300 MB as RGB."""


@dataclass(frozen=True)
class Picture:
    """An image, or the part of it inside a box. source: a file, or a cell of a Parquet file."""

    source: Path | Cell
    box: Box | None = None


class Pictures:
    """The images of a benchmark by id, from `folder`. Scoring reads them like the images of a
    world."""

    def __init__(self, folder: Path, of: Mapping[str, Picture]):
        self.folder, self.of = folder, of
        self._digests: dict[str, str] = {}
        self._has_said_turned = False
        self._starts = lru_cache(_starts)
        self._row_group = lru_cache(maxsize=4)(
            _row_group
        )  # images are read in the order of the questions

    def image(self, image_id: str) -> Image.Image:
        """An 8-bit RGB image as it is stored. Logs once if an EXIF orientation says to turn it:
        published code ignores that, so its numbers are of images as they are stored.

        Raises UserError if it is missing, is not in one of FORMATS, or has more than MOST_PIXELS
        pixels.
        """
        picture = self.of[image_id]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(self._read(image_id)), formats=FORMATS) as image:
                    if image.width * image.height > MOST_PIXELS:
                        raise UserError(
                            f"The image {image_id} of {self.folder} has "
                            f"{image.width}x{image.height} pixels, expected "
                            f"at most {MOST_PIXELS:,}; make it smaller."
                        )
                    self._say_turned(image_id, image)
                    return to_rgb(image.crop(picture.box) if picture.box else image)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read as {', '.join(FORMATS)} "
                f"({reason_of_image(error)}); fetch it again."
            ) from None

    def _say_turned(self, image_id: str, image: Image.Image) -> None:
        if self._has_said_turned:
            return
        try:
            orientation = image.getexif().get(ExifTags.Base.Orientation, _UPRIGHT)
        except (
            Exception
        ):  # damaged EXIF can raise nearly anything, and does not matter to the pixels
            return
        if orientation != _UPRIGHT:
            self._has_said_turned = True
            logger.warning(
                f"The image {image_id} of {self.folder} is stored turned (EXIF orientation "
                f"{orientation}). It is "
                "scored as it is stored, and so are others like it; turn the files themselves to "
                "score them upright."
            )

    def image_digest(self, image_id: str) -> str:
        """SHA-256 of an image's encoded bytes, and of its box if it has one."""
        found = self._digests.get(image_id)
        if found is None:
            digest = hashlib.sha256(self._read(image_id))
            if box := self.of[image_id].box:
                digest.update(repr(box).encode())
            found = self._digests[image_id] = digest.hexdigest()
        return found

    @property
    def digest(self) -> str:
        """SHA-256 over the ids and digests of all images; it changes if any image changes."""
        lines = (f"{self.image_digest(image_id)}  {image_id}\n" for image_id in sorted(self.of))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _read(self, image_id: str) -> bytes:
        source = self.of[image_id].source
        try:
            if isinstance(source, Path):
                return read_bytes(source, MOST_IN_SCENE)
            starts = self._starts(source.file)
            group = bisect_right(starts, source.row) - 1
            image: bytes = self._row_group(source.file, group, source.column)[
                source.row - starts[group]
            ].as_py()
            return image
        except OSError as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read ({error.strerror}); fetch "
                f"it, or name its folder with --images."
            ) from None


def _starts(file: Path) -> list[int]:
    """The first row of each row group of a Parquet file."""
    metadata = pq.read_metadata(file)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return list(accumulate(sizes[:-1], initial=0))


def _row_group(file: Path, group: int, column: str) -> pa.Array:
    """The images of a row group, as Hugging Face's datasets store them: `bytes` in columns of
    structs."""
    with pq.ParquetFile(file) as opened:
        return (
            opened.read_row_group(group, columns=[f"{column}.bytes"])[column]
            .combine_chunks()
            .field("bytes")
        )


_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


class Finder:
    """Finds image files. folder: `images` if given, else `images` beside the questions, else the
    questions' folder."""

    def __init__(self, path: Path, images: Path | None):
        beside = path if path.is_dir() else path.parent
        self.folder = images or (beside / "images" if (beside / "images").is_dir() else beside)

    def find(self, shown: Shown) -> Picture | None:
        """An image; None if no file has one of its names. Raises UserError for a path outside the
        folder."""
        if shown.cell is not None:
            return Picture(shown.cell, shown.box)
        for name in shown.names:
            for each in _spellings(name):
                found = file_in(self.folder, each)
                if found.is_file():
                    return Picture(found, shown.box)
        return None

    def images_in(self, names: Sequence[str]) -> list[str]:
        """The images of the first of these folders that has any, as sorted paths relative to
        `folder`."""
        for name in names:
            place = folder_in(self.folder, name)
            found = (
                sorted(each.name for each in place.iterdir() if _is_image(each))
                if place.is_dir()
                else []
            )
            if found:
                return [f"{name}/{each}" for each in found]
        return []


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES and not path.name.startswith(".") and path.is_file()


def _spellings(name: str) -> Iterator[str]:
    """Yields a path, then the path without its first folder, and so on; without an image suffix,
    also with each."""
    parts = name.split("/")
    for each in ("/".join(parts[i:]) for i in range(len(parts))):
        yield each
        if not each.lower().endswith(_SUFFIXES):
            yield from (each + suffix for suffix in _SUFFIXES)


@dataclass(frozen=True)
class External:
    """A published benchmark. table: a row for each candidate (`candidates_of`). about: the entry
    READING of its results (evaluator.benchmarks.reading)."""

    table: pa.Table
    pictures: Pictures
    about: Mapping[str, Any] = field(default_factory=dict)
