"""Questions of a benchmark of others: which texts are true of which images."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from evaluator.external.pictures import Pictures
from generator.dataset.errors import UserError


@dataclass(frozen=True)
class Question:
    """Images by id, texts, and for each image which texts are true of it.

    One image with true and false texts is asked as `binary`; two images with two texts, text k true of image k alone, as
    `pairs`. cluster: equal for questions that are not independent, "" for those of one image. kind: groups of questions that
    get rows of their own. item: an id.
    """

    item: str
    images: tuple[str, ...]
    texts: tuple[str, ...]
    truth: tuple[tuple[bool, ...], ...]
    cluster: str = ""
    kind: str = ""
    split: str = ""


@dataclass(frozen=True)
class External:
    """A benchmark of others. table: one row a candidate (evaluator.elsewhere.candidates.COLUMNS, without scores)."""

    table: pa.Table
    pictures: Pictures


def candidates_of(questions: Iterable[Question], source: Path) -> pa.Table:
    """Questions as a table with one row a candidate. Raises UserError for a question that no protocol asks."""
    rows = [row for question in questions for row in _rows(question, source)]
    if not rows:
        raise UserError(f"{source} has no questions; give the files that its authors publish.")
    names = ("item", "protocol", "kind", "split", "cluster", "image", "slot", "truth", "text")
    return pa.table({name: [row[name] for row in rows] for name in names})


def _rows(question: Question, source: Path) -> list[dict[str, str | bool]]:
    common = {name: getattr(question, name) for name in ("item", "kind", "split", "cluster")}
    if len(question.images) == 1 and {True, False} == set(question.truth[0]):
        (image,), (truth,) = question.images, question.truth
        return [
            {**common, "protocol": "binary", "image": image, "slot": "c" if true else "n", "truth": true, "text": text}
            for text, true in zip(question.texts, truth, strict=True)
        ]
    if question.truth == ((True, False), (False, True)):
        return [
            {**common, "protocol": "pairs", "image": image, "slot": str(caption), "truth": true, "text": text}
            for image, truths in zip(question.images, question.truth, strict=True)
            for caption, (text, true) in enumerate(zip(question.texts, truths, strict=True))
        ]
    raise UserError(
        f"Question {question.item} of {source} has {len(question.images)} images and {len(question.texts)} texts with the truths "
        f"{question.truth}; expected one image with true and false texts, or two images with a text each."
    )
