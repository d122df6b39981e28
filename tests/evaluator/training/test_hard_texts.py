"""Hard texts of natural captions change or keep the meaning, and touch whole words only."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.training.hard_texts import EXCLUSIVE, SYNONYMS, make_hard_texts
from evaluator.training.recipe import HARD_KINDS
from tests.conftest import refuse, succeed

COLORS = EXCLUSIVE[0]


def test_a_swap_exchanges_attributes_and_adapts_the_article() -> None:
    hard_texts = make_hard_texts("An old car stands next to a red bus.")
    assert hard_texts.negatives["swap"] == ["A red car stands next to an old bus."]


def test_a_positive_swap_keeps_the_words_and_only_ends_a_caption() -> None:
    assert make_hard_texts("a red car and a small dog").positives["swap"] == [
        "a small dog and a red car"
    ]
    # "on a mat" may belong to the cat alone.
    assert "swap" not in make_hard_texts("a black dog and a white cat on a mat").positives


@given(st.sampled_from(COLORS), st.sampled_from(COLORS), st.integers(0, 50))
def test_a_replaced_word_is_another_of_its_kind_or_its_synonym(
    color: str, other: str, seed: int
) -> None:
    caption = f"a {color} car near the {other} house"
    hard_texts = make_hard_texts(caption, seed)
    (negative,) = hard_texts.negatives["replace"]
    before, after = (re.findall(r"\w+", text) for text in (caption, negative))
    changed = [
        (a, b) for a, b in zip(before, after, strict=True) if a != b and {a, b} != {"a", "an"}
    ]
    assert len(changed) == 1
    old, new = changed[0]
    assert {old, new} <= set(COLORS)
    assert new not in before
    for positive in hard_texts.positives.get("replace", []):
        words = re.findall(r"\w+", positive)
        assert [(a, b) for a, b in zip(before, words, strict=True) if a not in (b, "a")] in (
            [[(color, SYNONYMS.get(color, ""))], [(other, SYNONYMS.get(other, ""))]]
        )


@pytest.mark.parametrize(
    "caption", ["a covered table", "a redwood floor", "blackboard and whiteboard", "Snow.", ""]
)
def test_parts_of_words_are_never_replaced(caption: str) -> None:
    hard_texts = make_hard_texts(caption)
    assert "replace" not in hard_texts.negatives
    assert "replace" not in hard_texts.positives


def test_the_command_adds_kinds_that_training_reads_and_keeps_those_that_are_there(
    tmp_path: Path,
) -> None:
    lines = [
        {"image": "a.png", "caption": "a red car and a small dog"},
        {"image": "b.png", "caption": "a blue house", "negatives": {"replace": ["a tall house"]}},
    ]
    (tmp_path / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    talk = succeed(
        "score hard-texts", tmp_path / "captions.jsonl", "--out", tmp_path / "hard.jsonl"
    ).stderr
    assert "2 captions, 2 with a negative and 2 with a positive" in talk
    first, second = map(json.loads, (tmp_path / "hard.jsonl").read_text().splitlines())
    assert first["image"] == "a.png"
    assert set(first["negatives"]) <= set(HARD_KINDS["negatives"])
    assert set(first["positives"]) <= set(HARD_KINDS["positives"])
    assert second["negatives"] == {"replace": ["a tall house"]}
    assert second["positives"] == {"replace": ["a sapphire house"]}


@pytest.mark.parametrize("line", ["a red car", '{"image": "a.png"}', "{", "[1]"])
def test_a_line_that_is_no_caption_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "captions.jsonl").write_text(
        '{"image": "a.png", "caption": "a red car"}\n' + line + "\n"
    )
    files = tmp_path / "captions.jsonl", "--out", tmp_path / "hard.jsonl"
    assert "Line 2 of" in refuse("not a line of a corpus", "score hard-texts", *files)
