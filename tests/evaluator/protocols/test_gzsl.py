"""Zero-shot accuracy and the kinds of errors against their definitions in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_errors, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    return {"GZSL": q.recall(), "ZSL": q.recall(("distractor",))}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("gzsl", expected, [("kind",)], asked, results)


def test_errors_are_those_of_the_winning_text(asked: list[PlainItem], results: Row) -> None:
    check_errors("gzsl", "share of predictions", False, asked, results)
