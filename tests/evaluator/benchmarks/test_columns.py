"""Rows as questions: ids, slots, clusters."""

import json
from pathlib import Path

import pytest

from evaluator.benchmarks.columns import BOX, Columns, box_of
from evaluator.benchmarks.records import Record
from generator.base.errors import UserError

ROW = {
    "id": 4,
    "image": "1.jpg",
    "a": "x",
    "b": "y",
    "c": "z",
    "bbox_x": 1,
    "bbox_y": 2,
    "bbox_w": 3,
    "bbox_h": 4,
    "tag": "T",
}


def _read(tmp_path: Path, columns: Columns) -> object:
    (tmp_path / "set.json").write_text(json.dumps([ROW]))
    (asked,) = columns(tmp_path / "set.json")
    return asked


def test_texts_stand_in_slots_of_which_n_alone_is_false(tmp_path: Path) -> None:
    columns = Columns(("image",), ("a", "b", "c"), item="id", protocol="hard_positives", slots=("c", "p", "n"))
    question = _read(tmp_path, columns).question  # type: ignore[attr-defined]
    assert (question.item, question.kind, question.protocol) == ("set/4", "set", "hard_positives")
    assert (question.texts, question.truth, question.slot_of) == (
        ("x", "y", "z"),
        ((True, True, False),),
        ("c", "p", "n"),
    )


def test_questions_of_parts_of_one_image_are_one_cluster(tmp_path: Path) -> None:
    question = _read(tmp_path, Columns(("image",), ("a", "b"), boxed=True)).question  # type: ignore[attr-defined]
    assert (question.item, question.images, question.cluster) == ("set/0", ("1.jpg@1,2,4,6",), "1.jpg")


def test_an_id_beside_a_column_of_kinds_is_the_whole_id(tmp_path: Path) -> None:
    question = _read(tmp_path, Columns(("image",), ("a", "b"), ("tag",), "id")).question  # type: ignore[attr-defined]
    assert (question.item, question.kind) == ("4", "T")


def test_a_box_needs_all_columns_and_pixels() -> None:
    record = Record(Path("x.json"), "0", {**ROW, "bbox_h": None})
    assert box_of(record, BOX) is None
    with pytest.raises(UserError, match="has a box of 3x0 pixels"):
        box_of(Record(Path("x.json"), "0", {**ROW, "bbox_h": 0}), BOX)
