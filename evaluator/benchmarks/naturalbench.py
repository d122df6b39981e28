"""The questions of NaturalBench (Li et al. 2024): two images and two questions, of which each image answers one with
yes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluator.benchmarks.files import Columns, Record, read_records
from evaluator.benchmarks.question import Question
from generator.base.errors import UserError

_ROW = Columns(("Image_0", "Image_1"), ("Question_0", "Question_1"), ("Source",))
_ANSWERS = {"yes": True, "no": False}


def read_yes_no(path: Path) -> Iterator[Question]:
    """Two images with a question each, whose answer is yes for its own image alone; the kind is the `Source`.

    Excluded are questions with options to choose from, and those that both images answer alike. Raises UserError for
    rows of another form.
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
