"""Accuracy with and without the environment against its definition in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    minimal, said = q.recall(), q.recall(slot="context", against="context")
    both = (said[0] - minimal[0], said[1] or minimal[1], said[2] - minimal[2])
    return {"accuracy, minimal": minimal, "accuracy, with context": said, "context - minimal": both}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("context", expected, [("kind",)], asked, results)
