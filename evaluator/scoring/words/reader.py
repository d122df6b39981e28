"""Read the answer to a question of a benchmark. The rules are in
generator/dataset/answer_reader.py, which the exports to other tools copy."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.models.contracts import FAILED, Answer
from evaluator.scoring.words.prompt import Prompt
from generator.dataset.answer_reader import Reading, read_choice, read_yes_no
from generator.dataset.questions import CHOICE, MATCHING, YES_NO, Candidates, Question


@dataclass(frozen=True)
class Answered:
    """An answer to a question, and what it says."""

    question: Question
    sample: int
    """Number of the sample, from 0: a question may be asked several times."""
    answer: Answer
    reading: Reading


def read_answer(
    question: Question, sample: int, answer: Answer, rows: Candidates, prompt: Prompt
) -> Answered:
    """Read what an answer to a question says.

    Args:
        question: The question that was asked.
        sample: The number of the sample.
        answer: The whole answer, and why it ended.
        rows: The candidates of the benchmark.
        prompt: The letters, and the words for yes and no, that the question named.

    Returns:
        The answer with its reading; a request that failed has no label.
    """
    if answer.finish.startswith(FAILED):
        reading = Reading(None, answer.finish)
    elif question.form == YES_NO:
        reading = read_yes_no(answer.text, answer.finish, prompt.yes, prompt.no)
    else:
        texts = [rows.text[row] for row in question.options]
        options: Sequence[str] = []
        if question.form == CHOICE:
            options = texts
        elif question.form == MATCHING:
            options = prompt.assignments(texts)
        reading = read_choice(
            answer.text, answer.finish, prompt.letters[: len(question.options)], options
        )
    return Answered(question, sample, answer, reading)
