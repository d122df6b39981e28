"""Zero-shot accuracy and the kinds of errors against their definitions in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_errors, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    """ZSL is asked of the slot of its own where an item has it, else of the distractors; of one object it is not asked."""
    zero_shot = {
        "two-object": lambda: {"ZSL": q.recall(("distractor",))},
        "three-object": lambda: {"ZSL": q.recall(("distractor",))},
        "relational": lambda: {"ZSL": q.recall(against="zsl")},
        "single": dict,
    }
    return {"GZSL": q.recall(), **zero_shot[q.item["kind"]]()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("gzsl", expected, [("kind",)], asked, results)


def test_errors_are_those_of_the_winning_text(asked: list[PlainItem], results: Row) -> None:
    check_errors("gzsl", "share of predictions", False, asked, results)
