"""The words of a question."""

from evaluator.words.prompt import Prompt
from generator.dataset.questions import CHOICE, IMAGES, Candidates, Question


def ask(question: Question, rows: Candidates, prompt: Prompt) -> tuple[str, list[str]]:
    """The words of a question, and the scenes that it shows."""
    texts, scenes = ([column[row] for row in question.options] for column in (rows.text, rows.scene))
    if question.form == IMAGES:
        return prompt.ask_images(texts[0]), scenes
    return prompt.ask_choice(texts) if question.form == CHOICE else prompt.ask_yes_no(texts[0]), scenes[:1]
