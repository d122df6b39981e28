"""Columns have the roles that the option gives them, or that they are called after."""

import pytest

from generator.base.errors import UserError
from generator.judge.foreign.column_roles import choose_columns, parse_columns


def test_columns_called_after_their_role_are_found() -> None:
    found = choose_columns([], ["split", "caption", "negative_caption", "filename", "other"], "a.csv")
    assert (found.split, found.label, found.negatives, found.image) == (
        "split",
        "caption",
        ("negative_caption",),
        "filename",
    )
    assert found.all == ["split", "filename", "caption", "negative_caption"]


def test_objects_in_columns_of_their_own() -> None:
    named = parse_columns(["first=animal,first.color=paint", "second=animal2,relation=where,split=fold"])
    found = choose_columns(named, ["animal", "paint", "animal2", "where", "fold"], "a.csv")
    assert found.things == (("animal", (("color", "paint"),)), ("animal2", ()))
    assert (found.relation, found.split) == ("where", "fold")
    assert found.label_columns == ["animal", "paint", "animal2", "where"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("split", "ROLE=COLUMN"),
        ("splt=fold", "did you mean 'split'"),
        ("split=a,split=b", "names the role 'split' twice"),
        ("label=gone", "has no column 'gone'"),
        ("second.color=a", "names a value of the second object"),
        ("second=a", "names a second object and no first one"),
    ],
)
def test_a_wrong_option_is_one_sentence(option: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        choose_columns(parse_columns([option]), ["a", "b"], "a.csv")
