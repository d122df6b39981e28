"""MMVP-VLM (Tong et al. 2024): Questions.csv with a statement a row, and two rows for two images that CLIP confuses."""

from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_NUMBER, _PATTERN, _STATEMENT = "Question ID", "Type", "Statement"


def read_mmvp(path: Path) -> Iterator[Question]:
    """Two images with a statement each, "a photo of " before it as in the authors' code; the kind is the visual
    pattern. Raises UserError for a statement without its partner."""
    rows = list(read_records(path))
    for first, second in zip(rows[::2], [*rows[1::2], None], strict=False):
        if second is None or first.text(_PATTERN) != second.text(_PATTERN):
            raise UserError(
                f"{first.place} and the next one are not two statements of one '{_PATTERN}'; give the file that the "
                f"authors publish."
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
