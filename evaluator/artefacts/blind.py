"""The blind test: told two texts of an item, which one is true? Learned on other clusters, without any image."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluator.artefacts.features import Pairs

FOLDS = 5
FEWEST_CLUSTERS = 10
SHOWN = 10
_FREQUENT = 40
_EVEN = 1e-9  # decisions nearer to 0 than this are none

Learner = Callable[[Pairs, np.ndarray, np.ndarray], np.ndarray]
"""Learns on the pairs at the first places, and gives decisions on those at the second: above 0 for the true text."""


@dataclass(frozen=True)
class Blind:
    """outcomes: (n,) 1 right, 0 wrong, ½ undecided; decisions: (n,) above 0 where right; learners: chosen in how many folds."""

    outcomes: np.ndarray
    decisions: np.ndarray
    learners: dict[str, int]


def blind_test(pairs: Pairs, seed: int) -> Blind:
    """Decide every pair by a learner of other clusters (5 folds).

    Which learner is chosen within the learning folds, on a quarter of their clusters held back; so the choice costs no
    honesty. Learners see each pair both ways round and are antisymmetric: which text is told first never matters.
    """
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    seed %= 2**32  # more is refused there
    decisions = np.zeros(len(pairs.clusters))
    chosen: Counter[str] = Counter()
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    with threadpool_limits(1):  # fits this small lose by sharing, and one thread adds in one order
        for train, test in folds.split(decisions, groups=pairs.clusters):
            name = _choose(pairs, train, seed)
            chosen[name] += 1
            decisions[test] = LEARNERS[name](pairs, train, test)
    return Blind(_outcomes(decisions), decisions, {name: chosen[name] for name in LEARNERS if chosen[name]})


def give_aways(pairs: Pairs) -> list[dict[str, Any]]:
    """The features that tell most: largest mean effect on the decision of a logistic regression on all pairs.

    `weight` above 0 speaks for a true text; `pairs` differ in the feature, of which `in_truth` is the share where the
    true text has more of it.
    """
    if not pairs.names:
        return []
    weights = _fit_words(pairs, np.arange(len(pairs.clusters)), 0.1).coef_[0]
    table = pairs.differences.tocsc()
    effect = np.abs(weights) * np.asarray(np.abs(table).mean(axis=0))[0]
    return [
        {
            "feature": pairs.names[i], "weight": float(weights[i]), "pairs": int(table[:, i].nnz),
            "in_truth": float((table[:, i].data > 0).mean()),
        }
        for i in np.argsort(-effect, kind="stable")[:SHOWN]
    ]  # fmt: skip


def centre(questions: Sequence[Sequence[str]]) -> float:
    """Share of questions (true text first, then the false ones) whose true text shares most words and runs of words with
    the others, ties divided: 1/(1 + negatives) by chance, 1 where every negative is one step from the truth.
    """
    return float(np.mean([_centre(texts) for texts in questions]))


def _centre(texts: Sequence[str]) -> float:
    from evaluator.artefacts.words import ngrams
    from evaluator.models.ngram import tokens

    bags = [ngrams(found, 1) + ngrams(found, 2) for found in map(tokens, texts)]
    shared = [sum((a & b).total() / max(1, (a | b).total()) for b in bags if b is not a) for a in bags]
    best = [abs(value - max(shared)) < _EVEN for value in shared]
    return best[0] / sum(best)


def _choose(pairs: Pairs, train: np.ndarray, seed: int) -> str:
    from sklearn.model_selection import GroupShuffleSplit

    split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
    learn, held_back = next(split.split(train, groups=pairs.clusters[train]))
    scores = {
        name: float(_outcomes(learner(pairs, train[learn], train[held_back])).mean())
        for name, learner in LEARNERS.items()
    }
    return max(scores, key=lambda name: scores[name])


def _outcomes(decisions: np.ndarray) -> np.ndarray:
    return np.where(np.abs(decisions) < _EVEN, 0.5, decisions > 0)


def _words(pairs: Pairs, train: np.ndarray, test: np.ndarray, strength: float) -> np.ndarray:
    """Logistic regression on the differences of named counts."""
    if not pairs.names:
        return np.zeros(len(test))
    return np.asarray(_fit_words(pairs, train, strength).decision_function(pairs.differences[test]))


def _fit_words(pairs: Pairs, train: np.ndarray, strength: float) -> Any:
    from scipy.sparse import vstack
    from sklearn.linear_model import LogisticRegression

    there = pairs.differences[train]
    both, truth = vstack([there, -there]).tocsr(), np.repeat([1, 0], len(train))
    return LogisticRegression(C=strength, fit_intercept=False, max_iter=300, tol=1e-3).fit(both, truth)


def _trees(pairs: Pairs, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Gradient boosting on the numbers of both texts and on the features that differ most often."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    often = np.argsort(-np.bincount(pairs.differences[train].nonzero()[1], minlength=len(pairs.names)), kind="stable")
    columns = np.sort(often[:_FREQUENT])
    there, back = _both_ways(pairs, train, columns)
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, early_stopping=False, random_state=0
    )
    trees.fit(np.concatenate([there, back]), np.repeat([1, 0], len(train)))
    there, back = _both_ways(pairs, test, columns)
    return np.asarray(trees.decision_function(there) - trees.decision_function(back))


def _both_ways(pairs: Pairs, places: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the trees with the true text first, and with the false text first."""
    known = ~np.isnan(pairs.true).all(axis=0)
    true, false = pairs.true[places][:, known], pairs.false[places][:, known]
    named = pairs.differences[places][:, columns].toarray()
    return np.hstack([true, false, true - false, named]), np.hstack([false, true, false - true, -named])


LEARNERS: dict[str, Learner] = {
    "words": partial(_words, strength=0.03),
    "words, weakly held": partial(_words, strength=1.0),
    "trees": _trees,
}
