"""A world is judged once: its scenes are read and its findings kept."""

from pathlib import Path

from generator.judge.world import World
from tests.generator.judge.datasets import CROWDS, make


def test_scenes_are_read_by_id(tmp_path: Path) -> None:
    world = World(make(tmp_path / "a", CROWDS, {}) / "world")
    assert world.findings == []
    assert list(world.shown) == list(CROWDS)
    assert [category for category, _ in world.shown["000000"].objects] == ["cube", "cone", "sphere"]
    assert world.terms.category == "shape"


def test_a_scene_without_an_image_is_a_finding(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", CROWDS, {}) / "world"
    (folder / "images/000003.png").unlink()
    faults = {(each["fault"], each["what"]) for each in World(folder).findings}
    assert ("damaged file", "world/images/000003.png is missing") in faults
