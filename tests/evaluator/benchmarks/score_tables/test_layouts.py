"""The published layouts of scores of pairs of images become one row a candidate."""

from pathlib import Path

import pyarrow as pa
import pytest

from evaluator.benchmarks.score_tables.layouts import one_row_a_candidate
from generator.base.errors import UserError

PATH = Path("scores.csv")
PLACES = [(caption, image) for caption in "01" for image in "01"]


def rows(table: pa.Table) -> set[tuple[object, ...]]:
    columns = ("item", "protocol", "slot", "image", "score")
    return set(zip(*(table[name].to_pylist() for name in columns), strict=True))


EXPECTED = {
    (item, "pairs", caption, image, float(f"{item}.{caption}{image}")) for item in ("3", "14") for caption, image in PLACES
}  # fmt: skip


def test_labels_as_winoground_publishes_them() -> None:
    data = [{"label": f"{item}_c{c}_i{i}", "score": float(f"{item}.{c}{i}")} for item in ("3", "14") for c, i in PLACES]
    assert rows(one_row_a_candidate(pa.Table.from_pylist(data), PATH)) == EXPECTED


@pytest.mark.parametrize("key", ["id", "item"])
def test_four_columns_of_scores_keep_the_other_columns(key: str) -> None:
    data = [
        {key: item, "kind": f"kind {item}", **{f"c{c}_i{i}": float(f"{item}.{c}{i}") for c, i in PLACES}}
        for item in ("3", "14")
    ]
    table = one_row_a_candidate(pa.Table.from_pylist(data), PATH)
    assert rows(table) == EXPECTED
    assert set(zip(table["item"].to_pylist(), table["kind"].to_pylist(), strict=True)) == {
        ("3", "kind 3"),
        ("14", "kind 14"),
    }


def test_other_tables_stay_as_they_are() -> None:
    table = pa.table({"item": ["a"], "label": ["x"], "score": [1.0]})
    assert one_row_a_candidate(table, PATH).equals(table)


def test_another_label_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"Expected labels such as 17_c0_i1 .* got '3_c0'"):
        one_row_a_candidate(pa.table({"label": ["3_c0_i0", "3_c0"], "score": [1.0, 2.0]}), PATH)
