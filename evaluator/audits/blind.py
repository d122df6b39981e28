"""The blind test: a classifier without images learns to tell an item's true text from a false one,
by text features such as word counts and lengths."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluator.models.ngram import tokens

LEVEL = 0.025
DRAWS = 10_000
FOLDS = 5
FEWEST_CLUSTERS = 10
SHOWN = 10
_FREQUENT = 40
_UNDECIDED = 1e-9  # decisions nearer to 0 are undecided

WINDOW = 8
RAREST = 3
NUMBERS = (
    "words",
    "characters",
    "capital letters",
    "punctuation marks",
    "letters a word",
    "log perplexity",
)


def words(text: str) -> list[str]:
    """The tokens that are not punctuation."""
    return [token for token in tokens(text) if token[0].isalnum()]


def ngrams(sequence: list[str], n: int) -> Counter[tuple[str, ...]]:
    """Counts of the n-grams of a token sequence."""
    return Counter(zip(*(sequence[i:] for i in range(n)), strict=False))


def word_overlap(a: str, b: str) -> float:
    """Jaccard similarity of the sets of words, 0..1; 1 for two texts without words.

    >>> word_overlap("a red cube", "a blue cube")
    0.5
    """
    first, second = set(words(a)), set(words(b))
    return len(first & second) / len(first | second) if first | second else 1.0


def ngram_differences(a: str, b: str, n: int) -> int:
    """Number of n-grams in only one of the two texts, with multiplicity.

    >>> texts = "a red cube and a blue sphere", "a blue cube and a red sphere"
    >>> [ngram_differences(*texts, n) for n in (1, 2, 3)]
    [0, 4, 8]
    """
    first, second = ngrams(tokens(a), n), ngrams(tokens(b), n)
    return (first - second).total() + (second - first).total()


@dataclass(frozen=True)
class Pairs:
    """Pairs of a true and a false text.

    differences: sparse (n, f), feature counts of the true text minus the counts of the false text.
        names: the f
    features. true, false: float (n, k), the NUMBERS of each text. clusters: int (n,).
    """

    differences: Any
    names: list[str]
    true: np.ndarray
    false: np.ndarray
    clusters: np.ndarray


def text_features(text: str) -> dict[str, float]:
    """Counts by feature name: tokens; bigrams and trigrams with start and end marks; "a … b" (0 or
    1) for token b 2 to 8 places after a; lengths.

    >>> sorted(text_features("Red cube"))[:5]
    ['cube', 'cube ⟨end⟩', 'red', 'red cube', 'red cube ⟨end⟩']
    """
    found = tokens(text)
    padded = ["⟨start⟩", *found, "⟨end⟩"]
    counts: Counter[str] = Counter(found)
    for n in (2, 3):
        counts.update({" ".join(run): count for run, count in ngrams(padded, n).items()})
    orders = {(a, b) for i, a in enumerate(found) for b in found[i + 2 : i + WINDOW + 1]}
    counts.update(f"{a} … {b}" for a, b in orders)
    lengths = {
        "⟨words⟩": len(words(text)),
        "⟨tens of characters⟩": len(text) / 10,
        "⟨capital letters⟩": sum(map(str.isupper, text)),
    }
    return {**counts, **lengths}


def make_pairs(
    true: Sequence[str], false: Sequence[str], clusters: Sequence[str], perplexities: np.ndarray
) -> Pairs:
    """The features of pairs of texts. perplexities: (n, 2), true and false text, nan if unknown.

    Drops features that differ in fewer than three pairs.
    """
    from sklearn.feature_extraction import DictVectorizer

    vectorizer = DictVectorizer()
    counts = vectorizer.fit_transform([text_features(text) for text in (*true, *false)])
    differences = counts[: len(true)] - counts[len(true) :]
    differences.eliminate_zeros()
    kept = np.flatnonzero(
        np.bincount(differences.indices, minlength=differences.shape[1]) >= RAREST
    )
    logs = np.log(perplexities)
    return Pairs(
        differences[:, kept],
        [str(name) for name in vectorizer.get_feature_names_out()[kept]],
        _numbers(true, logs[:, 0]),
        _numbers(false, logs[:, 1]),
        np.unique(np.array(clusters), return_inverse=True)[1],
    )


def _numbers(texts: Sequence[str], logs: np.ndarray) -> np.ndarray:
    rows = []
    for text in texts:
        found = words(text)
        marks = len(tokens(text)) - len(found)
        rows.append(
            [
                len(found),
                len(text),
                sum(map(str.isupper, text)),
                marks,
                sum(map(len, found)) / max(1, len(found)),
            ]
        )
    return np.column_stack([np.array(rows, dtype=float).reshape(len(texts), -1), logs])


Learner = Callable[[Pairs, np.ndarray, np.ndarray], np.ndarray]
"""(pairs, training rows, test rows) → decisions, above 0 for the true text."""


@dataclass(frozen=True)
class Blind:
    """outcomes: (n,) 1 right, 0 wrong, ½ undecided. decisions: (n,) above 0 if right. learners:
    number of folds that chose each learner."""

    outcomes: np.ndarray
    decisions: np.ndarray
    learners: dict[str, int]


def blind_test(pairs: Pairs, seed: int) -> Blind:
    """Decide every pair by a learner trained on other clusters (5 folds).

    In each fold the learner with the best accuracy on a quarter of the training clusters, held back
    for the choice, is chosen; test pairs play no part. Learners are antisymmetric: the order of the
    two texts of a pair does not matter.
    """
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    seed %= 2**32  # scikit-learn's limit
    decisions = np.zeros(len(pairs.clusters))
    chosen: Counter[str] = Counter()
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    with threadpool_limits(
        1
    ):  # one thread is faster for small fits and fixes the order of additions
        for train, test in folds.split(decisions, groups=pairs.clusters):
            name = _choose(pairs, train, seed)
            chosen[name] += 1
            decisions[test] = LEARNERS[name](pairs, train, test)
    return Blind(
        _outcomes(decisions), decisions, {name: chosen[name] for name in LEARNERS if chosen[name]}
    )


def quick_test(pairs: Pairs, seed: int) -> Blind:
    """As `blind_test`, with one learner: the strongly regularised logistic regression on words,
    which is the fastest and seldom the worst."""
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    decisions = np.zeros(len(pairs.clusters))
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    with threadpool_limits(1):
        for train, test in folds.split(decisions, groups=pairs.clusters):
            decisions[test] = LEARNERS[QUICK](pairs, train, test)
    return Blind(_outcomes(decisions), decisions, {QUICK: FOLDS})


def p_above(outcomes: np.ndarray, clusters: np.ndarray, chance: float, seed: int = 0) -> float:
    """p of the mean of outcomes (n,) against `chance`, by a sign-flip test over clusters (n,); 1 if
    the mean is not above chance.

    Each of 10,000 draws flips the sign of each cluster's excess at random. p is the share of draws
    with
    |total| ≥ the observed total, or Hoeffding's bound if that is smaller. The test is two-sided
    because the learners of
    a cross-validation share most training pairs and find the same chance imbalance: a one-sided
    test would flag clean
    benchmarks at twice its level.
    """
    excess = np.bincount(
        np.unique(clusters, return_inverse=True)[1].reshape(-1), weights=outcomes - chance
    )
    total = excess.sum()
    if total <= 0:
        return 1.0
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(excess))
    reached = 0
    for start in range(0, DRAWS, rows):
        signs = rng.integers(0, 2, (min(rows, DRAWS - start), len(excess)), dtype=np.int8) * 2 - 1
        reached += int((np.abs(signs @ excess) >= total - 1e-9).sum())
    bound = float(
        2 * np.exp(-(total**2) / (2 * excess @ excess))
    )  # below what 10,000 draws can show
    return min((reached + 1) / (DRAWS + 1), bound)


def give_aways(pairs: Pairs) -> list[dict[str, Any]]:
    """The SHOWN features with the largest mean effect on the decision of a logistic regression on
    all pairs.

    weight: above 0 for features of true texts. pairs: how many pairs differ in the feature.
        in_truth: the share of
    these pairs whose true text has more of it.
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
    """Share of questions whose true text, the first, is most similar to the other texts (summed
    Jaccard index of words and bigrams); ties are divided. Chance is 1/(1 + negatives). It is 1 if
    every negative is one edit of the truth.
    """
    return float(np.mean([_centre(texts) for texts in questions]))


def _centre(texts: Sequence[str]) -> float:
    bags = [ngrams(found, 1) + ngrams(found, 2) for found in map(tokens, texts)]
    shared = [
        sum((a & b).total() / max(1, (a | b).total()) for b in bags if b is not a) for a in bags
    ]
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
    return LogisticRegression(C=strength, fit_intercept=False, max_iter=300, tol=1e-3).fit(
        both, truth
    )


def _trees(pairs: Pairs, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Gradient boosting on the numbers of both texts and on the features that differ most often."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    frequent = np.argsort(
        -np.bincount(pairs.differences[train].nonzero()[1], minlength=len(pairs.names)),
        kind="stable",
    )
    columns = np.sort(frequent[:_FREQUENT])
    forward, backward = _both_orders(pairs, train, columns)
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, early_stopping=False, random_state=0
    )
    trees.fit(np.concatenate([forward, backward]), np.repeat([1, 0], len(train)))
    forward, backward = _both_orders(pairs, test, columns)
    return np.asarray(trees.decision_function(forward) - trees.decision_function(backward))


def _both_orders(
    pairs: Pairs, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the trees with the true text first, and with the false text first."""
    known = ~np.isnan(pairs.true).all(axis=0)
    true, false = pairs.true[rows][:, known], pairs.false[rows][:, known]
    named = pairs.differences[rows][:, columns].toarray()
    return np.hstack([true, false, true - false, named]), np.hstack(
        [false, true, false - true, -named]
    )


QUICK = "words"
LEARNERS: dict[str, Learner] = {
    QUICK: partial(_words, strength=0.03),
    "words, weakly regularised": partial(_words, strength=1.0),
    "trees": _trees,
}
