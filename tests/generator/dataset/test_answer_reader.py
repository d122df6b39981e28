"""What answers say, by a table that people have read; and that hostile answers stop nothing."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset import answer_reader
from generator.dataset.answer_reader import (
    LONGEST,
    UNREAD,
    final_part,
    read_choice,
    read_yes_no,
)
from tests.generator.dataset.answer_table import CAPTIONS, TABLE, Row, label_of

MOST_UNREAD = 0.03
"""The largest share of the readable answers that may stay unread."""


def read(row: Row) -> str:
    if row.question == "yes":
        return label_of(row, read_yes_no(row.answer, row.finish))
    captions = CAPTIONS[row.question]
    return label_of(row, read_choice(row.answer, row.finish, "ABCDE"[: len(captions)], captions))


def test_no_answer_of_the_table_is_read_wrong_and_few_stay_unread() -> None:
    labels = {"A", "B", "C", "D", "E", "yes", "no"}
    readings = [(row, read(row)) for row in TABLE]
    read_wrong = [(row, label) for row, label in readings if label in labels and label != row.label]
    assert read_wrong == []
    readable = [(row, label) for row, label in readings if row.label in labels]
    unread = [(row, label) for row, label in readable if label not in labels]
    assert len(unread) <= MOST_UNREAD * len(readable), unread


def test_refusals_and_answers_that_are_cut_off_are_told_apart() -> None:
    rows = [row for row in TABLE if row.label in ("refused", "cut")]
    assert [read(row) for row in rows] == [row.label for row in rows]


def test_the_table_has_nine_sets_of_new_answers() -> None:
    numbers = Counter(row.new_set for row in TABLE)
    assert set(numbers) == set(range(10))
    assert min(numbers.values()) >= 150


def test_a_sole_label_that_is_taken_back_is_not_the_answer() -> None:
    assert read_choice("I end up with A.", "stop", "AB").label == 0
    for taken_back in ("Scratch that.", "Wait, no.", "Hmm, no."):
        assert read_choice(f"I end up with A. {taken_back}", "stop", "AB").why == UNREAD


@pytest.mark.parametrize("part", ["I think ", "I do not believe ", "I see that "])
def test_nested_beliefs_stop_nothing(part: str) -> None:
    assert read_yes_no(part * (LONGEST // len(part)), "stop").label is None


def test_the_table_has_every_style_and_every_kind_of_question() -> None:
    assert len(TABLE) >= 300
    assert len({row.style for row in TABLE}) >= 10
    assert {row.question for row in TABLE} == {*CAPTIONS, "yes"}


def test_a_letter_and_words_of_different_options_are_unread() -> None:
    captions = ("a red cube", "a blue cube")
    assert read_choice("B. a red cube", "stop", "AB", captions).why == UNREAD
    assert read_choice("B. a blue cube", "stop", "AB", captions).label == 1
    assert read_choice("a blue cube", "stop", "AB", captions).label == 1


def test_letters_of_a_prompt_of_ones_own() -> None:
    assert read_choice("The answer is 2.", "stop", "12").label == 1
    assert read_choice("(Q)", "stop", "PQ").label == 1
    assert read_choice("x", "stop", "XY").label == 0


def test_words_of_a_prompt_of_ones_own() -> None:
    words = (("jo",), ("nö",))
    assert read_yes_no("Jo, das stimmt.", "stop", *words).label == 0
    assert read_yes_no("Antwort: nö", "stop", *words).label == 1
    assert read_yes_no("nö", "stop").why == UNREAD


@pytest.mark.parametrize("letter", ["A", "B"])
def test_long_reasoning_changes_nothing(letter: str) -> None:
    for before in ("Answer: A\n", "\\boxed{B} ", "Both. ", "I cannot say. "):
        assert read_choice(
            f"<think>{before * 1000}</think>Answer: {letter}", "stop", "AB"
        ).label == "AB".index(letter)


def test_the_end_of_a_very_long_answer_is_read() -> None:
    assert read_choice(f"{'The cube is red. ' * LONGEST}\nAnswer: B", "stop", "AB").label == 1


@pytest.mark.parametrize(
    "part",
    ["<think>", "</think>", "\\boxed{", "<answer>", "answer:", "the answer is ", "A ", "A or ", "(", "not ", "*", "\n",
     "A. no\n", "\ufdfa", "A, ", "if A ", "wait ", "“", "<", "B's ", "答案", "a red cube "],
)  # fmt: skip
def test_a_repeated_part_stops_nothing(part: str) -> None:
    captions = ("a red cube", "a red cube and a red cube", "a red cube and a ball")
    read_choice(part * 3_000, "stop", "ABC", captions)
    read_yes_no(part * 3_000, "stop")


PIECES = st.lists(
    st.sampled_from(["A", "B", " ", ".", "\n", "not", "answer", ":", "is", "wait", "\\boxed{", "}", "<answer>",
                     "(", "没", "yes", "no", "if", "*", "'", "\u0130", "\x00", "\ud800", "ß"]),
    max_size=40,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(PIECES)
def test_any_answer_has_a_reading_with_a_label_or_a_reason(pieces: list[str]) -> None:
    for text in ("".join(pieces), " ".join(pieces)):
        for reading in (
            read_choice(text, "stop", "AB", ("A not", "B is")),
            read_yes_no(text, "stop"),
        ):
            assert (reading.label is None) == bool(reading.why)
            assert reading.label in (None, 0, 1)
        assert final_part(text) in text


@settings(max_examples=50, deadline=None)
@given(PIECES, st.sampled_from("AB"))
def test_a_boxed_letter_alone_after_the_reasoning_is_the_answer(
    pieces: list[str], letter: str
) -> None:
    assert read_choice(
        f"{''.join(pieces)}</think>\\boxed{{{letter}}}", "stop", "AB"
    ).label == "AB".index(letter)


def test_the_package_stands_alone(tmp_path: Path) -> None:
    """Exports copy it: it runs in an isolated Python without this project on its path."""
    package = Path(answer_reader.__file__).parent
    copy = tmp_path / "answer_reader"
    copy.mkdir()
    for module in package.glob("*.py"):
        (copy / module.name).write_bytes(module.read_bytes())
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from answer_reader import read_choice "
        f"as read\n"
    )
    code += "print(read('B', 'stop', 'AB'))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Reading(label=1, why='')\n"
