"""The ids of what a question shows, and the questions of a folder's images."""

from pathlib import Path

from evaluator.benchmarks.asked import Asked, Shown
from evaluator.benchmarks.questions import Question
from evaluator.benchmarks.records import Cell


def test_an_image_is_named_by_its_first_name_or_its_bytes_and_a_part_by_its_box() -> None:
    assert (Shown(("a/1.jpg", "1.jpg")).id, Shown(("1.jpg",), box=(1, 2, 3, 4)).id) == ("a/1.jpg", "1.jpg@1,2,3,4")
    assert Shown(("1.jpg",), box=(1, 2, 3, 4)).whole == "1.jpg"
    assert Shown(cell=Cell(Path("a.parquet"), 3, "0123456789abcdef01")).id == "0123456789abcdef"


def test_each_image_of_a_folder_is_asked_its_question() -> None:
    question = Question("red_cube", ("",), ("a", "b"), ((True, False),))
    asked = Asked(question, (), "here", Path("x.csv"), folders=("red_cube",)).of("red_cube/4.png")
    assert (asked.question.item, asked.question.images, asked.folders) == ("red_cube/4", ("red_cube/4.png",), ())
    assert asked.images == (Shown(("red_cube/4.png",)),)
