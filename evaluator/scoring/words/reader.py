"""Read the answer to a question of a benchmark. The rules are in
generator/dataset/answer_reader, which the exports to other tools copy."""

from dataclasses import dataclass

from evaluator.models.contracts import FAILED, Answer
from evaluator.scoring.words.prompt import Prompt
from generator.dataset.answer_reader import Reading, read_choice, read_yes_no
from generator.dataset.questions import (
    CHOICE,
    MATCHING,
    QUARTER_TURNS,
    TAKEN_FROM,
    YES_NO,
    Candidates,
    Question,
)


@dataclass(frozen=True)
class AnsweredQuestion:
    """An answer to a question, and what it says."""

    question: Question
    """The question, with its options in the order shown."""
    sample: int
    """Number of the sample, from 0: a question may be asked several times."""
    answer: Answer
    """The whole answer."""
    reading: Reading
    """The label that the answer chooses, or why it has none."""


def read_answer(
    question: Question, answer: Answer, *, sample: int, rows: Candidates, prompt: Prompt
) -> AnsweredQuestion:
    """Read what an answer to a question says.

    Args:
        question: The question.
        answer: The whole answer, and why it ended.
        sample: The number of the sample.
        rows: The candidates of the benchmark.
        prompt: The letters, and the words for yes and no, that the question named.

    Returns:
        The answer with its reading; a request that failed has no label.
    """
    return AnsweredQuestion(
        question, sample, answer, _read(question, answer, rows=rows, prompt=prompt)
    )


def _read(question: Question, answer: Answer, *, rows: Candidates, prompt: Prompt) -> Reading:
    if answer.finish.startswith(FAILED):
        return Reading(None, answer.finish)
    if question.form == YES_NO:
        return read_yes_no(answer.text, answer.finish, prompt.yes, prompt.no)
    # An answer may repeat the words of an option in place of its letter. Images have no words.
    captions = [rows.text[row] for row in question.options]
    option_texts: list[str] = []
    if question.form in (CHOICE, QUARTER_TURNS, TAKEN_FROM):
        option_texts = captions
    elif question.form == MATCHING:
        option_texts = prompt.assignments(captions)
    letters = prompt.letters[: len(question.options)]
    return read_choice(answer.text, answer.finish, letters, option_texts)
