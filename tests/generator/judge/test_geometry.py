"""Relations are decided from poses, margins and the camera."""

import json
import math

import pytest

from generator.judge.geometry import read_scene
from tests.generator.judge.hand_made_scenes import TERMS, decided, scene


def test_a_relation_is_decided_from_its_margin_on() -> None:
    for gap, truth in ((0.1, None), (0.19999, None), (0.2, True), (-0.2, False), (-0.1, None)):
        assert decided("A cube is behind a sphere.", scene(f"red cube 0 {gap}", "red sphere 3 0")) is truth


def test_left_is_left_of_the_camera_wherever_it_stands() -> None:
    for turn in range(0, 360, 40):
        sin, cos = math.sin(math.radians(turn)), math.cos(math.radians(turn))

        def turned(x: float, y: float, sin: float = sin, cos: float = cos) -> list[float]:
            return [x * cos - y * sin, x * sin + y * cos, 0.0]

        record = {
            "objects": [
                {"category": "cube", "attributes": {}, "position": turned(-1, 0.5)},
                {"category": "sphere", "attributes": {}, "position": turned(1, 0)},
            ],
            "camera": {"position": [*turned(0, -9)[:2], 5], "target": [0, 0, 1]},
        }
        shown = read_scene(json.dumps(record), TERMS)
        assert decided("A cube is to the left of a sphere and behind it.", shown) is True
        assert decided("A sphere is to the right of a cube and in front of it.", shown) is True


def test_a_camera_that_looks_straight_down_is_refused() -> None:
    record = {"objects": [], "camera": {"position": [0, 0, 5], "target": [0, 0, 0]}}
    with pytest.raises(ValueError, match="straight down"):
        read_scene(json.dumps(record), TERMS)
