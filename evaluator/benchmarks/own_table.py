"""Benchmarks of one's own: a table with one row a candidate, and images by their paths."""

from pathlib import Path

from evaluator.benchmarks.pictures import FileBytes, Picture, Pictures
from evaluator.benchmarks.questions import External
from evaluator.benchmarks.score_tables.table import read_table, require, texts
from generator.base.errors import UserError
from generator.base.paths import file_in


def read_own_table(path: Path, images: Path | None) -> External:
    """A table with the columns of docs/models.md, "Scores from elsewhere", without scores.

    `image` is the path of an image below `images`, or below the table's folder. Raises UserError for missing columns and images.
    """
    table = read_table(path)
    require(table, ["item", "protocol", "image", "text"], path)
    folder = images or path.parent
    pictures = {}
    for row, name in enumerate(texts(table, "image"), 1):
        if name in pictures:
            continue
        found = file_in(folder, name)
        if not found.is_file():
            raise UserError(
                f"Row {row} of {path} names the image '{name}', which is not in {folder}; give the folder of the images with --images."
            )
        pictures[name] = Picture(FileBytes(found))
    return External(table, Pictures(folder, pictures))
