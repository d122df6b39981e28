"""Minimal pairs: two scenes that differ in one exchange pass, all others are named."""

import copy
import json
from typing import Any

import pyarrow as pa
import pytest

from generator.judge.twins import Twins


def record() -> dict[str, Any]:
    objects = [
        {"category": "cube", "attributes": {"color": "red"}, "position": [0, 0, 0], "heading": 0.1},
        {"category": "cone", "attributes": {"color": "blue"}, "position": [1, 0, 0], "heading": 0.2},
    ]
    return {"camera": {"position": [0, -9, 5]}, "lamps": [], "environment": "studio", "objects": objects}


def faults(scene: dict[str, Any], twin: dict[str, Any], twin_of: str = "a") -> list[str]:
    table = pa.table({
        "scene_id": ["a", "b"], "twin_of": [None, twin_of], "status": ["ok", "ok"], "scene": [json.dumps(scene), json.dumps(twin)],
    })  # fmt: skip
    return [found["what"] for found in Twins().faults(table)]


def test_an_exchanged_value_or_exchanged_objects_are_a_minimal_pair() -> None:
    values = record()
    values["objects"][0]["attributes"], values["objects"][1]["attributes"] = {"color": "blue"}, {"color": "red"}
    assert faults(record(), values) == []
    places = record()
    places["objects"][0]["position"], places["objects"][1]["position"] = [1, 0, 0], [0, 0, 0]
    places["objects"].reverse()
    assert faults(record(), places) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda twin: twin.update(environment="desert"), "not with the same environment"),
        (lambda twin: twin["objects"].pop(), "it has 1 objects, not 2"),
        (lambda twin: twin["objects"][0]["attributes"].update(color="green"), "1 of its objects are not the same, not two"),
        (lambda twin: [each.update(position=[5, 5, 0]) for each in twin["objects"]], "do not stand in the same places"),
        (lambda twin: [each.update(attributes={"color": "green"}) for each in twin["objects"]], "have not exchanged one value"),
    ],
)  # fmt: skip
def test_any_other_difference_is_named(change: Any, said: str) -> None:
    twin = copy.deepcopy(record())
    change(twin)
    (found,) = faults(record(), twin)
    assert said in found


def test_a_twin_comes_right_after_its_scene() -> None:
    assert "which does not stand before it" in faults(record(), record(), twin_of="z")[0]
