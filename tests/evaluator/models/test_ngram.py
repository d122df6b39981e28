"""The word trigram against probabilities worked out by hand."""

import math

import pytest

from evaluator.models.ngram import NgramModel

TEXTS = ["a red cube", "a blue cube", "a red sphere and a blue cone", "red", "a red sphere"]


def test_the_trigram_is_a_distribution() -> None:
    model = NgramModel(TEXTS)
    words = {word for text in TEXTS for word in text.split()}
    for context in (["<s>", "<s>"], ["a", "red"], ["never", "seen"], ["<s>", "a"]):
        told = sum(model._probability([*context, word], 2, {}) for word in (*words, "</s>", "unknown"))
        assert told == pytest.approx(1)


def test_leaving_texts_out_is_as_if_they_had_never_been_there() -> None:
    left_out, rest = TEXTS[:2], TEXTS[2:]
    found = NgramModel(TEXTS).perplexities(TEXTS, [*left_out, "not there"])
    smaller = NgramModel(rest)
    smaller._words = NgramModel(TEXTS)._words  # the words stay known
    assert found == smaller.perplexities(TEXTS)
    assert NgramModel(TEXTS).perplexities(TEXTS[:1])[TEXTS[0]] < found[TEXTS[0]]


def test_a_trigram_counts_by_hand() -> None:
    """One word between start and end, seen in one text of two: 1/3 smoothed by (1/4 + 1)/3 and so on."""
    model = NgramModel(["x", "y"])
    first = last = 1 / 4
    for seen, all_seen in ((1, 4), (1, 2), (1, 2)):
        first = (seen + first) / (all_seen + 1)
    for seen, all_seen in ((2, 4), (1, 1), (1, 1)):
        last = (seen + last) / (all_seen + 1)
    assert model.perplexities(["x"])["x"] == pytest.approx(1 / math.sqrt(first * last))
