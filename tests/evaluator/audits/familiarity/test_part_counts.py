"""The counts of a part by hand."""

from pathlib import Path

from evaluator.audits.familiarity.corpora import CAPTIONS, EMPTY, PHRASES, Part
from evaluator.audits.familiarity.counting import Counted, count_texts
from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS
from evaluator.audits.familiarity.reading import DEFAULT


def test_phrases_and_captions_are_counted() -> None:
    phrases = ["red cars", "red car", "small red car", "car"]
    table, counted = count_texts(Part(Path("x"), 0, PHRASES, phrases), DEFAULT)
    assert table.schema == PAIR_COUNTS
    assert table.to_pylist() == [
        {"attr": "red", "obj_lemma": "car", "perfect_count": 2, "close_count": 1},
        {"attr": "small", "obj_lemma": "car", "perfect_count": 0, "close_count": 1},
    ]
    assert counted == Counted(0, 4, 1)
    table, counted = count_texts(Part(Path("x"), 0, CAPTIONS, ["a red car near a tree", "they wait"]), DEFAULT)
    assert table["attr"].to_pylist() == ["red"]
    assert counted == Counted(2, 2, 1)
    assert counted + Counted(1, 2, 3, 4, {"a": 1}) + Counted(left_out={"a": 2}) == Counted(3, 4, 4, 4, {"a": 3})


def test_nothing_is_an_empty_table() -> None:
    table, counted = count_texts(Part(Path("x"), 0, PHRASES, []), DEFAULT)
    assert (table.num_rows, table.schema, counted) == (0, PAIR_COUNTS, Counted())


def test_the_number_of_words_decides_whether_a_binding_is_perfect() -> None:
    table, counted = count_texts(Part(Path("x"), 0, PHRASES, ["red red car", "", " ", "日本"]), DEFAULT)
    assert table.to_pylist() == [{"attr": "red", "obj_lemma": "car", "perfect_count": 0, "close_count": 1}]
    assert counted == Counted(0, 1, 0, left_out={EMPTY: 3})
