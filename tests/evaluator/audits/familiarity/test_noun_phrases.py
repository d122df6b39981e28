"""Noun phrases of captions, against phrases labelled by hand."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.noun_phrases import NounPhrases
from evaluator.audits.familiarity.reading import of_caption, of_phrase

EXTRACT = NounPhrases()
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("caption", "phrases"),
    [
        ("a small white dog on a red couch", ["small white dog", "red couch"]),
        ("A black and white cat, sleeping.", ["black white cat"]),
        ("Two men in front of the dog's house", ["men", "dog", "house"]),
        ("a man riding a horse drawn carriage", ["man", "horse drawn carriage"]),
        ("", []),
        ("they are there", []),
    ],
)
def test_phrases_are_nouns_with_what_stands_before_them(caption: str, phrases: list[str]) -> None:
    assert EXTRACT(caption) == phrases


def _shares(name: str) -> dict[str, float]:
    """Precision and recall of phrases and of bindings over labelled captions."""
    counts: Counter[str] = Counter()
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        given, found = Counter(phrase.lower() for phrase in row["phrases"]), Counter(EXTRACT(row["caption"]))
        counts.update(both=(given & found).total(), given=given.total(), found=found.total())
        bindings = (
            {each for phrase in row["phrases"] for each in of_phrase(phrase)},
            set(of_caption(row["caption"], EXTRACT)),
        )
        counts.update(
            both_bindings=len(bindings[0] & bindings[1]),
            given_bindings=len(bindings[0]),
            found_bindings=len(bindings[1]),
        )
    return {
        "precision": counts["both"] / counts["found"],
        "recall": counts["both"] / counts["given"],
        "binding precision": counts["both_bindings"] / counts["found_bindings"],
        "binding recall": counts["both_bindings"] / counts["given_bindings"],
        "phrases": counts["given"],
    }


def test_phrases_of_captions_that_no_rule_was_made_for_are_found() -> None:
    shares = _shares("held_out_captions.jsonl")
    assert shares["phrases"] >= 300
    assert shares["precision"] > 0.95
    assert shares["recall"] > 0.94
    assert shares["binding precision"] > 0.94
    assert shares["binding recall"] > 0.9


def test_phrases_of_the_captions_that_rules_were_made_for_are_found() -> None:
    shares = _shares("labelled_captions.jsonl")
    assert shares["phrases"] >= 300
    assert min(shares["precision"], shares["recall"]) > 0.97


@given(st.text(max_size=200))
def test_any_text_has_phrases_of_its_words(text: str) -> None:
    for phrase in EXTRACT(text):
        assert phrase
        assert all(word in text.lower().replace("’", "'") for word in phrase.split())
