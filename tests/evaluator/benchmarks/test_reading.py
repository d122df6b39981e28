"""What is kept of a benchmark's questions, and what is counted of the others. test_layouts has the
readings of real layouts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.benchmarks.question import Omissions, Origin, PublishedQuestion, QuestionLabels
from evaluator.benchmarks.reading import Layout, describe_reading, parse_filters, read_questions
from generator.base.errors import UserError

HERE = Path("here")


def _layout(*questions: PublishedQuestion) -> Layout:
    def read(path: Path) -> Iterator[PublishedQuestion]:
        assert path == HERE
        yield from questions

    return Layout(read, ("half",))


def _question(
    item: str, half: str = "a", excluded: str = "", dropped: int = 0, file: str = "x.json"
) -> PublishedQuestion:
    return PublishedQuestion(
        item=item,
        images=(),
        texts=("x", "y"),
        truth=((True, False),),
        origin=Origin("there", Path(file)),
        labels=QuestionLabels(cluster="c", filterable={"half": half}),
        omissions=Omissions(excluded, dropped_texts=("a text",) * dropped),
    )


def _read(layout: Layout, *filters: str) -> tuple[list[str], dict[str, int]]:
    parsed = parse_filters(filters, ["half"], "made")
    questions, _, about = read_questions(layout, HERE, filters=parsed, finder=None)
    return [question.item for question in questions], about["excluded"]


def test_the_first_questions_of_each_file_are_those_that_other_filters_keep() -> None:
    layout = _layout(
        _question("1"),
        _question("2", "b"),
        _question("3"),
        _question("4"),
        _question("5", file="y.json"),
    )
    assert _read(layout, "half=a", "first=2") == (
        ["1", "3", "5"],
        {"its half is not a": 1, "it is not among the first of its file": 1},
    )


def test_texts_are_counted_of_questions_that_are_kept_alone() -> None:
    layout = _layout(
        _question("1", dropped=2),
        _question("2", dropped=1, excluded="no truth"),
        _question("3", "b", dropped=1),
    )
    assert _read(layout, "half=a") == (["1"], {"a text": 2, "no truth": 1, "its half is not a": 1})


def test_an_id_that_occurs_twice_is_refused_even_where_it_is_left_out() -> None:
    with pytest.raises(UserError, match="here has two questions with the id 1; keep one of them"):
        _read(_layout(_question("1"), _question("1", "b")), "half=a")


def test_a_benchmark_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(
        UserError,
        match=r"None of the 2 questions of here is left \(1: no truth; 1: its half is not c\); its labels are half: "
        r"a, b",
    ):
        _read(_layout(_question("1", excluded="no truth"), _question("2", "b")), "half=c")


@pytest.mark.parametrize(
    ("filters", "message"),
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
def test_invalid_filter_is_refused(filters: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_filters(filters, ["corpus"], "crepe")


def test_filters_exclusions_and_versions_are_described() -> None:
    reading = {
        "filters": {"first": "5", "present": "yes"},
        "excluded": {"no image": 1200, "no text": 1},
        "versions": ["a.json is old."],
    }
    assert describe_reading(reading) == [
        "Filters: first=5, present.",
        "Left out: 1,200: no image; 1: no text.",
        "a.json is old.",
    ]
    assert describe_reading({}) == []
