"""Every protocol against its definition in plain Python: each row is what a loop over the items
gives."""

import statistics
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

import pandas as pd
import pytest

from evaluator.protocols.items import COUNTS
from generator.base.files import read_json
from tests.evaluator.protocols.plain import (
    PlainItem,
    Value,
    check_errors,
    check_gaps,
    check_rows,
    wins,
)
from tests.evaluator.synthetic import Row


def recall(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def accuracy(q: PlainItem) -> dict[str, Value]:
    return {"accuracy": q.recall()}


def minus(first: Value, second: Value) -> Value:
    return first[0] - second[0], first[1] or second[1], first[2] - second[2]


def all_win(pairs: Sequence[tuple[float, float]], chance: float) -> Value:
    won = all(wins(a, b) for a, b in pairs)
    return float(won), not won and not any(wins(b, a) for a, b in pairs), chance


def context(q: PlainItem) -> dict[str, Value]:
    minimal, with_context = q.recall(), q.recall(slot="context", against="context")
    return {
        "accuracy, minimal": minimal,
        "accuracy, with context": with_context,
        "context - minimal": minus(with_context, minimal),
    }


def gzsl(q: PlainItem) -> dict[str, Value]:
    """ZSL is asked of the slot of its own where an item has it, else of the distractors; of one
    object it is not asked."""
    zero_shot = {
        "two-object": lambda: {"ZSL": q.recall(("distractor",))},
        "three-object": lambda: {"ZSL": q.recall(("distractor",))},
        "relational": lambda: {"ZSL": q.recall(against="zsl")},
        "single": dict,
    }
    return {"GZSL": q.recall(), **zero_shot[q.item["kind"]]()}


def hard_positives(q: PlainItem) -> dict[str, Value]:
    c, n, p = q.of("c", True)[0], q.of("n", False)[0], q.of("p", True)[0]
    original, augmented = all_win([(c, n)], 1 / 2), all_win([(c, n), (p, n)], 1 / 3)
    up, down = all_win([(c, n), (n, p)], 1 / 6), all_win([(p, n), (n, c)], 1 / 6)
    brittle = up[0] or down[0]
    return {
        "original accuracy": original,
        "augmented accuracy": augmented,
        "augmented - original": minus(augmented, original),
        "brittleness": (brittle, (up[1] or down[1]) and not brittle, 1 / 3),
        "mean score c": (c, False, None),
        "mean score n": (n, False, None),
        "mean score p": (p, False, None),
    }


def integration(q: PlainItem) -> dict[str, Value]:
    slots = sorted({row["slot"] for row in q.rows} - {"c", "n"})
    decomposed = all_win(
        [(q.of(slot, True)[0], q.of(slot, False)[0]) for slot in slots], 0.5 ** len(slots)
    )
    gap = minus(decomposed, q.recall())
    return {"R@1 composed": q.recall(), "R@1 decomposed": decomposed, "integration gap": gap}


def systematicity(q: PlainItem) -> dict[str, Value]:
    one, three = q.recall(), q.recall(k=3)
    mean = ((one[0] + three[0]) / 2, one[1] or three[1], (one[2] + three[2]) / 2)
    return {"R@1": one, "R@3": three, "mean of R@1 and R@3": mean}


def pairs(q: PlainItem) -> dict[str, Value]:
    (a, b), (c, d) = ((q.of(slot, True)[0], q.of(slot, False)[0]) for slot in "01")
    text, image = [(a, d), (c, b)], [(a, b), (c, d)]  # b: caption 0 with image 1
    return {
        "text": all_win(text, 1 / 4),
        "image": all_win(image, 1 / 4),
        "group": all_win(text + image, 1 / 6),
        "matching": all_win([(a + c, b + d)], 1 / 2),
    }


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
    plain_items: list[PlainItem],
    results: Row,
) -> None:
    check_rows(protocol, definition, groupings, plain_items, results["rows"])
    check_gaps(protocol, results)


def test_replaced_objects_of_hard_positives_are_apart(
    plain_items: list[PlainItem], results: Row
) -> None:
    """`replace` is the mean over items of attributes and relations, as published."""
    named = [copy(q) for q in plain_items]
    for q in named:
        if (q.item["kind"], q.item["skill"]) == ("replace", "object"):
            q.item = {**q.item, "kind": "replace object"}
    check_rows(
        "hard_positives",
        hard_positives,
        [("kind",), ("kind", "skill")],
        named,
        results["rows"],
        ["replace"],
    )
    check_gaps("hard_positives", results)


@pytest.mark.parametrize(
    ("protocol", "metric", "of_errors"),
    [("confusion", "share of errors", True), ("gzsl", "share of predictions", False)],
)
def test_errors_are_those_of_the_winning_text(
    protocol: str, metric: str, of_errors: bool, plain_items: list[PlainItem], results: Row
) -> None:
    check_errors(protocol, metric, of_errors, plain_items, results)


def test_cells_are_rows_of_every_combination_of_counts(
    plain_items: list[PlainItem], results: Row
) -> None:
    check_rows("skill", recall, [("skill", "level", *COUNTS)], plain_items, results["cells"])


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
        assert row["value"] == pytest.approx(
            statistics.fmean(part["value"] for part in parts), abs=2e-6
        )
        assert row["chance"] == pytest.approx(
            statistics.fmean(part["chance"] for part in parts), abs=2e-6
        )
        assert row["sd"] == pytest.approx(
            statistics.stdev(part["value"] for part in parts), abs=2e-6
        )
        assert row["low"] <= row["value"] <= row["high"]


def test_tables_hold_every_row_fit_and_item(
    folder: Path, plain_items: list[PlainItem], results: Row
) -> None:
    assert read_json(folder / "results.json") == results
    tables = {
        path.stem: pd.read_csv(path, low_memory=False) for path in (folder / "tables").glob("*.csv")
    }
    assert set(tables) == {"summary", "cells", "fits", "items", "top"}
    assert len(tables["summary"]) == len(results["rows"])
    for name in ("value", "low", "items", "protocol", "split", "minus", "is_gap"):
        values = tables["summary"][name].dropna().tolist()
        assert values == pytest.approx(
            [row[name] for row in results["rows"] if row[name] is not None]
        )
    assert len(tables["cells"]) == len(results["cells"])
    for name in ("summary", "cells", "fits"):
        assert set(tables[name]["confidence"]) == {0.95}
    assert len(tables["fits"]) == sum(max(1, len(fit["coefficients"])) for fit in results["fits"])
    unscored = (
        tables["items"].drop_duplicates("item_id").set_index("item_id")["unscored"].fillna("")
    )
    assert unscored.to_dict() == {q.item["item_id"]: q.reason for q in plain_items}
