"""Prompts of labels: which are true of an image, and which error each wrong one is."""

from pathlib import Path

import pytest

from evaluator.benchmarks.pearson import ALSO_TRUE, NO_TRUTH, read_pearson
from evaluator.benchmarks.registry import read_layout, read_texts
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_pearson, write_prompts


def test_the_other_object_of_an_image_is_dropped_from_the_wrong_labels(tmp_path: Path) -> None:
    _, question = read_pearson(write_pearson(tmp_path))
    assert list(zip(question.texts, question.details.error_kinds, question.slots, strict=True)) == [
        ("a photo of a red cube", "", "c"),
        ("a photo of a blue cube", "color", "n"),
        ("a photo of a red sphere", "shape", "n"),
        ("a photo of a gray cylinder", "distractor", "n"),
        ("a photo of a green cylinder", "distractor", "n"),
    ]
    assert (question.labels.kind, question.protocol, question.cluster) == (
        "two-object",
        "gzsl",
        "blue red cube sphere",
    )
    _, about = read_texts("pearson2025", tmp_path)
    assert about["excluded"] == {"a wrong label that is true of the image": 2}


def test_the_converse_of_a_relation_is_dropped_from_the_wrong_labels(tmp_path: Path) -> None:
    names = [
        "cube left sphere",
        "sphere right cube",
        "cube right sphere",
        "sphere left cube",
        "cone left cube",
    ]
    (question,) = read_pearson(write_prompts(tmp_path / "cube_left_sphere.csv", *names))
    assert question.texts[0] == "a photo of a cube to the left of a sphere"
    assert question.details.error_kinds == ("", "flip", "order", "distractor")
    assert question.omissions.dropped_texts == (ALSO_TRUE,)


def test_each_label_of_single_objects_is_asked_against_all(tmp_path: Path) -> None:
    questions = list(
        read_pearson(
            write_prompts(tmp_path / "clevr_prompts_cone.csv", "red cube", "red cone", "blue cone")
        )
    )
    assert [question.item for question in questions] == ["red cube", "red cone", "blue cone"]
    assert questions[1].texts == (
        "a photo of a red cone",
        "a photo of a red cube",
        "a photo of a blue cone",
    )
    assert set(questions[1].details.error_kinds) == {"", "label"}


def test_each_image_of_a_label_is_asked(tmp_path: Path) -> None:
    path = write_pearson(tmp_path)
    published = read_layout("pearson2025", path, images=path / "images")
    items = dict.fromkeys(published.table["item"].to_pylist())
    assert list(items) == [
        "gray_cone_green_cube/0",
        "red_cube_blue_sphere/0",
        "red_cube_blue_sphere/1",
    ]
    (path / "images" / "gray_cone_green_cube" / "gray cone" / "0.png").unlink()
    with pytest.raises(
        UserError, match=r"names the image gray_cone_green_cube/gray cone/\*.png, which is not in"
    ):
        read_layout("pearson2025", path, images=path / "images")
    published = read_layout("pearson2025", path, images=path / "images", filters=["present"])
    assert published.about["excluded"] == {
        "its image is not there": 1,
        "a wrong label that is true of the image": 2,
    }


def test_prompts_without_the_label_are_excluded(tmp_path: Path) -> None:
    (question,) = read_pearson(
        write_prompts(tmp_path / "red_cube_blue_cone.csv", "blue cube", "green cone")
    )
    assert question.omissions.excluded == NO_TRUTH
