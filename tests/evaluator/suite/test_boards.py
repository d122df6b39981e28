"""The questions of a suite that count on a board."""

from pathlib import Path

from evaluator.submissions.declared import declared_questions
from evaluator.submissions.forms import open_datasets


def test_scores_and_descriptions_count_and_other_words_do_not(suite_folder: Path) -> None:
    questions = declared_questions(open_datasets([suite_folder]))
    of_track = {track: of_form for (_, track), of_form in questions.items()}
    assert of_track["bind"] == {("color-shape", "", "pairs"), ("color-shape", "", "retrieval")}
    assert of_track["zero-shot"] == {("two", "", "pairs")}
    assert of_track["describe"] == {("two", "describe", "describe")}
