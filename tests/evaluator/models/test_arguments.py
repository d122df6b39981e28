"""Arguments of models: as text, as values, and those that a loader does not take."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from evaluator.models.arguments import checked_arguments, named_with, parse_arguments
from generator.base.errors import UserError

NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.text(st.characters(exclude_characters=",", codec="ascii"))


@given(st.dictionaries(NAMES, VALUES, min_size=1), st.booleans())
def test_one_by_one_or_after_commas(pairs: dict[str, str], together: bool) -> None:
    given = [f"{name}={value}" for name, value in pairs.items()]
    assert parse_arguments((",".join(given),) if together else tuple(given)) == pairs


def test_values_may_hold_commas_and_signs() -> None:
    assert parse_arguments(("a=x,y=1,z", "b=c=d,e")) == {"a": "x", "y": "1,z", "b": "c=d,e"}


@pytest.mark.parametrize("text", ["dtype", "=1", "a b=1", ""])
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(UserError, match="Expected an argument of the model as NAME=VALUE"):
        parse_arguments((text,))
    with pytest.raises(UserError, match="'a' is given twice"):
        parse_arguments(("a=1,a=2",))


def load(
    name: str,
    device: str | None,
    *,
    count: Annotated[int, Field(ge=1)] = 1,
    way: Literal["fast", "slow"] = "fast",
    on: bool = False,
) -> None:
    """A loader."""


def test_values_become_what_the_loader_takes() -> None:
    read = checked_arguments(load, {"count": "3", "way": "slow", "on": "true"}, "x:")
    assert read == {"count": 3, "way": "slow", "on": True}
    assert checked_arguments(load, {"count": 3}, "x:") == {"count": 3}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cuont": "3"}, "x: has no argument 'cuont': did you mean 'count'?"),
        ({"device": "cpu"}, "x: has no argument 'device'"),
        ({"count": "three"}, "The argument 'count' of x: is 'three'; input should be a valid integer"),
        ({"count": "0"}, "The argument 'count' of x: is '0'; input should be greater than or equal to 1"),
        ({"way": "up"}, "The argument 'way' of x: is 'up'; input should be 'fast' or 'slow'"),
    ],
)
def test_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        checked_arguments(load, given, "x:")
    assert said in caught.value.message
    with pytest.raises(UserError, match="x: has no argument 'a': it takes none; leave it out"):
        checked_arguments(lambda name, device: None, {"a": "1"}, "x:")


def test_a_loader_with_any_arguments_gets_them_as_they_are() -> None:
    assert checked_arguments(lambda name, device, **more: None, {"a": "1"}, "x:") == {"a": "1"}


def test_the_order_of_arguments_is_no_other_model() -> None:
    assert named_with("x:y", {"b": 1, "a": 2}) == named_with("x:y", {"a": 2, "b": 1}) == "x:y a=2 b=1"
