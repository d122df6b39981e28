"""Objects: defaults, and values out of range."""

import pytest
from pydantic import ValidationError

from generator.vocabulary.objects import ObjectSpec


def test_an_object_turns_freely_shows_its_front_and_rests_on_nothing() -> None:
    spec = ObjectSpec()
    assert (spec.turn, spec.shows, spec.top, spec.foot, spec.mesh) == (360, "front", None, None, None)


@pytest.mark.parametrize("keys", [{"turn": 361}, {"turn": -1}, {"foot": -0.1}, {"foot": float("inf")}, {"shows": "back"}, {"top": {"height": 0, "radius": 1}}, {"fot": 0}])  # fmt: skip
def test_values_out_of_range_are_refused(keys: dict) -> None:
    with pytest.raises(ValidationError):
        ObjectSpec.model_validate(keys)
