"""Reads the yes–no questions of NaturalBench (Li et al. 2024): two images and two questions; for
each image, the answer to one question is yes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluator.benchmarks.files import Columns, Record, read_records
from evaluator.benchmarks.question import Omissions, PublishedQuestion
from generator.base.errors import UserError

_COLUMNS = Columns(("Image_0", "Image_1"), ("Question_0", "Question_1"), ("Source",))
_ANSWERS = {"yes": True, "no": False}
_OWN_QUESTION = [[True, False], [False, True]]
"""Answers by image and question, if question k is true of image k."""
_OTHER_QUESTION = [[False, True], [True, False]]
"""Answers by image and question, if question k is true of the other image."""


def read_yes_no(path: Path) -> Iterator[PublishedQuestion]:
    """Yield two images with a question each; its answer is yes only for its own image. The kind is
    the `Source`.

    Excludes multiple-choice questions, and questions with the same answer for both images.

    Raises:
        UserError: A row has another form.
    """
    for record in read_records(path):
        question = _COLUMNS.question(record)
        if record.text("Question_Type") != "yes_no":
            yield replace(question, omissions=Omissions("it has options to choose from"))
            continue
        answers = [
            [_is_yes(record, f"Image_{image}_Question_{number}") for number in (0, 1)]
            for image in (0, 1)
        ]
        if answers == _OTHER_QUESTION:
            # Questions take the place of texts: text k is true of image k alone.
            question = replace(question, texts=question.texts[::-1])
        elif answers != _OWN_QUESTION:
            question = replace(question, omissions=Omissions("both images answer a question alike"))
        yield question


def _is_yes(record: Record, name: str) -> bool:
    answer = record.text(name).strip(" .").lower()
    if answer not in _ANSWERS:
        raise UserError(f"{record.place} has {answer!r:.80} as its '{name}'; expected Yes or No.")
    return _ANSWERS[answer]
