"""Reads VSR (Liu et al. 2023): JSON lines of an image, a caption and whether it is true."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import Question, Shown

ALONE = "no caption of its image has the other label"


def read_vsr(path: Path) -> Iterator[Question]:
    """Yields a question for each true caption of an image, against the image's false captions. (The
    published task judges single captions, without alternatives.) The kind is the file's name, the
    skill the relation.

    Raises UserError for missing columns.
    """
    of_image: dict[tuple[Path, str], tuple[list[Record], list[Record]]] = defaultdict(
        lambda: ([], [])
    )
    for record in read_records(path):
        of_image[record.file, record.text("image")][0 if record.number("label") else 1].append(
            record
        )
    for (file, image), (true, false) in of_image.items():
        texts = dict.fromkeys(each.text("caption") for each in false)
        for record in true or false:
            others = [text for text in texts if text != record.text("caption")]
            yield Question(
                f"{file.stem}/{record.key}",
                (Shown((image,)),),
                (record.text("caption"), *others),
                place=record.place,
                file=file,
                kind=file.stem,
                skill=record.text("relation"),
                excluded="" if true and others else ALONE,
            )
