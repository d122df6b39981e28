"""The blind test on pairs whose answer is known, the features that it learns from, and the size and
p of effects."""

import itertools

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from evaluator.audits.audit import rank_biserial, share_lower
from evaluator.audits.blind import (
    FOLDS,
    LEARNERS,
    NUMBERS,
    TextPairs,
    blind_test,
    centre,
    give_aways,
    make_pairs,
    ngram_differences,
    p_above,
    text_features,
    word_overlap,
    words,
)


def _pairs(word: str, n: int = 60) -> TextPairs:
    rng = np.random.default_rng(0)
    texts = [f"w{rng.integers(20)} w{rng.integers(20)}" for _ in range(n)]
    return make_pairs(
        texts,
        [f"{text} {word}".strip() for text in texts],
        clusters=[f"k{i // 2}" for i in range(n)],
        perplexities=np.full((n, 2), np.nan),
    )


def test_a_word_of_the_negatives_decides_every_pair() -> None:
    pairs = _pairs("not")
    blind = blind_test(pairs, 0)
    assert blind.outcomes.tolist() == [1] * 60
    assert (blind.decisions > 0).all()
    assert sum(blind.learners.values()) == FOLDS
    assert give_aways(pairs)[0]["in_truth"] in (0, 1)
    assert "not" in {feature["feature"] for feature in give_aways(pairs)}


def test_equal_texts_are_undecided() -> None:
    pairs = _pairs("")
    assert blind_test(pairs, 0).outcomes.tolist() == [0.5] * 60
    assert give_aways(pairs) == []


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_do_not_depend_on_the_order_of_a_pair(name: str) -> None:
    pairs = _pairs("not")
    train, test = np.arange(40), np.arange(40, 60)
    # learned on true texts that have the word less often, asked about a pair given the other way
    # round
    is_reversed = (np.arange(60) >= 40)[:, None]
    true = np.where(is_reversed, pairs.false, pairs.true)
    false = np.where(is_reversed, pairs.true, pairs.false)
    both = TextPairs(
        differences=pairs.differences.multiply(1 - 2 * is_reversed).tocsr(),
        names=pairs.names,
        true=true,
        false=false,
        clusters=pairs.clusters,
    )
    with threadpool_limits(1):  # small fits are slow in several threads
        assert LEARNERS[name](both, train, test) == pytest.approx(
            -LEARNERS[name](pairs, train, test)
        )


def test_the_centre_is_the_text_with_most_in_common() -> None:
    assert centre([("a b c", "a b x", "x b c")]) == 1
    assert centre([("a b x", "a b c", "x b c")]) < 1
    assert centre([("a b", "c d")]) == 0.5


def test_a_text_has_words_runs_orders_and_lengths() -> None:
    features = text_features("A red cube.")
    assert {"a", "red", "cube", ".", "⟨start⟩ a red", "red cube .", "a … cube", ". ⟨end⟩"} <= set(
        features
    )
    assert (
        features["⟨words⟩"],
        features["⟨tens of characters⟩"],
        features["⟨capital letters⟩"],
    ) == (
        3,
        1.1,
        1,
    )
    assert "cube … a" not in features


def test_pairs_hold_the_differences_that_are_not_rare() -> None:
    true, false = ["a red cube"] * 3 + ["a cone"], ["a blue cube"] * 3 + ["a torus"]
    pairs = make_pairs(
        true, false, clusters=["k", "k", "l", "m"], perplexities=np.full((4, 2), np.nan)
    )
    columns = {
        name: pairs.differences[:, [i]].toarray().ravel().tolist()
        for i, name in enumerate(pairs.names)
    }
    assert (columns["red"], columns["blue"]) == ([1, 1, 1, 0], [-1, -1, -1, 0])
    assert not {"a", "cube", "cone", "torus"} & set(columns)
    assert pairs.clusters.tolist() == [0, 0, 1, 2]


def test_numbers_describe_each_text() -> None:
    perplexities = np.array([[np.e, 1.0]])
    pairs = make_pairs(["A red, red cube"], ["cubes"], clusters=["k"], perplexities=perplexities)
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


def test_words_and_how_texts_differ() -> None:
    assert words("It's a red-hot, 2nd cube.") == ["it's", "a", "red-hot", "2nd", "cube"]
    assert (word_overlap("A cube", "a CUBE."), word_overlap("", "!"), word_overlap("a", "b")) == (
        1,
        1,
        0,
    )
    assert [ngram_differences("a a b", "a b b", n) for n in (1, 2, 3)] == [2, 2, 2]


def test_p_is_that_of_all_changes_of_sign() -> None:
    rng = np.random.default_rng(0)
    outcomes, clusters = rng.random(30) < 0.65, np.repeat(np.arange(10), 3)
    excess = np.bincount(clusters, outcomes - 0.5)
    every = (
        np.abs(np.array(list(itertools.product([-1, 1], repeat=10))) @ excess)
        >= excess.sum() - 1e-9
    )
    assert p_above(outcomes.astype(float), clusters, 0.5) == pytest.approx(every.mean(), abs=0.015)
    assert p_above(1.0 - outcomes, clusters, 0.5) == 1
    assert p_above(np.ones(400), np.arange(400), 0.5) == pytest.approx(2 * np.exp(-200))
    uneven = np.repeat(np.arange(20), np.arange(20) ** 3 + 1)
    assert p_above(np.ones(len(uneven)), uneven, 0.5) < 0.001


def test_r_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        true, false = (
            rng.integers(0, 9, rng.integers(1, 40)),
            rng.integers(2, 12, rng.integers(1, 40)),
        )
        u = stats.mannwhitneyu(true, false).statistic
        assert rank_biserial(true, false) == pytest.approx(1 - 2 * u / (len(true) * len(false)))


def test_the_share_of_lower_numbers_counts_ties_half() -> None:
    assert share_lower(np.array([1, 2, 3, 4]), np.array([2, 2, 2, 2])) == 0.375
