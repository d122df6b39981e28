import pytest

from generator.base.errors import UserError
from generator.language.complexity import LEVELS, Cell, cells, parse_complexity, parse_counts
from tests.generator.scenes import VOCABULARY


def test_cells_have_exactly_what_is_asked_for() -> None:
    assert cells(["OAR"], (4, 12), {"O": 3, "A": 5, "R": 2}, VOCABULARY, 10) == [Cell("OAR", 3, 5, 2)]
    assert Cell("OAR", 3, 5, 2).complexity == 10
    every = cells(tuple(LEVELS), (1, 12), {}, VOCABULARY, 10)
    ranges = {level: {cell.complexity for cell in every if cell.level == level} for level in LEVELS}
    assert {level: (min(n), max(n)) for level, n in ranges.items()} == LEVELS


def test_an_object_is_in_one_relation_of_each_slot() -> None:
    found = cells(["OR"], (3, 12), {"O": 2}, VOCABULARY, 10)
    assert {cell.n_relations for cell in found} == {1, 2}  # left or right, in front or behind


@pytest.mark.parametrize(
    ("levels", "complexity", "counts", "most", "says"),
    [
        (["OAR"], "4..12", "O=1,R=1", 10, "O=1, R=1"),
        (["L1"], "11..12", None, 10, "11 to 12"),
        (["OR"], "12", None, 2, "up to 2 objects"),
        (["XY"], "4", None, 3, "Unknown level 'XY'"),
    ],
)
def test_complexities_that_cannot_be_are_refused_with_what_is_short(
    levels: list[str], complexity: str, counts: str | None, most: int, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        cells(levels, parse_complexity(complexity), parse_counts(counts), VOCABULARY, most)


@pytest.mark.parametrize(
    ("spec", "parse"),
    [
        ("4-12", parse_complexity),
        ("12..4", parse_complexity),
        ("0", parse_complexity),
        ("13", parse_complexity),
        ("O3", parse_counts),
        ("X=3", parse_counts),
    ],
)
def test_malformed_complexities_are_refused(spec: str, parse) -> None:
    with pytest.raises(UserError, match="Expected --"):
        parse(spec)


def test_a_number_is_a_range_of_one_and_no_counts_are_none() -> None:
    assert parse_complexity("6") == (6, 6)
    assert parse_counts(None) == {}
