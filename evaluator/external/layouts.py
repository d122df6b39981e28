"""The layouts in which benchmarks of others publish their questions, declared: which columns are images, texts and kinds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.external.pictures import Box, CellBytes, FileBytes, ParquetCells, Picture, Pictures
from evaluator.external.questions import External, Question, candidates_of
from evaluator.external.records import Cell, Record, read_records
from generator.dataset.errors import UserError
from generator.dataset.paths import file_in

_BOX = ("bbox_x", "bbox_y", "bbox_w", "bbox_h")


@dataclass(frozen=True)
class Layout:
    """A row is a question. images, texts: its columns; of one image the first text is true, of two text k of image k.

    kind: columns that name the kind of question; without them, the name of the file does. item: the column with its id;
    without it, the file and the row's key. boxed: only the part of the image in the columns `bbox_…` is shown.
    """

    images: tuple[str, ...]
    texts: tuple[str, ...]
    kind: tuple[str, ...] = ()
    item: str | None = None
    boxed: bool = False


LAYOUTS = {
    "sugarcrepe": Layout(("filename",), ("caption", "negative_caption")),
    "aro": Layout(("image_path",), ("true_caption", "false_caption"), boxed=True),
    "winoground": Layout(("image_0", "image_1"), ("caption_0", "caption_1"), ("collapsed_tag",), "id"),
    "bivlc": Layout(("image", "negative_image"), ("caption", "negative_caption"), ("type", "subtype")),
    "vismin": Layout(("image_0", "image_1"), ("text_0", "text_1"), ("category",), "id"),
}
"""SugarCrepe (Hsieh et al. 2023), ARO's relations and attributes (Yuksekgonul et al. 2023), Winoground (Thrush et al. 2022),
BiVLC (Miranda et al. 2024) and VisMin (Awal et al. 2024), as their authors publish them."""
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


def read_layout(layout: Layout, path: Path, images: Path | None) -> External:
    """A benchmark in a layout. path: a file of it or their folder; images: the folder of images, None for `images` beside the
    questions, or where these are.

    Raises UserError for files that cannot be read, columns and images that are missing, or ids that occur twice.
    """
    finder = _Finder(path, images)
    questions: list[Question] = []
    pictures: dict[str, Picture] = {}
    for record in read_records(path):
        shown = dict(finder.picture(record, column, layout.boxed) for column in layout.images)
        if len(shown) < len(layout.images):
            raise UserError(f"{record.place} has one image twice, expected {len(layout.images)}.")
        pictures |= shown
        questions.append(_question(layout, record, tuple(shown)))
    _check_items(questions, path)
    return External(candidates_of(questions, path), Pictures(finder.folder, pictures))


def read_texts(layout: Layout, path: Path) -> Iterator[tuple[str, str, str]]:
    """The id and both texts of each question of a benchmark in a layout, without its images. Raises UserError as `read_layout`."""
    seen: set[str] = set()
    for record in read_records(path):
        question = _question(layout, record, layout.images)
        if question.item in seen:
            raise UserError(f"{path} has two questions with the id {question.item}; keep one of them.")
        seen.add(question.item)
        first, second = question.texts
        yield question.item, first, second


def _question(layout: Layout, record: Record, images: tuple[str, ...]) -> Question:
    texts = tuple(record.text(column) for column in layout.texts)
    item = record.text(layout.item) if layout.item else f"{record.file.stem}/{record.key}"
    kind = " ".join(record.text(column) for column in layout.kind) or record.file.stem
    truth = ((True, False),) if len(images) == 1 else ((True, False), (False, True))
    cluster = "" if len(images) == 1 else images[0]
    return Question(item, images, texts, truth, cluster, kind)


def _check_items(questions: Sequence[Question], path: Path) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.item in seen:
            raise UserError(f"{path} has two questions with the id {question.item}; keep one of them.")
        seen.add(question.item)


class _Finder:
    """Finds the images of records in files or cells. folder: where files are looked for."""

    def __init__(self, path: Path, images: Path | None):
        beside = path if path.is_dir() else path.parent
        self.folder = images or (beside / "images" if (beside / "images").is_dir() else beside)
        self._cells: dict[Path, ParquetCells] = {}

    def picture(self, record: Record, column: str, boxed: bool) -> tuple[str, Picture]:
        """The id and the place of an image."""
        value, box = record.value(column), _box(record) if boxed else None
        if isinstance(value, Cell):
            if value.file not in self._cells:
                self._cells[value.file] = ParquetCells(value.file)
            return value.digest[:16], Picture(CellBytes(self._cells[value.file], value.row, column), box)
        name = str(value)
        edges = "@" + ",".join(map(str, box)) if box else ""
        return name + edges, Picture(FileBytes(self._file(name, record)), box)

    def _file(self, name: str, record: Record) -> Path:
        for each in self._names(name):
            found = file_in(self.folder, each)
            if found.is_file():
                return found
        raise UserError(
            f"{record.place} names the image {name}, which is not in {self.folder}; give the folder of the images with --images."
        )

    @staticmethod
    def _names(name: str) -> Iterator[str]:
        """A name as it stands, then its last part; without a suffix, with each."""
        for each in dict.fromkeys((name, name.rsplit("/", 1)[-1])):
            yield each
            if not each.lower().endswith(_SUFFIXES):
                yield from (each + suffix for suffix in _SUFFIXES)


def _box(record: Record) -> Box | None:
    if not all(record.has(name) for name in _BOX):
        return None
    left, upper, width, height = (record.number(name) for name in _BOX)
    if width < 1 or height < 1:
        raise UserError(f"{record.place} has a box of {width}x{height} pixels; expected at least one.")
    return left, upper, left + width, upper + height
