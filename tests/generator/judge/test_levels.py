"""A certificate names the level that was reached."""

from pathlib import Path

from generator.judge.findings import finding
from generator.judge.levels import Images, Level
from generator.judge.verify import verify_dataset
from tests.generator.judge.datasets import BENCHMARK, make

SCENES = {"000000": ["red cube", "blue cone"], "000001": ["green cube", "blue cone"]}


def test_without_a_look_at_images_the_level_is_that_of_records(tmp_path: Path) -> None:
    certificate = verify_dataset(make(tmp_path / "d", SCENES, {"000000": "train"}), None)[BENCHMARK]
    assert certificate["level"] == "records"
    assert certificate["images"] == {}


def test_findings_level_and_facts_of_a_look_are_in_the_certificate(tmp_path: Path) -> None:
    asked = {}

    def look(root: Path, splits: dict[str, tuple[str, ...]]) -> Images:
        asked.update(splits)
        return Images(Level.SAMPLED, [finding("wrong color", "scene 000001")], {"scenes": 1}, "one image")

    certificate = verify_dataset(make(tmp_path / "d", SCENES, {"000000": "train"}), None, examine=look)[BENCHMARK]
    assert asked == {"000000": ("train",), "000001": ("",)}
    assert certificate["level"] == "sampled images"
    assert certificate["faults"]["wrong color"] == 1
    assert certificate["images"] == {"scenes": 1}
