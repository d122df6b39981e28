"""Prompts of labels: which are true of an image, and which error each wrong one is."""

from pathlib import Path

import pytest

from evaluator.benchmarks.pearson import NO_TRUTH, read_pearson
from evaluator.benchmarks.registry import read_layout, read_texts
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_pearson, write_prompts


def test_the_other_object_of_an_image_is_no_wrong_label(tmp_path: Path) -> None:
    _, question = (each for each in read_pearson(write_pearson(tmp_path)))
    assert list(zip(question.texts, question.candidate_kinds, question.slot_of, strict=True)) == [
        ("a photo of a red cube", "", "c"),
        ("a photo of a blue cube", "color", "n"),
        ("a photo of a red sphere", "shape", "n"),
        ("a photo of a gray cylinder", "distractor", "n"),
        ("a photo of a green cylinder", "distractor", "n"),
    ]
    assert (question.kind, question.protocol, question.cluster) == (
        "two-object",
        "gzsl",
        "blue red cube sphere",
    )
    _, about = read_texts("pearson2025", tmp_path)
    assert about["excluded"] == {"a wrong label that is true of the image": 2}


def test_the_converse_of_a_relation_is_no_wrong_label(tmp_path: Path) -> None:
    names = [
        "cube left sphere",
        "sphere right cube",
        "cube right sphere",
        "sphere left cube",
        "cone left cube",
    ]
    (asked,) = read_pearson(write_prompts(tmp_path / "cube_left_sphere.csv", *names))
    assert asked.texts[0] == "a photo of a cube to the left of a sphere"
    assert asked.candidate_kinds == ("", "flip", "order", "distractor")
    assert len(asked.lacking) == 1


def test_each_label_of_single_objects_is_asked_against_all(tmp_path: Path) -> None:
    asked = list(
        read_pearson(
            write_prompts(tmp_path / "clevr_prompts_cone.csv", "red cube", "red cone", "blue cone")
        )
    )
    assert [each.item for each in asked] == ["red cube", "red cone", "blue cone"]
    assert asked[1].texts == (
        "a photo of a red cone",
        "a photo of a red cube",
        "a photo of a blue cone",
    )
    assert set(asked[1].candidate_kinds) == {"", "label"}


def test_each_image_of_a_label_is_asked(tmp_path: Path) -> None:
    path = write_pearson(tmp_path)
    external = read_layout("pearson2025", path, path / "images")
    items = dict.fromkeys(external.table["item"].to_pylist())
    assert list(items) == [
        "gray_cone_green_cube/0",
        "red_cube_blue_sphere/0",
        "red_cube_blue_sphere/1",
    ]
    (path / "images" / "gray_cone_green_cube" / "gray cone" / "0.png").unlink()
    with pytest.raises(
        UserError, match=r"names the image gray_cone_green_cube/gray cone/\*.png, which is not in"
    ):
        read_layout("pearson2025", path, path / "images")
    external = read_layout("pearson2025", path, path / "images", ["present"])
    assert external.about["excluded"] == {
        "its image is not there": 1,
        "a wrong label that is true of the image": 2,
    }


def test_prompts_without_the_label_are_excluded(tmp_path: Path) -> None:
    (asked,) = read_pearson(
        write_prompts(tmp_path / "red_cube_blue_cone.csv", "blue cube", "green cone")
    )
    assert asked.excluded == NO_TRUTH
