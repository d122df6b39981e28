"""Multiple choices: which caption is true, and which image a row names."""

import json
from pathlib import Path

import pytest

from evaluator.benchmarks.choices import read_choices
from generator.base.errors import UserError


def _read(path: Path, *rows: object) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    path.write_text(json.dumps(rows))
    return [(question.images[0].names, question.texts) for question in read_choices(path)]


def test_the_true_caption_comes_first_and_others_once(tmp_path: Path) -> None:
    options = {"image": "val2014/1.jpg", "caption_options": ["a b", "b a", "b a", "a b"]}
    assert _read(tmp_path / "coco_order.json", options) == [(("val2014/1.jpg",), ("a b", "b a"))]
    answer = {
        "image_path": "1.jpg",
        "correct_answer": 1,
        "caption_0": "no a",
        "caption_1": "a",
        "caption_2": "b",
    }
    assert _read(tmp_path / "mcq.json", answer) == [(("1.jpg",), ("a", "no a", "b"))]


def test_numbers_of_images_are_those_of_their_corpus(tmp_path: Path) -> None:
    ((coco, _),) = _read(tmp_path / "coco_qa_one_obj.json", [397133, "a", "b"])
    ((genome, _),) = _read(tmp_path / "vg_qa_two_obj.json", [2, "a", "b"])
    assert coco == ("val2017/000000397133.jpg", "000000397133.jpg")
    assert genome == ("vg_images/2.jpg", "VG_100K/2.jpg", "VG_100K_2/2.jpg", "2.jpg")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, "a"], "Expected a list of image, true_caption, false_caption as row 0 of"),
        (
            {"image": "1.jpg", "caption_options": "a"},
            "as its 'caption_options'; expected a list of texts",
        ),
        (
            {"image": "1.jpg", "caption_options": ["a", "a"]},
            "has 1 different captions and the answer 0",
        ),
        (
            {"image": "1.jpg", "correct_answer": 2, "caption_0": "a", "caption_1": "b"},
            "captions and the answer 2",
        ),
        ({"image": "1.jpg"}, "has no 'true_caption'"),
    ],
)
def test_rows_of_another_form_are_refused(row: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        _read(tmp_path / "coco_qa.json", row)
