"""The blind test: a classifier learns, without any image, to tell the true text of an item from a false one."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluator.audits.features import Pairs

LEVEL = 0.025
DRAWS = 10_000
FOLDS = 5
FEWEST_CLUSTERS = 10
SHOWN = 10
_FREQUENT = 40
_UNDECIDED = 1e-9  # a decision nearer to 0 is none

Learner = Callable[[Pairs, np.ndarray, np.ndarray], np.ndarray]
"""(pairs, rows to learn from, rows to decide) → decisions, above 0 for the true text."""


@dataclass(frozen=True)
class Blind:
    """outcomes: (n,) 1 right, 0 wrong, ½ undecided; decisions: (n,) above 0 where right; learners: folds that chose
    each."""

    outcomes: np.ndarray
    decisions: np.ndarray
    learners: dict[str, int]


def blind_test(pairs: Pairs, seed: int) -> Blind:
    """Decide every pair by a learner trained on other clusters (5 folds).

    The learner is chosen within the training folds, on a quarter of their clusters held back, so that the choice is not
    made on the tested pairs. Learners are antisymmetric: the order of the two texts of a pair does not matter.
    """
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    seed %= 2**32  # scikit-learn's limit
    decisions = np.zeros(len(pairs.clusters))
    chosen: Counter[str] = Counter()
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    with threadpool_limits(1):  # small fits are faster in one thread, which also always adds in the same order
        for train, test in folds.split(decisions, groups=pairs.clusters):
            name = _choose(pairs, train, seed)
            chosen[name] += 1
            decisions[test] = LEARNERS[name](pairs, train, test)
    return Blind(_outcomes(decisions), decisions, {name: chosen[name] for name in LEARNERS if chosen[name]})


def p_above(outcomes: np.ndarray, clusters: np.ndarray, chance: float, seed: int = 0) -> float:
    """p of a mean of outcomes (n,) above `chance`, by a sign-flip test over clusters (n,). 1 for a mean at or below
    chance.

    The sign of each cluster's excess is flipped at random in 10,000 draws; p is the share of draws with at least the
    observed total on either side, or Hoeffding's bound where that is smaller. The test is two-sided because the
    learners of a cross-validation share most of their pairs and all find the same chance imbalance: a one-sided test
    would accuse twice as many clean benchmarks as its level allows.
    """
    excess = np.bincount(np.unique(clusters, return_inverse=True)[1].reshape(-1), weights=outcomes - chance)
    total = excess.sum()
    if total <= 0:
        return 1.0
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(excess))
    reached = 0
    for start in range(0, DRAWS, rows):
        signs = rng.integers(0, 2, (min(rows, DRAWS - start), len(excess)), dtype=np.int8) * 2 - 1
        reached += int((np.abs(signs @ excess) >= total - 1e-9).sum())
    bound = float(2 * np.exp(-(total**2) / (2 * excess @ excess)))  # below what 10,000 draws can show
    return min((reached + 1) / (DRAWS + 1), bound)


def give_aways(pairs: Pairs) -> list[dict[str, Any]]:
    """The most telling features: largest mean effect on the decision of a logistic regression on all pairs.

    weight: above 0 for features of true texts. pairs: how many pairs differ in the feature. in_truth: the share of
    these whose true text has more of it.
    """
    if not pairs.names:
        return []
    weights = _fit_words(pairs, np.arange(len(pairs.clusters)), 0.1).coef_[0]
    table = pairs.differences.tocsc()
    effect = np.abs(weights) * np.asarray(np.abs(table).mean(axis=0))[0]
    return [
        {
            "feature": pairs.names[i],
            "weight": float(weights[i]),
            "pairs": int(table[:, i].nnz),
            "in_truth": float((table[:, i].data > 0).mean()),
        }
        for i in np.argsort(-effect, kind="stable")[:SHOWN]
    ]


def centre(questions: Sequence[Sequence[str]]) -> float:
    """Share of questions (true text first, then the false ones) whose true text has the most words and bigrams in
    common with the other texts; ties are divided. 1/(1 + negatives) by chance, 1 where every negative is one edit of
    the truth.
    """
    return float(np.mean([_centre(texts) for texts in questions]))


def _centre(texts: Sequence[str]) -> float:
    from evaluator.audits.features import ngrams
    from evaluator.models.ngram import tokens

    bags = [ngrams(found, 1) + ngrams(found, 2) for found in map(tokens, texts)]
    shared = [sum((a & b).total() / max(1, (a | b).total()) for b in bags if b is not a) for a in bags]
    best = [abs(value - max(shared)) < _UNDECIDED for value in shared]
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
    return np.where(np.abs(decisions) < _UNDECIDED, 0.5, decisions > 0)


def _words(pairs: Pairs, train: np.ndarray, test: np.ndarray, strength: float) -> np.ndarray:
    """Logistic regression on the differences of named counts."""
    if not pairs.names:
        return np.zeros(len(test))
    return np.asarray(_fit_words(pairs, train, strength).decision_function(pairs.differences[test]))


def _fit_words(pairs: Pairs, train: np.ndarray, strength: float) -> Any:
    from scipy.sparse import vstack
    from sklearn.linear_model import LogisticRegression

    forward = pairs.differences[train]
    both, truth = vstack([forward, -forward]).tocsr(), np.repeat([1, 0], len(train))
    return LogisticRegression(C=strength, fit_intercept=False, max_iter=300, tol=1e-3).fit(both, truth)


def _trees(pairs: Pairs, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Gradient boosting on the numbers of both texts and on the features that differ most often."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    frequent = np.argsort(
        -np.bincount(pairs.differences[train].nonzero()[1], minlength=len(pairs.names)), kind="stable"
    )
    columns = np.sort(frequent[:_FREQUENT])
    forward, backward = _both_orders(pairs, train, columns)
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, early_stopping=False, random_state=0
    )
    trees.fit(np.concatenate([forward, backward]), np.repeat([1, 0], len(train)))
    forward, backward = _both_orders(pairs, test, columns)
    return np.asarray(trees.decision_function(forward) - trees.decision_function(backward))


def _both_orders(pairs: Pairs, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the trees with the true text first, and with the false text first."""
    known = ~np.isnan(pairs.true).all(axis=0)
    true, false = pairs.true[rows][:, known], pairs.false[rows][:, known]
    named = pairs.differences[rows][:, columns].toarray()
    return np.hstack([true, false, true - false, named]), np.hstack([false, true, false - true, -named])


LEARNERS: dict[str, Learner] = {
    "words": partial(_words, strength=0.03),
    "words, weakly regularised": partial(_words, strength=1.0),
    "trees": _trees,
}
