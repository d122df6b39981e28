"""Reads rows of questions from JSON, JSON lines, CSV, TSV or Parquet files."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.benchmarks.question import Box, Cell, Question, Shown
from evaluator.benchmarks.tables import TABLES, read_table
from generator.base.errors import UserError
from generator.base.files import parse_json
from generator.base.limits import MOST_LIST, read_text
from generator.base.tables import read_batches, read_schema

_ROWS = 64  # in a batch; rows may hold images


@dataclass(frozen=True)
class Record:
    """A row of a file; `key` identifies it within the file."""

    file: Path
    key: str
    values: dict[str, Any]

    @property
    def place(self) -> str:
        """The row's key and file, for messages."""
        return f"Row {self.key} of {self.file}"

    def has(self, name: str) -> bool:
        """Whether the row has a value in this column."""
        return self.values.get(name) is not None

    def value(self, name: str) -> Any:
        """The value of a column. Raises UserError if the row has none."""
        if not self.has(name):
            found = ", ".join(self.values) or "nothing"
            raise UserError(
                f"{self.place} has no '{name}' (it has {found}); give the files that the authors "
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
    """Yields the rows of a file, or of the files in a folder and its subfolder `data`, sorted by
    path.

    JSON holds a list of objects, or an object of objects by key; with `listed`, a row may be a list
    of values with these names. Image columns of Parquet (structs with `bytes`) become cells. Raises
    UserError if there are no files, or they cannot be read.
    """
    if path.is_file() and path.suffix.lower() in TABLES:
        files = [path]
    else:
        folders = [path, path / "data"] if path.is_dir() else []
        files = sorted(
            each
            for folder in folders
            for each in folder.glob("[!.]*")
            if each.suffix.lower() in TABLES
        )
    for file in _some(files, path, TABLES):
        yield from records_of(file, listed)


def files_under(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """The file `path`, or the files with these suffixes in a folder and its subfolders, sorted by
    path. Raises UserError if there are none."""
    found = [path] if path.is_file() else [each for each in path.rglob("[!.]*") if each.is_file()]
    return _some(sorted(each for each in found if each.suffix.lower() in suffixes), path, suffixes)


def records_of(file: Path, listed: Sequence[str] = ()) -> Iterator[Record]:
    """Yields the rows of one file. listed: names for the values of a row that is a list. Raises
    UserError as `read_records`."""
    if file.suffix.lower() == ".json":
        for key, values in json_rows(file):
            if isinstance(values, list) and len(values) == len(listed):
                values = dict(zip(listed, values, strict=True))
            if not isinstance(values, dict):
                form = f"a list of {', '.join(listed)}" if listed else "an object"
                raise UserError(f"Expected {form} as row {key} of {file}, got {values!r:.80}.")
            yield Record(file, key, dict(values))
    elif file.suffix.lower() == ".parquet":
        yield from _parquet(file)
    else:
        for number, values in enumerate(read_table(file).to_pylist()):
            yield Record(file, str(number), values)


def json_rows(file: Path, empty: bool = False) -> list[tuple[str, Any]]:
    """The elements of a JSON list or object, with their indices or keys. Raises UserError for a
    file without elements, except for an empty list if `empty`."""
    try:
        data = parse_json(read_text(file, MOST_LIST), file)
    except ValueError as error:
        raise UserError(f"{file} is damaged ({error}); fetch it again.") from None
    rows = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    found = [(str(key), values) for key, values in rows]
    if not found and not (empty and data == []):
        raise UserError(f"{file} has no rows; expected a list of objects, or an object of objects.")
    return found


def _some(files: list[Path], path: Path, suffixes: Sequence[str]) -> list[Path]:
    if not files:
        raise UserError(
            f"{path} has no questions: expected a file that ends in {', '.join(suffixes)}, or a "
            f"folder of such files."
        )
    return files


def _parquet(file: Path) -> Iterator[Record]:
    number = 0
    for batch in read_batches(file, read_schema(file).names, _ROWS):
        columns = [_cells_of(batch, name, file, number) for name in batch.schema.names]
        for values in zip(*columns, strict=True):
            yield Record(file, str(number), dict(zip(batch.schema.names, values, strict=True)))
            number += 1


def _cells_of(batch: pa.RecordBatch, name: str, file: Path, before: int) -> list[Any]:
    column = batch.column(name)
    if not pa.types.is_struct(column.type) or column.type.get_field_index("bytes") < 0:
        return list(column.to_pylist())
    images = column.field("bytes").to_pylist()
    return [
        None if image is None else Cell(file, before + row, name, hashlib.sha256(image).hexdigest())
        for row, image in enumerate(images)
    ]


BOX = ("bbox_x", "bbox_y", "bbox_w", "bbox_h")


@dataclass(frozen=True)
class Columns:
    """Reads questions whose images and texts are columns. With two images, text k is true of image
    k. slots: of the texts of one image; texts in slot `n` are false, others are true.

    kind: columns that name the kind of question; empty: the file's name is the kind. item: the
        column with the
    question's id, None: the row's key; the file's name is put before it unless both `item` and
    `kind` are given. boxed:
    show only the box in the columns `bbox_…`. listed: names for the values of rows that are lists.
    """

    images: tuple[str, ...]
    texts: tuple[str, ...]
    kind: tuple[str, ...] = ()
    item: str | None = None
    boxed: bool = False
    protocol: str = "binary"
    slots: tuple[str, ...] = ("c", "n")
    listed: tuple[str, ...] = ()

    def __call__(self, path: Path) -> Iterator[Question]:
        """Yields the questions of a file, or of the files of a folder. Raises UserError for
        unreadable files and missing columns."""
        for record in read_records(path, self.listed):
            yield self.question(record)

    def question(self, record: Record) -> Question:
        """The question of a row."""
        box = box_of(record, BOX) if self.boxed else None
        shown = tuple(_shown(record, column, box) for column in self.images)
        stem, one = record.file.stem, len(shown) == 1
        texts = tuple(record.text(column) for column in self.texts)
        key = record.text(self.item) if self.item else record.key
        return Question(
            key if self.item and self.kind else f"{stem}/{key}",
            shown,
            texts,
            (tuple(slot != "n" for slot in self.slots),) if one else (),
            record.place,
            record.file,
            kind=" ".join(record.text(column) for column in self.kind) or stem,
            protocol=self.protocol,
            slots=self.slots if one else (),
        )


def box_of(record: Record, names: tuple[str, str, str, str]) -> Box | None:
    """The box of four columns with left edge, upper edge, width and height in pixels; None if a
    column is empty.

    Raises UserError for a box without pixels.
    """
    if not all(record.has(name) for name in names):
        return None
    left, upper, width, height = (record.number(name) for name in names)
    if width < 1 or height < 1:
        raise UserError(
            f"{record.place} has a box of {width}x{height} pixels; expected at least one."
        )
    return left, upper, left + width, upper + height


def _shown(record: Record, column: str, box: Box | None) -> Shown:
    value = record.value(column)
    return (
        Shown(cell=value, box=box)
        if isinstance(value, Cell)
        else Shown((name_of(str(value)),), box=box)
    )


def name_of(image: str) -> str:
    """The file name of an image; for a URL, its last part.

    >>> name_of("https://there.org/images/7.jpg"), name_of("VG_100K/7.jpg")
    ('7.jpg', 'VG_100K/7.jpg')
    """
    return image.rsplit("/", 1)[1] if "://" in image else image
