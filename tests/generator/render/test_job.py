import pytest

from generator.base.errors import UserError
from generator.render.job import as_tuple, parse_objects, parse_resolution


def test_sizes_and_numbers_of_objects_are_read() -> None:
    assert parse_resolution("320x240") == (320, 240)
    assert [parse_objects(spec) for spec in ("2", "3..10", "1..1")] == [(2, 2), (3, 10), (1, 1)]


@pytest.mark.parametrize("spec", ["320", "320x", "x", "320*240", "15x240", "320x4097"])
def test_a_wrong_resolution_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=r"Expected --resolution|expected sides of 16 to 4096"):
        parse_resolution(spec)


@pytest.mark.parametrize("spec", ["0", "11", "3..11", "5..3", "two", ""])
def test_a_wrong_number_of_objects_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match="--objects"):
        parse_objects(spec)


def test_one_value_is_a_tuple_of_one() -> None:
    assert (as_tuple("3x3"), as_tuple(["3x3", "atoms=1x2"]), as_tuple(())) == (("3x3",), ("3x3", "atoms=1x2"), ())
