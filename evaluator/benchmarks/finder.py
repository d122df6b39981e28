"""Finds the images that the questions of a benchmark of others name: files in a folder, or cells of Parquet files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluator.benchmarks.asked import Shown
from evaluator.benchmarks.pictures import CellBytes, FileBytes, ParquetCells, Picture
from generator.base.paths import file_in, folder_in

_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


class Finder:
    """folder: where files are looked for: `images`, or the folder `images` beside the questions, or where these are."""

    def __init__(self, path: Path, images: Path | None):
        beside = path if path.is_dir() else path.parent
        self.folder = images or (beside / "images" if (beside / "images").is_dir() else beside)
        self._cells: dict[Path, ParquetCells] = {}

    def find(self, shown: Shown) -> Picture | None:
        """An image; None where no file has one of its names. Raises UserError for a name that leaves the folder."""
        if shown.cell is not None:
            if shown.cell.file not in self._cells:
                self._cells[shown.cell.file] = ParquetCells(shown.cell.file)
            return Picture(CellBytes(self._cells[shown.cell.file], shown.cell.row, shown.column), shown.box)
        for name in shown.names:
            for each in _spellings(name):
                found = file_in(self.folder, each)
                if found.is_file():
                    return Picture(FileBytes(found), shown.box)
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
