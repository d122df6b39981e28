"""The features of pairs of texts: differences of counts, numbers of each text."""

import numpy as np
import pytest

from evaluator.audits.features import NUMBERS, make_pairs, text_features


def test_a_text_has_words_runs_orders_and_lengths() -> None:
    found = text_features("A red cube.")
    assert {"a", "red", "cube", ".", "⟨start⟩ a red", "red cube .", "a … cube", ". ⟨end⟩"} <= set(found)
    assert (found["⟨words⟩"], found["⟨tens of characters⟩"], found["⟨capital letters⟩"]) == (3, 1.1, 1)
    assert "cube … a" not in found


def test_pairs_hold_the_differences_that_are_not_rare() -> None:
    true, false = ["a red cube"] * 3 + ["a cone"], ["a blue cube"] * 3 + ["a torus"]
    pairs = make_pairs(true, false, ["k", "k", "l", "m"], np.full((4, 2), np.nan))
    columns = {name: pairs.differences[:, [i]].toarray().ravel().tolist() for i, name in enumerate(pairs.names)}
    assert (columns["red"], columns["blue"]) == ([1, 1, 1, 0], [-1, -1, -1, 0])
    assert not {"a", "cube", "cone", "torus"} & set(columns)
    assert pairs.clusters.tolist() == [0, 0, 1, 2]


def test_numbers_describe_each_text() -> None:
    perplexities = np.array([[np.e, 1.0]])
    pairs = make_pairs(["A red, red cube"], ["cubes"], ["k"], perplexities)
    assert dict(zip(NUMBERS, pairs.true[0], strict=True)) == pytest.approx(
        {
            "words": 4,
            "characters": 15,
            "capital letters": 1,
            "punctuation marks": 1,
            "letters a word": 11 / 4,
            "log perplexity": 1,
        }
    )
    assert pairs.false[0].tolist() == [1, 5, 0, 0, 5, 0]
