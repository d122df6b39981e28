"""Filters by name and value."""

import pytest

from evaluator.benchmarks.filters import parse_filters
from generator.base.errors import UserError


def test_filters_are_named_with_their_values() -> None:
    filters = parse_filters(["present", "first=20", "complete"], ["complete"], "compass")
    assert (filters.first, filters.present, filters.labels) == (20, True, {"complete": "yes"})
    assert filters.given == {"first": "20", "present": "yes", "complete": "yes"}
    assert parse_filters([], [], "aro").given == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["frist=3"], "Unknown filter 'frist' of crepe: did you mean 'first'"),
        (["first=3", "first=4"], "'first' is given twice"),
        (["first"], "Expected a number of questions from 1 up"),
        (["first=0"], "Expected a number of questions from 1 up"),
        (["first=-3"], "Expected a number of questions from 1 up"),
        (["corpus="], "Expected a value after 'corpus='"),
        (["present=no"], "Expected present without a value"),
    ],
)
def test_what_is_no_filter_is_said(given: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_filters(given, ["corpus"], "crepe")
