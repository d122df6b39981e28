"""Images are held against records: colour, outline and box of every object, on painted scenes and on real renders."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from generator.dataset.reader import Dataset
from generator.inspection.images.pixels import PixelCheck, box_of
from generator.inspection.outlines import outlines
from generator.scene.scene import Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, parse_vocabulary
from tests.generator.inspection.images.scenes import CLEVR, boxes, painted, scene, thing
from tests.generator.inspection.images.test_colors import recolored

TRUE = scene(thing("cube", "red", -1.2), thing("sphere", "blue", 1.2))


def faults(image: np.ndarray, of: Scene, vocabulary: Vocabulary = CLEVR) -> list[str]:
    return [found["fault"] for found in PixelCheck(vocabulary).faults("scene x", image, of, boxes(of, vocabulary))]


def changed(of: Scene, i: int, thing: SceneObject) -> Scene:
    return replace(of, objects=tuple(thing if j == i else each for j, each in enumerate(of.objects)))


@pytest.mark.parametrize("light", [0.3, 0.6, 0.9])
def test_an_image_of_its_record_has_no_fault(light: float) -> None:
    assert faults(painted(TRUE, light), TRUE) == []


def test_another_colour_is_named() -> None:
    claimed = changed(TRUE, 0, thing("cube", "green", -1.2))
    (found,) = PixelCheck(CLEVR).faults("scene x", painted(TRUE), claimed, boxes(claimed))
    assert found["fault"] == "wrong color"
    assert "scene x: object 0 (cube) is recorded as green and its pixels show red" in found["what"]


def test_an_object_that_is_elsewhere_or_missing_is_named() -> None:
    moved = changed(TRUE, 1, thing("sphere", "blue", 0.2, 1.6))
    assert "wrong outline" in faults(painted(TRUE), moved)
    assert "wrong outline" in faults(painted(scene(TRUE.objects[0])), TRUE)


def test_a_box_that_is_not_around_the_object_is_named() -> None:
    (first, second), check = boxes(TRUE), PixelCheck(CLEVR)
    near = [first, (second[0] - 1, second[1], second[2] + 2, second[3])]
    assert list(check.faults("x", painted(TRUE), TRUE, near)) == []
    (found,) = check.faults("x", painted(TRUE), TRUE, [second, second])
    assert found["fault"] == "wrong box"
    assert check.judged == {"objects": 4, "colors": 4, "outlines": 4}


def test_colours_exchanged_in_records_and_vocabulary_alike_are_found_by_their_names_alone() -> None:
    exchanged = recolored(CLEVR, red="blue", blue="red")
    claimed = scene(thing("cube", "blue", -1.2), thing("sphere", "red", 1.2))
    assert faults(painted(TRUE), claimed, exchanged) == []
    assert len(list(PixelCheck(exchanged).misnamed())) == 2


def rows_of(root: Path) -> list[tuple[dict, np.ndarray, Scene]]:
    world = Dataset.open(root).world
    return [
        (row, np.asarray(world.image(row["scene_id"])), Scene.from_json(row["scene"]))
        for row in world.scenes.to_pylist()
    ]


def test_real_renders_have_no_fault_and_exchanged_ones_do(undisturbed: Path) -> None:
    rows = rows_of(undisturbed)
    check = PixelCheck(parse_vocabulary(Dataset.open(undisturbed).world.vocabulary_text, "vocabulary.toml"))

    def found(row: dict, image: np.ndarray, of: Scene) -> bool:
        return any(True for _ in check.faults("x", image, of, [each["amodal_box"] for each in row["objects"]]))

    assert not any(found(*each) for each in rows)
    assert check.judged["outlines"] == check.judged["objects"] == 2 * len(rows)
    exchanged = [found(row, image, of) for (row, _, of), (_, image, _) in pairwise(rows)]
    assert all(exchanged)


def test_poses_edited_with_their_boxes_are_found(undisturbed: Path) -> None:
    """All objects a radius further: every relation and every margin stays as it was."""
    vocabulary = parse_vocabulary(Dataset.open(undisturbed).world.vocabulary_text, "vocabulary.toml")
    found = []
    for _, image, of in rows_of(undisturbed):
        record = json.loads(of.to_json())
        for each in record["objects"]:
            each["position"][0] += 1.2
        moved = Scene.from_json(json.dumps(record))
        check, size = PixelCheck(vocabulary), (image.shape[1], image.shape[0])
        own = [box_of(each.whole) or (0, 0, 0, 0) for each in outlines(moved, vocabulary, size)]
        found.append(any(True for _ in check.faults("x", image, moved, own)))
    assert np.mean(found) > 0.9
