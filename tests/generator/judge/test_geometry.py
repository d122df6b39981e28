"""The facts of scenes that the judge computes, against numbers worked out by hand."""

import json

import numpy as np
import pytest

from generator.base.errors import UserError
from generator.judge.geometry import CONTACT, SceneGeometry, Terms, read_scene
from generator.judge.held_out import HeldOut, facts

VOCABULARY = """
category = "shape"
[attributes.size]
large = { scale = 0.8 }
small = { scale = 0.5 }
[attributes.color]
red = {}
[objects]
cube = { size = 0.5, top = { height = 2.0, radius = 1.0 } }
sphere = {}
[relations]
on = { phrase = "on", margin = 0.1 }
beneath = { phrase = "beneath", margin = 0.1 }
left = { phrase = "left of", margin = 0.2 }
right = { phrase = "right of", margin = 0.2 }
near = { phrase = "near", margin = 0.1, distance = 1.0 }
far = { phrase = "far from", margin = 0.1, distance = 1.0 }
"""
TERMS = Terms.from_toml(VOCABULARY)


def stack(foot: float, aside: float = 0.0) -> SceneGeometry:
    """A sphere whose foot is at a height above the ground, beside the axis of a large cube."""
    record = {
        "objects": [
            {"category": "sphere", "attributes": {"size": "small"}, "position": [aside, 0, foot]},
            {"category": "cube", "attributes": {"size": "large"}, "position": [0, 0, 0]},
        ],
        "camera": {"position": [0, -9, 5], "target": [0, 0, 0]},
    }
    return read_scene(json.dumps(record), TERMS)


def test_a_top_has_its_height_and_radius_times_size_and_scale() -> None:
    """Height 2 x size 0.5 x scale 0.8 = 0.8 m; radius 1 x 0.5 x 0.8 = 0.4 m."""
    assert TERMS.top("cube", {"color": "red", "size": "large"}) == pytest.approx((0.8, 0.4))
    assert TERMS.top("cube", {"size": "small"}) == pytest.approx((0.5, 0.25))
    assert TERMS.top("sphere", {"size": "small"}) == (0.0, 0.0)
    with pytest.raises(ValueError, match="no value with a scale"):
        TERMS.top("cube", {"color": "red"})


@pytest.mark.parametrize(
    ("foot", "aside", "inside"),
    [
        (0.8, 0.0, 0.4),
        (0.8, 0.3, 0.1),
        (0.8, -0.5, -0.1),
        (0.8 + CONTACT / 2, 0.0, 0.4),
        (1.0, 0.0, -0.2),  # 0.2 m above the top
        (0.6, 0.1, -0.2),
        (0.7, 0.3, -0.3),
    ],
)
def test_an_object_rests_inside_the_rim_of_a_top(foot: float, aside: float, inside: float) -> None:
    scene = stack(foot, aside)
    assert scene.resting(0, 1) == pytest.approx(inside)
    assert scene.margins("on")[0][1] == pytest.approx(inside)
    assert scene.margins("beneath")[1][0] == pytest.approx(inside)


def test_a_relation_is_sure_from_its_margin_on_and_possible_to_its_opposite() -> None:
    for right, is_sure, is_possible in (
        (0.2, True, True),
        (0.1, False, True),
        (-0.1, False, True),
        (-0.2, False, False),
    ):
        decided = stack(0.0, right).decided("right", True)
        denied = stack(0.0, right).decided("right", False)
        assert decided.sure == [is_sure << 1, (right <= -0.2) << 0]
        assert decided.possible[0] == is_possible << 1
        assert decided.sure_by_second[1] == is_sure << 0
        assert denied.sure[0] == (not is_possible) << 1
        assert denied.possible[0] == (not is_sure) << 1


def test_near_is_within_the_distance_and_far_beyond() -> None:
    assert stack(0.0, 0.4).margins("near")[0][1] == pytest.approx(0.6)
    assert stack(0.0, 1.5).margins("far")[0][1] == pytest.approx(0.5)
    assert stack(0.0, 1.5).margins("near")[0][1] == pytest.approx(-0.5)


def test_facts_are_the_relations_that_hold() -> None:
    assert sorted(facts(stack(0.8))) == [
        (0, "near", 1),
        (0, "on", 1),
        (1, "beneath", 0),
        (1, "near", 0),
    ]


def test_a_relation_without_a_rule_is_refused() -> None:
    with pytest.raises(UserError, match="does not know the relation 'orbits'"):
        Terms.from_toml(VOCABULARY + 'orbits = { phrase = "orbiting", margin = 1.0 }\n')


def test_a_position_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        stack(np.inf)


def test_a_scene_is_uneven_if_an_exchange_decides_what_it_shows() -> None:
    held_out = HeldOut.from_record(
        {"kind": "size", "category": "shape", "bindings": [["large", "sphere"]]}, VOCABULARY
    )
    scene = stack(0.0, 1.0)  # a small sphere and a large cube
    assert held_out.is_uneven(scene)
    both = HeldOut.from_record(
        {
            "kind": "size",
            "category": "shape",
            "bindings": [["large", "sphere"], ["small", "sphere"]],
        },
        VOCABULARY,
    )
    assert not both.is_uneven(scene)
