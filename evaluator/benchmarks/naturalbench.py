"""Reads the yes–no questions of NaturalBench (Li et al. 2024): two images and two questions; for
each image, the answer to one question is yes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluator.benchmarks.files import Columns, Record, read_records
from evaluator.benchmarks.question import Question
from generator.base.errors import UserError

_ROW = Columns(("Image_0", "Image_1"), ("Question_0", "Question_1"), ("Source",))
_ANSWERS = {"yes": True, "no": False}


def read_yes_no(path: Path) -> Iterator[Question]:
    """Yields two images with a question each; its answer is yes only for its own image. The kind is
    the `Source`.

    Excludes multiple-choice questions, and questions with the same answer for both images. Raises
    UserError for rows of another form.
    """
    for record in read_records(path):
        question = _ROW.question(record)
        if record.text("Question_Type") != "yes_no":
            yield replace(question, excluded="it has options to choose from")
            continue
        yes = [[_is_yes(record, f"Image_{image}_Question_{k}") for k in (0, 1)] for image in (0, 1)]
        if yes == [[False, True], [True, False]]:
            question = replace(question, texts=question.texts[::-1])
        elif yes != [[True, False], [False, True]]:
            question = replace(question, excluded="both images answer a question alike")
        yield question


def _is_yes(record: Record, name: str) -> bool:
    answer = record.text(name).strip(" .").lower()
    if answer not in _ANSWERS:
        raise UserError(f"{record.place} has {answer!r:.80} as its '{name}'; expected Yes or No.")
    return _ANSWERS[answer]
