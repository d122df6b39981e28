"""The blind test on pairs whose answer is known; clusters are never learned and tested at once."""

import numpy as np
import pytest
from scipy.sparse import vstack
from threadpoolctl import threadpool_limits

from evaluator.audits.blind import FOLDS, LEARNERS, blind_test, centre, give_aways
from evaluator.audits.features import Pairs, make_pairs


def _pairs(word: str, n: int = 60) -> Pairs:
    rng = np.random.default_rng(0)
    texts = [f"w{rng.integers(20)} w{rng.integers(20)}" for _ in range(n)]
    return make_pairs(
        texts, [f"{text} {word}".strip() for text in texts], [f"k{i // 2}" for i in range(n)], np.full((n, 2), np.nan)
    )


def test_a_word_of_the_negatives_decides_every_pair() -> None:
    pairs = _pairs("not")
    blind = blind_test(pairs, 0)
    assert blind.outcomes.tolist() == [1] * 60
    assert (blind.decisions > 0).all()
    assert sum(blind.learners.values()) == FOLDS
    assert give_aways(pairs)[0]["in_truth"] in (0, 1)
    assert "not" in {found["feature"] for found in give_aways(pairs)}


def test_equal_texts_are_undecided() -> None:
    pairs = _pairs("")
    assert blind_test(pairs, 0).outcomes.tolist() == [0.5] * 60
    assert give_aways(pairs) == []


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_do_not_depend_on_the_order_of_a_pair(name: str) -> None:
    pairs = _pairs("not")
    swapped = Pairs(-pairs.differences, pairs.names, pairs.false, pairs.true, pairs.clusters)
    train, test = np.arange(40), np.arange(40, 60)
    learn = LEARNERS[name]
    # learned on true texts that have the word less often, asked about a pair given the other way round
    both = Pairs(
        vstack([pairs.differences[train], swapped.differences[test]]).tocsr(),
        pairs.names,
        np.concatenate([pairs.true[train], swapped.true[test]]),
        np.concatenate([pairs.false[train], swapped.false[test]]),
        pairs.clusters,
    )
    with threadpool_limits(1):  # small fits are slow in several threads
        assert learn(both, train, test) == pytest.approx(-learn(pairs, train, test))


def test_the_centre_is_the_text_with_most_in_common() -> None:
    assert centre([("a b c", "a b x", "x b c")]) == 1
    assert centre([("a b x", "a b c", "x b c")]) < 1
    assert centre([("a b", "c d")]) == 0.5
