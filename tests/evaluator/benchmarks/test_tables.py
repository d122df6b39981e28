"""Tables of scores are read alike from CSV, JSONL and Parquet; what they cannot be is one
sentence."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.benchmarks.tables import log_odds, numbers, read_table, scores, texts, truths
from generator.base.errors import UserError

ROWS = [
    {"item": "007", "text": 'a "red" cube,\nand a ball', "truth": True, "score": 0.25},
    {"item": "8", "text": None, "truth": False, "score": None},
    {"item": "é", "text": "plain", "truth": True, "score": -1e-3},
]


def write(folder: Path, suffix: str) -> Path:
    path, rows = folder / f"scores{suffix}", pd.DataFrame(ROWS)
    if suffix == ".parquet":
        rows.to_parquet(path)
    elif suffix.startswith(".json"):
        path.write_text(rows.to_json(orient="records", lines=suffix == ".jsonl") + "\n")
    else:
        rows.to_csv(path, sep="\t" if suffix == ".tsv" else ",", index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_every_format_has_the_same_values(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, suffix)
    table = read_table(path)
    assert texts(table, "item").tolist() == ["007", "8", "é"]
    assert texts(table, "text").tolist() == ['a "red" cube,\nand a ball', "", "plain"]
    assert texts(table, "absent").tolist() == ["", "", ""]
    assert truths(table, "truth", path).tolist() == [True, False, True]
    assert truths(table, "absent", path).tolist() == [None, None, None]
    np.testing.assert_array_equal(numbers(table, "score", path), [0.25, np.nan, -1e-3])


def test_words_for_truths_are_read_and_others_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("truth\nTRUE\n0\n1\nfalse\n", encoding="utf-8")
    assert truths(read_table(path), "truth", path).tolist() == [True, False, True, False]
    path.write_text("truth\n1\nyes\n", encoding="utf-8")
    with pytest.raises(UserError, match="got 'yes' in row 2"):
        truths(read_table(path), "truth", path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "x", "ends in .csv"),
        ("a.csv", "a,score\n", "has no rows"),
        ("a.jsonl", "{", "cannot be read as jsonl"),
        ("a.jsonl", "[1]", "expected an object in each line"),
        ("a.json", '{"item": 1}', "cannot be read as json: expected a list of objects"),
        ("a.json", "[[1, 2]]", "cannot be read as json: expected a list of objects"),
        ("a.csv", "a,score,score\n1,2,3\n", "a.csv has the column 'score' twice; keep one."),
        (
            "a.tsv",
            "score\tscore\tscore\n1\t2\t3\n",
            "a.tsv has the column 'score' 3 times; keep one.",
        ),
        ("a.jsonl", '{"a": 1, "a": 2}', "the key 'a' is repeated"),
        ("a.parquet", "no parquet", "is damaged (Parquet magic bytes"),
    ],
)
def test_file_that_is_not_a_table_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(message)):
        read_table(tmp_path / name)


@pytest.mark.parametrize("size", [3 << 20, 40 << 20])
def test_a_cell_may_be_longer_than_arrows_usual_block(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"item,text\n1,{'x' * size}\n2,y\n", encoding="utf-8")
    assert [len(text) for text in texts(read_table(path), "text")] == [size, 1]


def test_ids_of_more_than_64_bits_are_text(tmp_path: Path) -> None:
    ids = [2**63, 10**29, -(2**63) - 1]
    (tmp_path / "a.jsonl").write_text(
        "".join(f'{{"item": {value}, "score": {value}}}\n' for value in ids)
    )
    table = read_table(tmp_path / "a.jsonl")
    assert texts(table, "item").tolist() == [str(value) for value in ids]
    assert numbers(table, "score", tmp_path).tolist() == [float(value) for value in ids]


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("words", ["0.5\nhigh", "0.5\n0,5"])
def test_score_that_is_not_a_number_is_refused_with_its_row(tmp_path: Path, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "score\n" + "\n".join(f'"{word}"' for word in words.split("\n")) + "\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match="in row 2"):
        scores(read_table(path), path, False)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_log_odds_keep_the_order_of_probabilities(pair: list[float]) -> None:
    low, high = sorted(pair)
    a, b = log_odds(np.array([low, high]))
    assert np.isfinite([a, b]).all()
    assert a <= b
    if 1e-9 < low < 1 - 1e-9:
        assert a == pytest.approx(math.log(low / (1 - low)), rel=1e-6, abs=1e-6)


def test_score_that_is_not_a_probability_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("score\n0.5\n1.5\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"got 1\.5 in row 2; leave --probabilities out"):
        scores(read_table(path), path, True)


def test_probabilities_that_tie_near_0_and_1_are_hinted_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    certain, spread, beyond = ([0.9998] * 5 + [0.5] * 5, [0.9, 0.5, 0.1], [0.999999] * 5 + [1.5])
    for values in (spread, beyond):
        scores(pa.table({"score": values}), Path("x.csv"), False)
    assert not caplog.records
    scores(pa.table({"score": certain}), Path("x.csv"), True)
    assert not caplog.records
    scores(pa.table({"score": certain}), Path("x.csv"), False)
    assert "5 of the 10 scores of x.csv" in caplog.text
    assert "--probabilities" in caplog.text
