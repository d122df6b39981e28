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

from evaluator.benchmarks.question import Box, Cell, ImageRef
from generator.base.arrays import reason_of_image, to_rgb
from generator.base.errors import UserError
from generator.base.limits import MOST_IN_SCENE, read_bytes
from generator.base.paths import file_in, folder_in

logger = logging.getLogger(__name__)
_UPRIGHT = 1
"""The EXIF orientation of an image that is stored as it is to be seen."""
FORMATS = ("JPEG", "PNG", "WEBP")
"""The formats that are read; Pillow's other decoders are a risk without a use here."""
MOST_PIXELS = 100_000_000
"""The most pixels of one image: 300 MB as RGB."""
_ROW_GROUPS_IN_MEMORY = 4
"""Row groups of Parquet files that are kept: images are read in the order of the questions, and a
question's images stand in one row."""


@dataclass(frozen=True)
class Picture:
    """An image, or the part of it inside a box."""

    source: Path | Cell
    """A file, or a cell of a Parquet file."""
    box: Box | None = None
    """The part of the image to read; None for the whole image."""


class Pictures:
    """The images of a published benchmark. Scoring reads them like the images of a world.

    Args:
        folder: The folder of the images, for messages.
        by_id: Each image by its id.
    """

    def __init__(self, folder: Path, by_id: Mapping[str, Picture]):
        self.folder = folder
        self.by_id = by_id
        self._digests: dict[str, str] = {}
        self._has_warned_of_rotation = False
        # Caches of this object, so that another opening of a changed file reads it anew.
        self._row_group_starts = lru_cache(_row_group_starts)
        self._row_group = lru_cache(maxsize=_ROW_GROUPS_IN_MEMORY)(_row_group)

    def image(self, image_id: str) -> Image.Image:
        """Read an image as it is stored.

        Logs once if an EXIF orientation says to turn it: published code ignores that, so its
        numbers are of images as they are stored.

        Returns:
            8-bit RGB, cut to its box.

        Raises:
            UserError: It is missing, is not in one of FORMATS, or has more than MOST_PIXELS pixels.
        """
        box = self.by_id[image_id].box
        try:
            with warnings.catch_warnings():
                # Pillow warns of large images; here they are refused by a limit of our own.
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(self._read(image_id)), formats=FORMATS) as image:
                    self._check_size(image_id, image)
                    self._warn_of_rotation(image_id, image)
                    return to_rgb(image.crop(box) if box else image)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read as {', '.join(FORMATS)} "
                f"({reason_of_image(error)}); fetch it again."
            ) from None

    def _check_size(self, image_id: str, image: Image.Image) -> None:
        """Raise UserError for an image that is too large; its pixels are not decoded yet."""
        if image.width * image.height > MOST_PIXELS:
            raise UserError(
                f"The image {image_id} of {self.folder} has {image.width}x{image.height} pixels, "
                f"expected at most {MOST_PIXELS:,}; make it smaller."
            )

    def _warn_of_rotation(self, image_id: str, image: Image.Image) -> None:
        if self._has_warned_of_rotation:
            return
        try:
            orientation = image.getexif().get(ExifTags.Base.Orientation, _UPRIGHT)
        except Exception:
            # Damaged EXIF can raise nearly anything, and does not matter to the pixels.
            return
        if orientation != _UPRIGHT:
            self._has_warned_of_rotation = True
            logger.warning(
                f"The image {image_id} of {self.folder} is stored turned (EXIF orientation "
                f"{orientation}). It is "
                "scored as it is stored, and so are others like it; turn the files themselves to "
                "score them upright."
            )

    def image_digest(self, image_id: str) -> str:
        """SHA-256 of an image's encoded bytes, and of its box if it has one."""
        if image_id not in self._digests:
            # Of the encoded bytes, which tell without decoding whether an image changed.
            digest = hashlib.sha256(self._read(image_id))
            box = self.by_id[image_id].box
            if box:
                digest.update(repr(box).encode())
            self._digests[image_id] = digest.hexdigest()
        return self._digests[image_id]

    @property
    def digest(self) -> str:
        """SHA-256 over the ids and digests of all images; it changes if any image changes."""
        lines = [f"{self.image_digest(image_id)}  {image_id}\n" for image_id in sorted(self.by_id)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _read(self, image_id: str) -> bytes:
        """The encoded bytes of an image. Raises UserError if its file cannot be read."""
        source = self.by_id[image_id].source
        try:
            if isinstance(source, Path):
                return read_bytes(source, MOST_IN_SCENE)
            return self._read_cell(source)
        except OSError as error:
            raise UserError(
                f"The image {image_id} of {self.folder} cannot be read ({error.strerror}); fetch "
                f"it, or name its folder with --images."
            ) from None

    def _read_cell(self, cell: Cell) -> bytes:
        # Parquet is compressed by row group: a cell takes the whole group that holds its row.
        starts = self._row_group_starts(cell.file)
        group = bisect_right(starts, cell.row) - 1
        images = self._row_group(cell.file, group, cell.column)
        encoded: bytes = images[cell.row - starts[group]].as_py()
        return encoded


def _row_group_starts(file: Path) -> list[int]:
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
"""The suffixes of files that are taken for images."""


class ImageFinder:
    """Finds image files.

    Args:
        path: The file or folder of the questions.
        images: The folder of the images. None: the folder `images` beside the questions if there is
            one, else the questions' own folder.
    """

    def __init__(self, path: Path, images: Path | None):
        beside = path if path.is_dir() else path.parent
        if images is not None:
            self.folder = images
        elif (beside / "images").is_dir():
            self.folder = beside / "images"
        else:
            self.folder = beside

    def find(self, image: ImageRef) -> Picture | None:
        """Find an image; None if no file has one of its names. Raises UserError for a path outside
        the folder."""
        if image.cell is not None:
            return Picture(image.cell, image.box)
        for name in image.names:
            for spelling in _spellings(name):
                path = file_in(self.folder, spelling)
                if path.is_file():
                    return Picture(path, image.box)
        return None

    def images_in(self, folders: Sequence[str]) -> list[str]:
        """The images of the first of these folders that has any, as sorted paths relative to
        `folder`."""
        for name in folders:
            folder = folder_in(self.folder, name)
            if not folder.is_dir():
                continue
            names = sorted(path.name for path in folder.iterdir() if _is_image(path))
            if names:
                return [f"{name}/{image}" for image in names]
        return []


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES and not path.name.startswith(".") and path.is_file()


def _spellings(name: str) -> Iterator[str]:
    """Yield a path, then the path without its first folder, and so on; a path without an image
    suffix also with each suffix.

    Authors name images relative to folders of their own, such as `data/vg/1.jpg`.
    """
    parts = name.split("/")
    for start in range(len(parts)):
        path = "/".join(parts[start:])
        yield path
        if not path.lower().endswith(_SUFFIXES):
            for suffix in _SUFFIXES:
                yield path + suffix


@dataclass(frozen=True)
class PublishedBenchmark:
    """The questions and images of a published benchmark, as a reader returns them."""

    table: pa.Table
    """A row for each candidate (evaluator.benchmarks.question.make_candidate_table)."""
    pictures: Pictures
    """The images that the table names, by id."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """The entry READING of results (evaluator.benchmarks.reading); {} for a benchmark without
    filters."""
