"""R@1 by number of atoms against its definition in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("productivity", expected, [("kind",), ("kind", "n")], asked, results)
