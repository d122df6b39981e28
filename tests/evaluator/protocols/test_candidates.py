"""Which items are unscored, and why."""

from pathlib import Path
from typing import Any

import numpy as np

from evaluator.protocols.items import INCOMPLETE, MISSING, NOT_A_NUMBER, TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from tests.evaluator.protocols.plain import PlainItem
from tests.evaluator.synthetic import Builder, write_run


def test_the_cases_are_many_and_every_reason_occurs(asked: list[PlainItem]) -> None:
    assert len(asked) >= 10_000
    assert {q.reason for q in asked} == {"", TRUNCATED, MISSING, NOT_A_NUMBER}


def test_an_item_without_a_false_text_is_unscored_and_says_so(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    for candidates in (
        [("c", True, None), ("n", False, None)],
        [("c", True, None)],
        [("n", False, None)],
        [("c", True, None), ("n", False, None), ("context", True, None)],
    ):
        builder.add("context", "swap", candidates)
    builder.add(
        "context", "swap", [("c", True, None), ("n", False, None), ("context", True, None), ("context", False, None)]
    )
    root = builder.write(tmp_path / "dataset")
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, dtype=float))
    items = measure_protocols(open_run(folder))["context"].items
    assert items.unscored.tolist() == [*[INCOMPLETE] * 4, ""]
    assert sum(row["unscored"] for row in measure(folder)["rows"] if row["metric"] == "accuracy, minimal") == 4


def test_an_item_that_lacks_a_part_of_its_protocol_is_unscored(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    whole: list[Any] = [("c", True, None), ("n", False, None)]
    parts: dict[str, list[Any]] = {"hard_positives": [("p", True, None)]}
    parts["integration"] = [("d0", True, None), ("d0", False, None)]
    for protocol, part in parts.items():
        builder.add(protocol, "swap", whole)
        builder.add(protocol, "swap", whole + part)
    root = builder.write(tmp_path / "dataset")
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, dtype=float))
    measured = measure_protocols(open_run(folder))
    for protocol in parts:
        assert measured[protocol].items.unscored.tolist() == [INCOMPLETE, ""]


def test_the_same_texts_may_be_alike_in_one_item_and_not_matter_in_another(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    for _ in range(2):
        builder.add("binary", "swap", [("c", True, None), ("n", False, None)])
    root = builder.write(tmp_path / "dataset")
    # the caption of the second is read as that of the first; the foil of the first as its own caption
    alike = {"t0000002": "t0000000", "t0000001": "t0000000"}
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, 0, -1.0), indistinct=alike)
    assert measure_protocols(open_run(folder))["binary"].items.unscored.tolist() == [TRUNCATED, ""]
