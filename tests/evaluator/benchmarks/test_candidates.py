"""Candidates of a file become the items, candidates and texts of a benchmark; contradictions are
one sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evaluator.benchmarks.candidates import Tables, benchmark_tables, one_row_a_candidate
from generator.base.errors import UserError

PATH = Path("scores.csv")
PLACES = [(caption, image) for caption in "01" for image in "01"]


def tables(*rows: dict[str, Any]) -> Tables:
    names = dict.fromkeys(name for row in rows for name in row)
    return benchmark_tables(
        pa.table({name: [row.get(name) for row in rows] for name in names}), PATH, False
    )


OK = {"item": "a", "protocol": "binary", "truth": True, "score": 0.5}


@pytest.mark.parametrize(
    "columns", [({"truth": True}, {"truth": False}), ({"slot": "c"}, {"slot": "n"})]
)
def test_truth_alone_gives_slots_and_slots_alone_give_truth(
    columns: tuple[dict[str, Any], ...],
) -> None:
    converted = tables(
        *({"item": "a", "protocol": "binary", "score": 0.5, **column} for column in columns)
    )
    assert converted.candidates["slot"].to_pylist() == ["c", "n"]
    assert converted.candidates["truth"].to_pylist() == [True, False]


def test_images_are_clusters_unless_the_file_has_some() -> None:
    images = {"a": "one.jpg", "b": "one.jpg", "c": None}
    rows = [
        {**OK, "item": item, "image": images[item], "truth": truth}
        for item in images
        for truth in (False, True)
    ]
    items = tables(*rows).items
    assert items["cluster_id"].to_pylist() == ["one.jpg", "one.jpg", "c"]
    assert items["split"].to_pylist() == ["all"] * 3
    assert (
        tables(*({**row, "cluster": "k"} for row in rows)).items["cluster_id"].to_pylist()
        == ["k"] * 3
    )


@pytest.mark.parametrize("column", ["image", "truth"])
def test_pairs_know_which_image_belongs_to_which_caption(column: str) -> None:
    rows = [
        {"item": "7", "protocol": "pairs", "slot": caption, "score": 0.5}
        | ({"image": image} if column == "image" else {"truth": caption == image})
        for caption, image in PLACES
    ]
    converted = tables(*rows)
    assert converted.candidates["truth"].to_pylist() == [True, False, False, True]
    assert converted.candidates["scene_id"].to_pylist() == ["7/0", "7/1", "7/0", "7/1"]
    assert converted.items["cluster_id"].to_pylist() == ["7/0"]


def test_labels_counts_and_words_are_kept_and_empty_scores_are_no_scores() -> None:
    of_item = {"kind": "k", "skill": "object", "split": "seen"}
    of_texts = {"level": "OA", "n_objects": 2}
    row = {"item": "a", "protocol": "skill", **of_item, **of_texts}
    converted = tables(
        {**row, "truth": True, "text": "a cube", "score": None},
        {**row, "truth": False, "text": "a ball", "score": 1},
    )
    assert converted.items.select([*of_item]).to_pylist() == [of_item]
    texts = [{"text": text, **of_texts} for text in ("a cube", "a ball")]
    assert converted.texts.select(["text", *of_texts]).to_pylist() == texts
    assert np.isnan(converted.scores).tolist() == [True, False]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"protocol": "binary", "truth": True, "score": 0.5}], "has no column 'item'"),
        ([{"item": "a", "protocol": "binary", "score": 0.5}], "has no column 'slot'"),
        ([{**OK, "item": None}], "Row 1 of scores.csv has no item"),
        ([{**OK, "protocol": None}], "Row 1 of scores.csv has no protocol"),
        ([{**OK, "protocol": "binery"}], "did you mean 'binary'"),
        (
            [{**OK, "slot": "q"}],
            "Expected a slot c, n, p, context, zsl, 0, 1, d1, d2 … in row 1 of scores.csv, got 'q'",
        ),
        ([OK, {**OK, "truth": None}], "Row 2 of scores.csv needs a slot or a truth"),
        ([{**OK, "slot": "d1", "truth": None}], "Row 1 of scores.csv needs a truth: slot 'd1'"),
        (
            [{**OK, "protocol": "pairs", "truth": None, "slot": "0"}],
            "needs a truth or the number of its image, 0 or 1",
        ),
        ([{**OK, "protocol": "pairs"}], "needs 0 or 1, the number of the caption"),
        (
            [{**OK, "split": "seen"}, {**OK, "split": "unseen"}],
            "has the split 'seen' in one row and 'unseen' in another",
        ),
        (
            [{**OK, "protocol": "pairs", "slot": "0"}] * 2,
            "several scores of caption 0 with its own image",
        ),
    ],
)
def test_contradicting_rows_are_one_sentence(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UserError) as error:
        tables(*rows)
    assert message in error.value.message


def rows(table: pa.Table) -> set[tuple[object, ...]]:
    columns = ("item", "protocol", "slot", "image", "score")
    return set(zip(*(table[name].to_pylist() for name in columns), strict=True))


EXPECTED = {
    (item, "pairs", caption, image, float(f"{item}.{caption}{image}"))
    for item in ("3", "14")
    for caption, image in PLACES
}


def test_labels_as_winoground_publishes_them() -> None:
    data = [
        {"label": f"{item}_c{c}_i{i}", "score": float(f"{item}.{c}{i}")}
        for item in ("3", "14")
        for c, i in PLACES
    ]
    assert rows(one_row_a_candidate(pa.Table.from_pylist(data), PATH)) == EXPECTED


@pytest.mark.parametrize("key", ["id", "item"])
def test_four_columns_of_scores_keep_the_other_columns(key: str) -> None:
    data = [
        {
            key: item,
            "kind": f"kind {item}",
            **{f"c{c}_i{i}": float(f"{item}.{c}{i}") for c, i in PLACES},
        }
        for item in ("3", "14")
    ]
    table = one_row_a_candidate(pa.Table.from_pylist(data), PATH)
    assert rows(table) == EXPECTED
    assert all(row["kind"] == f"kind {row['item']}" for row in table.to_pylist())


def test_other_tables_stay_as_they_are() -> None:
    table = pa.table({"item": ["a"], "label": ["x"], "score": [1.0]})
    assert one_row_a_candidate(table, PATH).equals(table)


def test_another_label_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"Expected labels such as 17_c0_i1 .* got '3_c0'"):
        one_row_a_candidate(pa.table({"label": ["3_c0_i0", "3_c0"], "score": [1.0, 2.0]}), PATH)
