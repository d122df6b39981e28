"""The base of declarations: unknown keys, the model of a nested table, collected mistakes."""

import pytest
from pydantic import Field, ValidationError

from generator.base.declarations import (
    Declared,
    Hex,
    Positive,
    Share,
    Words,
    error_lines,
    raise_all,
    sentence_of,
    table_of,
)


class Inner(Declared):
    size: Positive = 1
    share: Share = 0
    color: Hex = "#000000"
    phrase: Words = "a thing"


class Outer(Declared):
    inner: Inner = Inner()
    many: dict[str, Inner] = Field(default_factory=dict)
    deep: dict[str, dict[str, Inner | None]] = Field(default_factory=dict)


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"share": 1.1},
        {"color": "red"},
        {"phrase": "X"},
        {"sise": 1},
        {"size": float("inf")},
    ],
)
def test_values_and_keys_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Inner.model_validate(wrong)


def test_a_declaration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Inner().size = 2  # type: ignore[misc]


class Outermost(Declared):
    outers: dict[str, Outer] = Field(default_factory=dict)


def test_the_model_of_a_table_is_found_by_its_place() -> None:
    assert table_of(Outermost, ("outers", "a", "inner", "sise")) is Inner
    assert table_of(Outer, ("inner", "sise")) is Inner
    assert table_of(Outer, ("many", "inner", "sise")) is Inner
    assert table_of(Outer, ("deep", "a", "b", "sise")) is Inner
    assert table_of(Outer, ("meny",)) is Outer


def test_mistakes_are_collected() -> None:
    raise_all([])
    assert error_lines(lambda: raise_all(["one", "two"])) == ["one", "two"]
    assert error_lines(lambda: None) == []


class Painted(Declared):
    name: str
    color: Hex = "#000000"
    inner: dict[str, Share] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({"name": "a", "color": "0b7a75"}, 'color: write "#0b7a75", got "0b7a75".'),
        ({"name": "a", "color": "teal"}, 'color: expected a color such as "#0b7a75", got "teal".'),
        ({}, "name is missing; declare it."),
        ({"name": "a", "inner": []}, "inner: expected a table such as [inner], got []."),
        ({"name": 3}, "name: Input should be a valid string."),
    ],
)
def test_a_mistake_is_a_sentence(declared: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError) as error_lines:
        Painted.model_validate(declared)
    assert sentence_of(error_lines.value.errors()[0]) == sentence
