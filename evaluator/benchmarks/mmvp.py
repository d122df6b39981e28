"""Reads MMVP-VLM (Tong et al. 2024): Questions.csv has a statement in each row; two rows are two
images that CLIP confuses."""

from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_NUMBER, _PATTERN, _STATEMENT = "Question ID", "Type", "Statement"


def read_mmvp(path: Path) -> Iterator[Question]:
    """Yields two images with a statement each, after "a photo of " as in the authors' code. The
    kind is the visual pattern. Raises UserError for a statement without its partner."""
    rows = list(read_records(path))
    for first, second in zip(rows[::2], [*rows[1::2], None], strict=False):
        if second is None or first.text(_PATTERN) != second.text(_PATTERN):
            raise UserError(
                f"{first.place} is not followed by a row with the same '{_PATTERN}'; give the file "
                f"that the authors publish."
            )
        pattern = first.text(_PATTERN)
        yield Question(
            first.text(_NUMBER),
            (_shown(first), _shown(second)),
            tuple(f"a photo of {each.text(_STATEMENT)}" for each in (first, second)),
            place=first.place,
            file=first.file,
            kind=pattern,
        )


def _shown(record: Record) -> Shown:
    name = f"{record.text(_PATTERN)}/{record.text(_NUMBER)}.jpg"
    return Shown((f"MLLM_VLM Images/{name}", name))
