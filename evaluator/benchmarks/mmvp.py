"""Reads MMVP-VLM (Tong et al. 2024): Questions.csv has a statement in each row; two rows are two
images that CLIP confuses."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import ImageRef, PublishedQuestion, QuestionLabels
from generator.base.errors import UserError

_NUMBER, _PATTERN, _STATEMENT = "Question ID", "Type", "Statement"


def read_mmvp(path: Path) -> Iterator[PublishedQuestion]:
    """Yield two images with a statement each, after "a photo of " as in the authors' code. The kind
    is the visual pattern.

    Raises:
        UserError: A statement has no partner.
    """
    rows = list(read_records(path))
    for first, second in zip_longest(rows[::2], rows[1::2]):
        if second is None or first.text(_PATTERN) != second.text(_PATTERN):
            raise UserError(
                f"{first.place} is not followed by a row with the same '{_PATTERN}'; give the file "
                f"that the authors publish."
            )
        yield PublishedQuestion(
            item=first.text(_NUMBER),
            images=(_image_ref(first), _image_ref(second)),
            texts=tuple(f"a photo of {row.text(_STATEMENT)}" for row in (first, second)),
            origin=first.origin,
            labels=QuestionLabels(kind=first.text(_PATTERN)),
        )


def _image_ref(record: Record) -> ImageRef:
    name = f"{record.text(_PATTERN)}/{record.text(_NUMBER)}.jpg"
    return ImageRef((f"MLLM_VLM Images/{name}", name))
