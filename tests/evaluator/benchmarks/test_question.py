"""Questions as candidates: which protocol asks them, and which none does."""

from pathlib import Path

import pytest

from evaluator.benchmarks.question import (
    Cell,
    ImageRef,
    PublishedQuestion,
    QuestionLabels,
    make_candidate_table,
)
from generator.base.errors import UserError

HERE = Path("here")


def test_one_image_is_asked_as_binary_with_any_number_of_negatives() -> None:
    labels = {"kind": "color", "split": "test", "cluster": "c"}
    question = PublishedQuestion(
        item="7",
        images=(ImageRef(("a.jpg",)),),
        texts=("x", "y", "z"),
        truth=((False, True, False),),
        labels=QuestionLabels(**labels),
    )
    rows = make_candidate_table([question], HERE).to_pylist()
    assert [(row["slot"], row["truth"], row["text"]) for row in rows] == [
        ("n", False, "x"),
        ("c", True, "y"),
        ("n", False, "z"),
    ]
    common = {**labels, "item": "7", "protocol": "binary", "image": "a.jpg"}
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
    question = PublishedQuestion(
        "7", tuple(ImageRef((name,)) for name in images), ("x", "y")[: len(truth[0])], truth
    )
    with pytest.raises(
        UserError,
        match="expected one image with true and false texts, or two images with a text each",
    ):
        make_candidate_table([question], HERE)


def test_no_questions_are_refused() -> None:
    with pytest.raises(UserError, match="here has no questions"):
        make_candidate_table([], HERE)


def test_image_id_is_its_first_name_or_its_digest_and_its_box() -> None:
    part = ImageRef(("1.jpg",), box=(1, 2, 3, 4))
    cell = ImageRef(cell=Cell(Path("a.parquet"), 3, "image", "0123456789abcdef01"))
    assert ImageRef(("a/1.jpg", "1.jpg")).id == "a/1.jpg"
    assert part.id == "1.jpg@1,2,3,4"
    assert part.whole_id == "1.jpg"
    assert cell.id == "0123456789abcdef"
