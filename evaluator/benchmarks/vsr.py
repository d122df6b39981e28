"""Reads VSR (Liu et al. 2023): JSON lines of an image, a caption and whether it is true."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import (
    ImageRef,
    Omissions,
    PublishedQuestion,
    QuestionLabels,
)

ALONE = "no caption of its image has the other label"


@dataclass
class _ImageCaptions:
    """The rows about an image, by their label."""

    true: list[Record] = field(default_factory=list)
    """Rows whose caption is true of the image."""
    false: list[Record] = field(default_factory=list)
    """Rows whose caption is false of the image."""


def read_vsr(path: Path) -> Iterator[PublishedQuestion]:
    """Yield a question for each true caption of an image, against the image's false captions.

    The published task judges single captions, without alternatives. The kind of a question is the
    file's name, the skill its relation. An image without true captions has an excluded question for
    each false one.

    Raises:
        UserError: A column is missing.
    """
    rows_of_image: dict[tuple[Path, str], _ImageCaptions] = defaultdict(_ImageCaptions)
    for record in read_records(path):
        rows = rows_of_image[record.file, record.text("image")]
        if record.number("label"):
            rows.true.append(record)
        else:
            rows.false.append(record)
    for (file, image), rows in rows_of_image.items():
        false_texts = dict.fromkeys(record.text("caption") for record in rows.false)
        for record in rows.true or rows.false:
            caption = record.text("caption")
            alternatives = [text for text in false_texts if text != caption]
            yield PublishedQuestion(
                item=f"{file.stem}/{record.key}",
                images=(ImageRef((image,)),),
                texts=(caption, *alternatives),
                origin=record.origin,
                labels=QuestionLabels(kind=file.stem, skill=record.text("relation")),
                omissions=Omissions(excluded="" if rows.true and alternatives else ALONE),
            )
