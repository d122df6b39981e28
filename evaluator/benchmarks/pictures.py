"""The images of a benchmark of others: in files, in cells of Parquet files, or the part of an image inside a box."""

import hashlib
import io
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
from PIL import Image

from evaluator.benchmarks.question import Box, Cell, Shown
from generator.base.errors import UserError
from generator.base.limits import MOST_IN_SCENE, read_bytes
from generator.base.paths import file_in, folder_in

FORMATS = ("JPEG", "PNG", "WEBP")
MOST_PIXELS = 100_000_000
"""Of one image: 300 MB as RGB."""


@dataclass(frozen=True)
class Picture:
    """An image, or the part of it inside a box. source: a file, or a cell of a Parquet file."""

    source: Path | Cell
    box: Box | None = None


class Pictures:
    """The images of a benchmark by id; `folder` is where they are from. Scoring reads them as it reads those of a
    world."""

    def __init__(self, folder: Path, of: Mapping[str, Picture]):
        self.folder, self.of = folder, of
        self._digests: dict[str, str] = {}
        self._starts = lru_cache(_starts)
        self._row_group = lru_cache(maxsize=4)(_row_group)  # images are read in the order of the questions

    def image(self, image_id: str) -> Image.Image:
        """An image, RGB, as Pillow decodes it: turned by no EXIF note, as published code reads it.

        Raises UserError where it is missing or no image in FORMATS of at most MOST_PIXELS.
        """
        picture = self.of[image_id]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(self._read(image_id)), formats=FORMATS) as image:
                    if image.width * image.height > MOST_PIXELS:
                        raise UserError(
                            f"The image {image_id} of {self.folder} has {image.width}x{image.height} pixels, expected "
                            f"at most {MOST_PIXELS:,}; make it smaller."
                        )
                    return (image.crop(picture.box) if picture.box else image).convert("RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read as {', '.join(FORMATS)} ({error}); fetch it "
                f"again."
            ) from None

    def image_digest(self, image_id: str) -> str:
        """SHA-256 of an image's file, and of its box where it has one."""
        found = self._digests.get(image_id)
        if found is None:
            digest = hashlib.sha256(self._read(image_id))
            if box := self.of[image_id].box:
                digest.update(repr(box).encode())
            found = self._digests[image_id] = digest.hexdigest()
        return found

    @property
    def digest(self) -> str:
        """SHA-256 over ids and digests of all images: it is another one where an image is."""
        lines = (f"{self.image_digest(image_id)}  {image_id}\n" for image_id in sorted(self.of))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _read(self, image_id: str) -> bytes:
        source = self.of[image_id].source
        try:
            if isinstance(source, Path):
                return read_bytes(source, MOST_IN_SCENE)
            starts = self._starts(source.file)
            group = bisect_right(starts, source.row) - 1
            image: bytes = self._row_group(source.file, group, source.column)[source.row - starts[group]].as_py()
            return image
        except OSError as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read ({error.strerror}); fetch it, or name its "
                f"folder with --images."
            ) from None


def _starts(file: Path) -> list[int]:
    """The first row of each row group of a Parquet file."""
    metadata = pq.read_metadata(file)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return list(accumulate(sizes[:-1], initial=0))


def _row_group(file: Path, group: int, column: str) -> pa.Array:
    """The images of a row group, as Hugging Face's datasets store them: `bytes` in columns of structs."""
    with pq.ParquetFile(file) as opened:
        return opened.read_row_group(group, columns=[f"{column}.bytes"])[column].combine_chunks().field("bytes")


_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


class Finder:
    """folder: where files are looked for: `images`, or the folder `images` beside the questions, or where these are."""

    def __init__(self, path: Path, images: Path | None):
        beside = path if path.is_dir() else path.parent
        self.folder = images or (beside / "images" if (beside / "images").is_dir() else beside)

    def find(self, shown: Shown) -> Picture | None:
        """An image; None where no file has one of its names. Raises UserError for a name that leaves the folder."""
        if shown.cell is not None:
            return Picture(shown.cell, shown.box)
        for name in shown.names:
            for each in _spellings(name):
                found = file_in(self.folder, each)
                if found.is_file():
                    return Picture(found, shown.box)
        return None

    def images_in(self, names: Sequence[str]) -> list[str]:
        """The images in the first folder of one of these names that has some, by their names in `folder`."""
        for name in names:
            place = folder_in(self.folder, name)
            found = sorted(each.name for each in place.iterdir() if _is_image(each)) if place.is_dir() else []
            if found:
                return [f"{name}/{each}" for each in found]
        return []


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES and not path.name.startswith(".") and path.is_file()


def _spellings(name: str) -> Iterator[str]:
    """A name as it stands, then without its first folder, and so on; without a suffix, with each."""
    parts = name.split("/")
    for each in ("/".join(parts[i:]) for i in range(len(parts))):
        yield each
        if not each.lower().endswith(_SUFFIXES):
            yield from (each + suffix for suffix in _SUFFIXES)


@dataclass(frozen=True)
class External:
    """A benchmark of others. table: one row a candidate (`candidates_of`). about: what results say of how it was read
    (evaluator.benchmarks.reading)."""

    table: pa.Table
    pictures: Pictures
    about: Mapping[str, Any] = field(default_factory=dict)
