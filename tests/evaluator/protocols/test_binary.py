"""Binary accuracy against its definition in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    return {"accuracy": q.recall()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("binary", expected, [(), ("kind",)], asked, results)
