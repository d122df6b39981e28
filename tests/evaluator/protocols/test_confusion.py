"""R@1 over confusion sets and the patterns of errors against their definitions in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_errors, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("confusion", expected, [("kind",)], asked, results)


def test_errors_are_those_of_the_winning_text(asked: list[PlainItem], results: Row) -> None:
    check_errors("confusion", "share of errors", True, asked, results)
