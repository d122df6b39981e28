"""Environments: what cannot be built is refused."""

import pytest
from pydantic import ValidationError

from generator.vocabulary.environments import Environment, PropSpec, ReliefSpec, color_of

GROUND = {"colors": ["#d9b57c", "#c79d63"]}


def test_colours_are_linear_light() -> None:
    assert color_of("#ffffff") == (1, 1, 1)
    assert color_of("#808080")[0] == pytest.approx(0.2159, abs=1e-4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("water", {"color": "#1f8fb0", "begins": 11.0}),
        ("room", {"distance": 9.0, "breadth": 16.0, "height": 6.0, "colors": ["#59626e", "#b4bdc8"]}),
        ("reliefs", {"dunes": {"height": 5.0, "breadth": 16.0, "begins": 9.0, "full": 45.0}}),
        ("props", {"rocks": {"type": "rock", "count": 2, "between": [5, 9], "size": [0.2, 0.9], "colors": ["#a5764a"]}}),
    ],
)  # fmt: skip
def test_a_landscape_needs_a_ground(key: str, value: dict) -> None:
    Environment.model_validate({"phrase": "on a beach", key: value, "ground": GROUND})
    with pytest.raises(ValidationError, match=f"{key} needs a ground"):
        Environment.model_validate({"phrase": "on a beach", key: value})


def test_ranges_rise() -> None:
    with pytest.raises(ValidationError, match="should be farther than begins"):
        ReliefSpec(height=1, breadth=1, begins=5, full=5)
    with pytest.raises(ValidationError, match="should have the lesser number first"):
        PropSpec(type="rock", count=1, between=(9, 5), size=(1, 1), colors=("#000000",))
