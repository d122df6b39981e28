"""An answer from its words to its counts, in one call."""

from dataclasses import dataclass

from evaluator.descriptions.measures import ImageMeasures, measure_image
from generator.dataset.descriptions.description import AnswerForm, Description
from generator.dataset.descriptions.json_reader import WordsAllowed
from generator.dataset.descriptions.judging import Atom, Judgement, judge_description, list_atoms
from generator.dataset.descriptions.reading import read_description
from generator.dataset.descriptions.truth import ImageTruth


@dataclass(frozen=True)
class JudgedAnswer:
    """A model's description of an image, read, judged and counted."""

    description: Description
    """What the answer says, and which parts were not read."""
    judgement: Judgement
    """The matching, and the verdict of each object, value and relation."""
    measures: ImageMeasures
    """The counts."""
    atoms: list[Atom]
    """Everything that the answer says, with its verdict and its place."""


def judge_answer(
    answer: str,
    truth: ImageTruth,
    *,
    form: AnswerForm | None = None,
    words: WordsAllowed = "closed",
) -> JudgedAnswer:
    """Read and judge a description.

    Args:
        answer: the whole answer, with its reasoning.
        truth: the record of the image.
        form: how the answer was to be written; None to tell by its brackets.
        words: whether the question named the world's words.

    Returns:
        The answer with its verdicts and counts; for an answer that cannot be read, without objects.
    """
    description = read_description(answer, truth.vocabulary, form=form, words=words)
    judgement = judge_description(description, truth)
    return JudgedAnswer(
        description=description,
        judgement=judgement,
        measures=measure_image(description, truth, judgement),
        atoms=list_atoms(description, judgement, truth.vocabulary.category),
    )
