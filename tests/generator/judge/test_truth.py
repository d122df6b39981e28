"""False positives, true negatives and undecided texts are named."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.generator.judge.datasets import (
    Rows,
    add_text,
    ask,
    edit,
    judged,
    said,
)


def test_a_false_positive_and_a_true_negative(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        true, false = [row for row in rows if row["item_id"].startswith("binary-")][:2]
        true["text_id"], false["text_id"] = false["text_id"], true["text_id"]

    edit(benchmark, "candidates", plant)
    certificate = judged(copied)
    item = pq.read_table(benchmark / "candidates.parquet").to_pylist()
    item_id = next(row["item_id"] for row in item if row["item_id"].startswith("binary-"))
    assert item_id in said(certificate, "false positive")
    assert item_id in said(certificate, "true negative")
    assert certificate["faults"]["false positive"] == certificate["faults"]["true negative"] == 1


def test_an_undecided_text(copied: Path, benchmark: Path) -> None:
    text_id = add_text(benchmark, "two objects and an object")

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("binary-") and row["truth"]).update(text_id=text_id)

    edit(benchmark, "candidates", plant)
    certificate = judged(copied)
    assert certificate["faults"]["undecided text"] == 1
    assert "'two objects and an object' is listed as true, and is undecided" in said(certificate, "undecided text")


@pytest.mark.parametrize(
    ("true", "false", "fault"),
    [
        ("A cube is to the left of a cone.", "A cone is to the left of a cube.", None),
        ("A cone is to the left of a cube.", "A cube is to the left of a cone.", "false positive"),
        ("There is a cone and no blue cube.", "It is not true that there is a red cube.", None),
        ("two red objects", "three red objects", None),
        ("A cone is not to the left of a cube.", "a cube that is not red", None),
        ("A cube is not to the left of a red object.", "a cube that is not red", "false positive"),
        ("A red object is not to the left of a red object.", "a cube that is not red", None),
        ("A cone is not to the left of a red object.", "a cube that is not red", "undecided text"),
    ],
)
def test_texts_of_every_kind_are_decided(tmp_path: Path, true: str, false: str, fault: str | None) -> None:
    root = ask(tmp_path / "a", "partial", {"0": [(true, True)], "1": [(false, False)]})
    faults = set(judged(root)["faults"])
    assert (fault in faults) if fault else not faults
