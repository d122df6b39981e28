"""Reads rows of questions from JSON, JSON lines, CSV, TSV or Parquet files."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.benchmarks.question import (
    Box,
    Cell,
    ImageRef,
    Origin,
    PublishedQuestion,
    QuestionLabels,
    TextDetails,
)
from evaluator.benchmarks.tables import TABLES, read_table
from generator.base.errors import UserError
from generator.base.files import parse_json
from generator.base.limits import MOST_LIST, read_text
from generator.base.tables import read_batches, read_schema

_ROWS_IN_BATCH = 64
"""Rows of Parquet in memory at once: few, since a row may hold images."""


@dataclass(frozen=True)
class Record:
    """A row of a file."""

    file: Path
    """The file."""
    key: str
    """Identifies the row in its file: its index from 0, or its key in a JSON object."""
    values: dict[str, Any]
    """The row's values by column."""

    @property
    def place(self) -> str:
        """The row's key and file, for messages."""
        return f"Row {self.key} of {self.file}"

    @property
    def origin(self) -> Origin:
        """The row as the origin of a question."""
        return Origin(self.place, self.file)

    def has(self, name: str) -> bool:
        """Whether the row has a value in this column."""
        return self.values.get(name) is not None

    def value(self, name: str) -> Any:
        """The value of a column. Raises UserError if the row has none."""
        if not self.has(name):
            columns = ", ".join(self.values) or "nothing"
            raise UserError(
                f"{self.place} has no '{name}' (it has {columns}); give the files that the authors "
                f"publish."
            )
        return self.values[name]

    def text(self, name: str) -> str:
        """A value as text. Raises UserError if it is empty, or neither a text nor a whole
        number."""
        value = self.value(name)
        if not isinstance(value, str | int) or value == "":
            raise UserError(f"{self.place} has {value!r:.80} as its '{name}'; expected a text.")
        return str(value)

    def number(self, name: str) -> int:
        """A value as a whole number. Raises UserError if it cannot be converted."""
        value = self.value(name)
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            raise UserError(
                f"{self.place} has {value!r:.80} as its '{name}'; expected a whole number."
            ) from None


def read_records(path: Path, listed: Sequence[str] = ()) -> Iterator[Record]:
    """Yield the rows of a file, or of the files in a folder and its subfolder `data`, by path.

    JSON holds a list of objects, or an object of objects by key. Image columns of Parquet (structs
    with `bytes`) become cells.

    Args:
        path: The file or folder.
        listed: Names for the values of a JSON row that is a list of as many values.

    Raises:
        UserError: There are no files, or they cannot be read.
    """
    if path.is_file() and path.suffix.lower() in TABLES:
        files = [path]
    else:
        # Authors publish their rows in the folder itself or in `data`; folders of images beside
        # them are not searched.
        folders = [path, path / "data"] if path.is_dir() else []
        visible = [file for folder in folders for file in folder.glob("[!.]*")]
        files = sorted(file for file in visible if file.suffix.lower() in TABLES)
    _check_any(files, path, TABLES)
    for file in files:
        yield from records_of(file, listed)


def files_under(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """Find the files of a benchmark.

    Args:
        path: A file, or a folder.
        suffixes: Suffixes of the files to find in the folder and its subfolders.

    Returns:
        The file, or the files of the folder sorted by path.

    Raises:
        UserError: There are none.
    """
    everything = [path] if path.is_file() else path.rglob("[!.]*")
    visible = [file for file in everything if file.is_file()]
    files = sorted(file for file in visible if file.suffix.lower() in suffixes)
    _check_any(files, path, suffixes)
    return files


def records_of(file: Path, listed: Sequence[str] = ()) -> Iterator[Record]:
    """Read the rows of one file.

    Args:
        file: The file.
        listed: Names for the values of a row that is a list.

    Yields:
        The rows.

    Raises:
        UserError: As `read_records`.
    """
    suffix = file.suffix.lower()
    if suffix == ".json":
        yield from _json_records(file, listed)
    elif suffix == ".parquet":
        yield from _parquet_records(file)
    else:
        for number, values in enumerate(read_table(file).to_pylist()):
            yield Record(file, str(number), values)


def _json_records(file: Path, listed: Sequence[str]) -> Iterator[Record]:
    for key, values in json_rows(file):
        # Cola has its questions as lists, without names of their parts.
        if isinstance(values, list) and len(values) == len(listed):
            values = dict(zip(listed, values, strict=True))
        if not isinstance(values, dict):
            form = f"a list of {', '.join(listed)}" if listed else "an object"
            raise UserError(f"Expected {form} as row {key} of {file}, got {values!r:.80}.")
        yield Record(file, key, dict(values))


def json_rows(file: Path, may_be_empty: bool = False) -> list[tuple[str, Any]]:
    """The elements of a JSON list or object, with their indices or keys.

    Args:
        file: The file.
        may_be_empty: Whether an empty list is allowed.

    Raises:
        UserError: The file is damaged, or has no elements.
    """
    try:
        data = parse_json(read_text(file, MOST_LIST), file)
    except ValueError as error:
        raise UserError(f"{file} is damaged ({error}); fetch it again.") from None
    rows: list[tuple[str, Any]] = []
    if isinstance(data, dict):
        rows = [(str(key), values) for key, values in data.items()]
    elif isinstance(data, list):
        rows = [(str(number), values) for number, values in enumerate(data)]
    if not rows and not (may_be_empty and data == []):
        raise UserError(f"{file} has no rows; expected a list of objects, or an object of objects.")
    return rows


def _check_any(files: list[Path], path: Path, suffixes: Sequence[str]) -> None:
    if not files:
        raise UserError(
            f"{path} has no questions: expected a file that ends in {', '.join(suffixes)}, or a "
            f"folder of such files."
        )


def _parquet_records(file: Path) -> Iterator[Record]:
    rows_before = 0
    for batch in read_batches(file, read_schema(file).names, _ROWS_IN_BATCH):
        names = batch.schema.names
        columns = [
            _column_values(batch, name, file=file, rows_before=rows_before) for name in names
        ]
        for number, values in enumerate(zip(*columns, strict=True), rows_before):
            yield Record(file, str(number), dict(zip(names, values, strict=True)))
        rows_before += batch.num_rows


def _column_values(batch: pa.RecordBatch, name: str, *, file: Path, rows_before: int) -> list[Any]:
    """The values of a column; images as cells, so that they are read again only when needed."""
    column = batch.column(name)
    if not pa.types.is_struct(column.type) or column.type.get_field_index("bytes") < 0:
        return list(column.to_pylist())
    cells: list[Cell | None] = []
    for row, image in enumerate(column.field("bytes").to_pylist(), rows_before):
        if image is None:
            cells.append(None)
        else:
            cells.append(Cell(file, row, name, hashlib.sha256(image).hexdigest()))
    return cells


BOX_COLUMNS = ("bbox_x", "bbox_y", "bbox_w", "bbox_h")
"""The columns of a box that is shown of an image."""


@dataclass(frozen=True)
class Columns:
    """Reads questions whose images and texts are columns. With two images, text k is true of image
    k.

    >>> Columns(("filename",), ("caption", "negative_caption")).slots
    ('c', 'n')
    """

    images: tuple[str, ...]
    """The columns of one or two images: names of files, URLs, or cells of Parquet."""
    texts: tuple[str, ...]
    """The columns of the texts."""
    kind: tuple[str, ...] = ()
    """Columns that name the kind of question together; (): the file's name is the kind."""
    item: str | None = None
    """The column with the question's id; None: the row's key. The file's name is put before it
    unless both `item` and `kind` are set, since ids of several files may be equal."""
    boxed: bool = False
    """Whether only the box in the columns BOX_COLUMNS is shown."""
    protocol: str = "binary"
    """The protocol that asks questions with one image."""
    slots: tuple[str, ...] = ("c", "n")
    """The slots of the texts of one image; texts in the slot `n` are false, others are true."""
    listed: tuple[str, ...] = ()
    """Names for the values of rows that are lists."""

    def __call__(self, path: Path) -> Iterator[PublishedQuestion]:
        """Yield the questions of a file, or of the files of a folder. Raises UserError for
        unreadable files and missing columns."""
        for record in read_records(path, self.listed):
            yield self.question(record)

    def question(self, record: Record) -> PublishedQuestion:
        """The question of a row. Raises UserError if a column is missing."""
        box = box_of(record, BOX_COLUMNS) if self.boxed else None
        images = tuple(_image_ref(record, column, box) for column in self.images)
        texts = tuple(record.text(column) for column in self.texts)

        # Two images keep the default truth: text k is true of image k alone.
        truth: tuple[tuple[bool, ...], ...] = ()
        slots: tuple[str, ...] = ()
        if len(images) == 1:
            truth = (tuple(slot != "n" for slot in self.slots),)
            slots = self.slots

        file_name = record.file.stem
        key = record.text(self.item) if self.item else record.key
        kind = " ".join(record.text(column) for column in self.kind)
        return PublishedQuestion(
            item=key if self.item and self.kind else f"{file_name}/{key}",
            images=images,
            texts=texts,
            truth=truth,
            protocol=self.protocol,
            origin=record.origin,
            labels=QuestionLabels(kind=kind or file_name),
            details=TextDetails(slots=slots),
        )


def box_of(record: Record, names: tuple[str, str, str, str]) -> Box | None:
    """The box in four columns of a row.

    Args:
        record: The row.
        names: The columns of the left edge, the upper edge, the width and the height in pixels.

    Returns:
        None if a column is empty.

    Raises:
        UserError: The box has no pixels, or a value is not a whole number.
    """
    if not all(record.has(name) for name in names):
        return None
    left, upper, width, height = (record.number(name) for name in names)
    if width < 1 or height < 1:
        raise UserError(
            f"{record.place} has a box of {width}x{height} pixels; expected at least one."
        )
    return left, upper, left + width, upper + height


def _image_ref(record: Record, column: str, box: Box | None) -> ImageRef:
    value = record.value(column)
    if isinstance(value, Cell):
        return ImageRef(cell=value, box=box)
    return ImageRef((image_name(str(value)),), box=box)


def image_name(image: str) -> str:
    """The file name of an image; for a URL, its last part.

    >>> image_name("https://there.org/images/7.jpg"), image_name("VG_100K/7.jpg")
    ('7.jpg', 'VG_100K/7.jpg')
    """
    return image.rsplit("/", 1)[1] if "://" in image else image
