"""Accuracies, brittleness and mean scores against their definitions in plain Python."""

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows, wins
from tests.evaluator.synthetic import Row


def expected(q: PlainItem) -> dict[str, Value]:
    c, n, p = q.of("c", True)[0], q.of("n", False)[0], q.of("p", True)[0]

    def chain(*pairs: tuple[float, float]) -> tuple[bool, bool]:
        return all(wins(a, b) for a, b in pairs), not any(wins(b, a) for a, b in pairs)

    original, augmented = chain((c, n)), chain((c, n), (p, n))
    up, down = chain((c, n), (n, p)), chain((p, n), (n, c))
    brittle = up[0] or down[0]
    tied = [each[1] and not each[0] for each in (original, augmented)]
    return {
        "original accuracy": (float(original[0]), original[1] and not original[0], 1 / 2),
        "augmented accuracy": (float(augmented[0]), augmented[1] and not augmented[0], 1 / 3),
        "augmented - original": (float(augmented[0]) - float(original[0]), tied[0] or tied[1], 1 / 3 - 1 / 2),
        "brittleness": (float(brittle), (up[1] or down[1]) and not brittle, 1 / 3),
        "mean score c": (c, False, None), "mean score n": (n, False, None), "mean score p": (p, False, None),
    }  # fmt: skip


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    """`replace` is the mean over items of attributes and relations, as published; objects are apart."""
    groupings = [("kind",), ("kind", "skill")]
    check_rows("hard_positives", expected, groupings, asked, results, ["replace"], ("replace", "object"))
