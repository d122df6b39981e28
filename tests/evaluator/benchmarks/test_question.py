"""Questions as candidates: which protocol asks them, and which none does."""

from pathlib import Path

import pytest

from evaluator.benchmarks.question import Cell, Question, Shown, candidates_of
from generator.base.errors import UserError

HERE = Path("here")


def test_one_image_is_asked_as_binary_with_any_number_of_negatives() -> None:
    common = {"item": "7", "kind": "color", "split": "test", "cluster": "c"}
    question = Question(
        images=(Shown(("a.jpg",)),), texts=("x", "y", "z"), truth=((False, True, False),), **common
    )
    rows = candidates_of([question], HERE).to_pylist()
    told = [(row["slot"], row["truth"], row["text"]) for row in rows]
    assert told == [("n", False, "x"), ("c", True, "y"), ("n", False, "z")]
    common |= {"protocol": "binary", "image": "a.jpg"}
    assert all(common.items() <= row.items() for row in rows)


@pytest.mark.parametrize(
    ("images", "truth"),
    [
        ("a", ((True,),)),
        ("a", ((False, False),)),
        ("ab", ((True, True), (False, True))),
        ("abc", ((True, False), (False, True), (False, True))),
    ],
)
def test_other_questions_are_refused(images: str, truth: tuple[tuple[bool, ...], ...]) -> None:
    question = Question(
        "7", tuple(Shown((name,)) for name in images), ("x", "y")[: len(truth[0])], truth
    )
    with pytest.raises(
        UserError,
        match="expected one image with true and false texts, or two images with a text each",
    ):
        candidates_of([question], HERE)


def test_no_questions_are_refused() -> None:
    with pytest.raises(UserError, match="here has no questions"):
        candidates_of([], HERE)


def test_an_image_is_named_by_its_first_name_or_its_bytes_and_a_part_by_its_box() -> None:
    assert (Shown(("a/1.jpg", "1.jpg")).id, Shown(("1.jpg",), box=(1, 2, 3, 4)).id) == (
        "a/1.jpg",
        "1.jpg@1,2,3,4",
    )
    assert Shown(("1.jpg",), box=(1, 2, 3, 4)).whole == "1.jpg"
    assert (
        Shown(cell=Cell(Path("a.parquet"), 3, "image", "0123456789abcdef01")).id
        == "0123456789abcdef"
    )
