import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.designs.base import DEFAULT_COUNTS, parse_scenes


def test_numbers_of_scenes_are_read() -> None:
    assert parse_scenes("3000") == parse_scenes(None) == DEFAULT_COUNTS
    assert parse_scenes("train=5,seen=6") == {**DEFAULT_COUNTS, "train": 5, "seen": 6}


@given(st.integers(30, 10**6))
def test_a_number_is_shared_out_wholly(n: int) -> None:
    counts = parse_scenes(str(n))
    assert sum(counts.values()) == n
    assert counts.keys() == DEFAULT_COUNTS.keys()


@pytest.mark.parametrize("spec", ["many", "train=x", "test=5", "train=5;seen=6", ""])
def test_anything_else_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --scenes to be a number"):
        parse_scenes(spec)


def test_a_split_without_scenes_is_refused_with_the_number_that_is_enough() -> None:
    with pytest.raises(UserError, match=r"leaves no scene for val.*take 30 or more"):
        parse_scenes("29")
    assert min(parse_scenes("30").values()) == 1
