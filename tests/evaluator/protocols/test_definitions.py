"""Every protocol against its definition in plain Python: each row is what a loop over the items gives."""

import statistics
from collections.abc import Callable
from copy import copy

import pytest

from tests.evaluator.protocols.plain import PlainItem, Value, check_errors, check_rows, wins
from tests.evaluator.synthetic import Row, find


def recall(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def accuracy(q: PlainItem) -> dict[str, Value]:
    return {"accuracy": q.recall()}


def context(q: PlainItem) -> dict[str, Value]:
    minimal, said = q.recall(), q.recall(slot="context", against="context")
    both = (said[0] - minimal[0], said[1] or minimal[1], said[2] - minimal[2])
    return {"accuracy, minimal": minimal, "accuracy, with context": said, "context - minimal": both}


def gzsl(q: PlainItem) -> dict[str, Value]:
    """ZSL is asked of the slot of its own where an item has it, else of the distractors; of one object it is not
    asked."""
    zero_shot = {
        "two-object": lambda: {"ZSL": q.recall(("distractor",))},
        "three-object": lambda: {"ZSL": q.recall(("distractor",))},
        "relational": lambda: {"ZSL": q.recall(against="zsl")},
        "single": dict,
    }
    return {"GZSL": q.recall(), **zero_shot[q.item["kind"]]()}


def hard_positives(q: PlainItem) -> dict[str, Value]:
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
        "mean score c": (c, False, None),
        "mean score n": (n, False, None),
        "mean score p": (p, False, None),
    }


def integration(q: PlainItem) -> dict[str, Value]:
    slots = sorted({row["slot"] for row in q.rows} - {"c", "n"})
    pairs = [(q.of(slot, True)[0], q.of(slot, False)[0]) for slot in slots]
    won = all(wins(a, b) for a, b in pairs)
    composed, decomposed = (
        q.recall(),
        (float(won), not won and not any(wins(b, a) for a, b in pairs), 0.5 ** len(slots)),
    )
    gap = (decomposed[0] - composed[0], composed[1] or decomposed[1], decomposed[2] - composed[2])
    return {"R@1 composed": composed, "R@1 decomposed": decomposed, "integration gap": gap}


def systematicity(q: PlainItem) -> dict[str, Value]:
    one, three = q.recall(), q.recall(k=3)
    mean = ((one[0] + three[0]) / 2, one[1] or three[1], (one[2] + three[2]) / 2)
    return {"R@1": one, "R@3": three, "mean of R@1 and R@3": mean}


def pairs(q: PlainItem) -> dict[str, Value]:
    (a, b), (c, d) = (
        (q.of("0", True)[0], q.of("0", False)[0]),
        (q.of("1", True)[0], q.of("1", False)[0]),
    )
    text, image = [(a, d), (c, b)], [(a, b), (c, d)]  # b: caption 0 with image 1
    found = {}
    for metric, compared, chance in (("text", text, 1 / 4), ("image", image, 1 / 4), ("group", text + image, 1 / 6)):
        won = all(wins(*each) for each in compared)
        found[metric] = (float(won), not won and not any(wins(y, x) for x, y in compared), chance)
    return found


@pytest.mark.parametrize(
    ("protocol", "definition", "groupings"),
    [
        ("binary", accuracy, [(), ("kind",)]),
        ("confusion", recall, [("kind",)]),
        ("context", context, [("kind",)]),
        ("gzsl", gzsl, [("kind",)]),
        ("integration", integration, [("level", "n")]),
        ("pairs", pairs, [(), ("kind",)]),
        ("productivity", recall, [("kind",), ("kind", "n")]),
        ("skill", recall, [("skill", "level")]),
        ("systematicity", systematicity, [("kind",)]),
    ],
)
def test_every_row_is_the_definition_in_a_plain_loop(
    protocol: str,
    definition: Callable[[PlainItem], dict[str, Value]],
    groupings: list[tuple[str, ...]],
    asked: list[PlainItem],
    results: Row,
) -> None:
    check_rows(protocol, definition, groupings, asked, results)


def test_replaced_objects_of_hard_positives_are_apart(asked: list[PlainItem], results: Row) -> None:
    """`replace` is the mean over items of attributes and relations, as published."""
    named = [copy(q) for q in asked]
    for q in named:
        if (q.item["kind"], q.item["skill"]) == ("replace", "object"):
            q.item = {**q.item, "kind": "replace object"}
    check_rows("hard_positives", hard_positives, [("kind",), ("kind", "skill")], named, results, ["replace"])


@pytest.mark.parametrize(
    ("protocol", "metric", "of_errors"),
    [("confusion", "share of errors", True), ("gzsl", "share of predictions", False)],
)
def test_errors_are_those_of_the_winning_text(
    protocol: str, metric: str, of_errors: bool, asked: list[PlainItem], results: Row
) -> None:
    check_errors(protocol, metric, of_errors, asked, results)


def test_cells_add_up_to_rows(results: Row) -> None:
    for skill in ("object", "attribute", "relation"):
        for split in ("val", "seen", "partial", "unseen"):
            row = find(results, "skill", split, skill=skill, level="OAR")
            cells = [c for c in results["cells"] if (c["skill"], c["split"], c["level"]) == (skill, split, "OAR")]
            assert sum(cell["items"] for cell in cells) == row["items"]
            assert sum(c["items"] * (c["value"] or 0) for c in cells) == pytest.approx(
                row["items"] * row["value"], abs=1e-3
            )
            assert {(c["n_objects"], c["n_attributes"], c["n_relations"]) for c in cells} <= {
                (a, b, c) for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3)
            }


def test_the_mean_over_n_is_unweighted_with_the_sample_deviation(results: Row) -> None:
    macro = [row for row in results["rows"] if row["average"].startswith("macro")]
    assert len(macro) == 3 * 2 * 4
    for row in macro:
        parts = [
            other
            for other in results["rows"]
            if other["n"] is not None
            and other["items"]
            and all(other[name] == row[name] for name in ("protocol", "metric", "level", "split"))
        ]
        assert row["value"] == pytest.approx(statistics.fmean(part["value"] for part in parts), abs=2e-6)
        assert row["chance"] == pytest.approx(statistics.fmean(part["chance"] for part in parts), abs=2e-6)
        assert row["sd"] == pytest.approx(statistics.stdev(part["value"] for part in parts), abs=2e-6)
        assert row["low"] <= row["value"] <= row["high"]
