"""Files with a question in each row: which columns are its images, texts and kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.benchmarks.asked import Asked, Shown
from evaluator.benchmarks.pictures import Box
from evaluator.benchmarks.questions import Question
from evaluator.benchmarks.records import Cell, Record, read_records
from generator.base.errors import UserError

BOX = ("bbox_x", "bbox_y", "bbox_w", "bbox_h")


@dataclass(frozen=True)
class Columns:
    """images, texts: columns; of one image the first text is true, of two text k of image k. slots: those of the texts of one
    image; `n` alone is false.

    kind: columns that name the kind of question; without them, the name of the file does. item: the column with its id, of
    files that name the kind within the file; without it, the file and the row's key. boxed: only the part of the image in the
    columns `bbox_…` is shown.
    """

    images: tuple[str, ...]
    texts: tuple[str, ...]
    kind: tuple[str, ...] = ()
    item: str | None = None
    boxed: bool = False
    protocol: str = "binary"
    slots: tuple[str, ...] = ("c", "n")

    def __call__(self, path: Path) -> Iterator[Asked]:
        """The questions of a file, or of the files of a folder. Raises UserError for files that cannot be read and columns that
        are missing."""
        for record in read_records(path):
            yield self._asked(record)

    def _asked(self, record: Record) -> Asked:
        box = box_of(record, BOX) if self.boxed else None
        shown = tuple(_shown(record, column, box) for column in self.images)
        stem, one = record.file.stem, len(shown) == 1
        texts = tuple(record.text(column) for column in self.texts)
        key = record.text(self.item) if self.item else record.key
        question = Question(
            key if self.item and self.kind else f"{stem}/{key}",
            tuple(each.id for each in shown),
            texts,
            (tuple(slot != "n" for slot in self.slots),) if one else ((True, False), (False, True)),
            cluster=shown[0].whole,
            kind=" ".join(record.text(column) for column in self.kind) or stem,
            protocol=self.protocol,
            slots=self.slots if one else (),
        )
        return Asked(question, shown, record.place, record.file)


def box_of(record: Record, names: tuple[str, str, str, str]) -> Box | None:
    """The box that four columns give as left and upper edge, width and height, in pixels; None where a column is empty.

    Raises UserError for a box without pixels.
    """
    if not all(record.has(name) for name in names):
        return None
    left, upper, width, height = (record.number(name) for name in names)
    if width < 1 or height < 1:
        raise UserError(f"{record.place} has a box of {width}x{height} pixels; expected at least one.")
    return left, upper, left + width, upper + height


def _shown(record: Record, column: str, box: Box | None) -> Shown:
    value = record.value(column)
    return Shown(cell=value, column=column, box=box) if isinstance(value, Cell) else Shown((str(value),), box=box)
