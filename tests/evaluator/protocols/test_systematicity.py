"""R@1, R@3 and their mean against their definitions in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    one, three = q.recall(), q.recall(k=3)
    mean = ((one[0] + three[0]) / 2, one[1] or three[1], (one[2] + three[2]) / 2)
    return {"R@1": one, "R@3": three, "mean of R@1 and R@3": mean}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("systematicity", expected, [("kind",)], asked, results)
