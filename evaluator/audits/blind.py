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
"""The level of the test, after the correction over kinds. On simulated clean benchmarks 1.5 to 3%
of kinds were called hackable (docs/audit.md)."""
DRAWS = 10_000
"""Draws of the sign-flip test."""
FOLDS = 5
"""Folds of the cross-validation over clusters."""
FEWEST_CLUSTERS = 10
"""Kinds with fewer clusters n are not judged: the smallest p of their sign-flip test, 2 / 2^n,
hardly survives the correction over kinds."""
MOST_GIVE_AWAYS = 10
"""How many features `give_aways` lists."""
WINDOW = 8
"""The most places between two words of an ordered pair: farther pairs are many and rare."""
RAREST = 3
"""Features that differ in fewer pairs are left out: nothing can be learnt from them."""
NUMBERS = (
    "words",
    "characters",
    "capital letters",
    "punctuation marks",
    "letters a word",
    "log perplexity",
)
"""The measures of a text that the trees see."""
_FREQUENT = 40
"""How many named features the trees see: those that differ most often."""
_UNDECIDED = 1e-9
"""Decisions nearer to 0 are undecided; also the difference below which two sums are equal."""
_SIGNS_AT_ONCE = 4_000_000
"""Signs that are drawn at once, which take 4 MB."""


def words(text: str) -> list[str]:
    """Split a text into words.

    Args:
        text: Any text.

    Returns:
        The tokens that are not punctuation.
    """
    return [token for token in tokens(text) if token[0].isalnum()]


def ngrams(sequence: list[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of a token sequence.

    Args:
        sequence: The tokens.
        n: Tokens in an n-gram.

    Returns:
        {n-gram: how often it occurs}.

    Example:
        >>> ngrams(["a", "b", "a", "b"], 2)[("a", "b")]
        2
    """
    # The sequence beside itself, shifted by 1 … n − 1; zip stops at the shortest.
    shifted = [sequence[i:] for i in range(n)]
    return Counter(zip(*shifted, strict=False))


def word_overlap(a: str, b: str) -> float:
    """Compare the words of two texts by their Jaccard index.

    Args:
        a: A text.
        b: Another text.

    Returns:
        The index in 0..1; 1 for two texts without words.

    Example:
        >>> word_overlap("a red cube", "a blue cube")
        0.5
    """
    first = set(words(a))
    second = set(words(b))
    if not first | second:
        return 1.0
    return len(first & second) / len(first | second)


def ngram_differences(a: str, b: str, n: int) -> int:
    """Count the n-grams that only one of two texts has.

    Args:
        a: A text.
        b: Another text.
        n: Tokens in an n-gram.

    Returns:
        Their number, with multiplicity.

    Example:
        >>> texts = "a red cube and a blue sphere", "a blue cube and a red sphere"
        >>> [ngram_differences(*texts, n) for n in (1, 2, 3)]
        [0, 4, 8]
    """
    first = ngrams(tokens(a), n)
    second = ngrams(tokens(b), n)
    return (first - second).total() + (second - first).total()


@dataclass(frozen=True, kw_only=True)
class TextPairs:
    """Pairs of a true and a false text, by their features."""

    differences: Any
    """Sparse (n, f): feature counts of the true text less the counts of the false text."""
    names: list[str]
    """The names of the f features."""
    true: np.ndarray
    """Float (n, k): the NUMBERS of each true text; nan for unknown perplexities."""
    false: np.ndarray
    """Float (n, k): the NUMBERS of each false text."""
    clusters: np.ndarray
    """Int (n,): the cluster of each pair. Pairs of one cluster are not independent."""


def text_features(text: str) -> dict[str, float]:
    """Count what a text-only model could go by.

    Args:
        text: A text.

    Returns:
        {feature: count} of tokens; bigrams and trigrams with start and end marks; "a … b" (0 or 1)
        for token b 2 to 8 places after a; lengths.

    Example:
        >>> sorted(text_features("Red cube"))[:5]
        ['cube', 'cube ⟨end⟩', 'red', 'red cube', 'red cube ⟨end⟩']
    """
    sequence = tokens(text)
    counts: Counter[str] = Counter(sequence)
    padded = ["⟨start⟩", *sequence, "⟨end⟩"]
    for n in (2, 3):
        for run, count in ngrams(padded, n).items():
            counts[" ".join(run)] += count
    ordered_pairs = set()
    for i, first in enumerate(sequence):
        # The next token is left out: the bigrams have it.
        for second in sequence[i + 2 : i + WINDOW + 1]:
            ordered_pairs.add((first, second))
    counts.update(f"{first} … {second}" for first, second in ordered_pairs)
    lengths = {
        "⟨words⟩": len(words(text)),
        # Tens keep the feature on the scale of the others, which the penalty treats alike.
        "⟨tens of characters⟩": len(text) / 10,
        "⟨capital letters⟩": sum(map(str.isupper, text)),
    }
    return {**counts, **lengths}


def make_pairs(
    true: Sequence[str],
    false: Sequence[str],
    *,
    clusters: Sequence[str],
    perplexities: np.ndarray,
) -> TextPairs:
    """Compute the features of pairs of texts.

    Args:
        true: The true text of each pair.
        false: The false text of each pair.
        clusters: The cluster of each pair.
        perplexities: (n, 2), of the true and the false text; nan if unknown.

    Returns:
        The pairs. Features that differ in fewer than three pairs are left out.
    """
    from sklearn.feature_extraction import DictVectorizer

    vectorizer = DictVectorizer()
    counts = vectorizer.fit_transform([text_features(text) for text in (*true, *false)])
    differences = counts[: len(true)] - counts[len(true) :]
    # Otherwise zeros that are stored would count as differences.
    differences.eliminate_zeros()
    frequency = np.bincount(differences.indices, minlength=differences.shape[1])
    columns = np.flatnonzero(frequency >= RAREST)
    names = vectorizer.get_feature_names_out()[columns]
    log_perplexities = np.log(perplexities)
    return TextPairs(
        differences=differences[:, columns],
        names=[str(name) for name in names],
        true=_measure(true, log_perplexities[:, 0]),
        false=_measure(false, log_perplexities[:, 1]),
        clusters=np.unique(np.array(clusters), return_inverse=True)[1],
    )


def _measure(texts: Sequence[str], log_perplexities: np.ndarray) -> np.ndarray:
    """The NUMBERS of texts, float (n, k)."""
    rows = []
    for text in texts:
        text_words = words(text)
        n_words = len(text_words)
        n_letters = sum(map(len, text_words))
        n_capitals = sum(map(str.isupper, text))
        n_marks = len(tokens(text)) - n_words
        rows.append([n_words, len(text), n_capitals, n_marks, n_letters / max(1, n_words)])
    numbers = np.array(rows, dtype=float).reshape(len(texts), -1)
    return np.column_stack([numbers, log_perplexities])


Learner = Callable[[TextPairs, np.ndarray, np.ndarray], np.ndarray]
"""(pairs, training rows, test rows) → decisions, above 0 for the true text."""


@dataclass(frozen=True)
class BlindResult:
    """What a blind test decided."""

    outcomes: np.ndarray
    """(n,): 1 right, 0 wrong, ½ undecided."""
    decisions: np.ndarray
    """(n,): above 0 if right, farther from 0 the clearer."""
    learners: dict[str, int]
    """{learner: the number of folds that chose it}."""


def blind_test(pairs: TextPairs, seed: int) -> BlindResult:
    """Decide every pair by a learner trained on other clusters.

    The pairs are cross-validated over clusters in FOLDS folds. In each fold the learner with the
    best accuracy on a quarter of the training clusters, held back for the choice, is chosen; test
    pairs play no part. Learners are antisymmetric: the order of the two texts of a pair does not
    matter.

    Args:
        pairs: The pairs, of at least FOLDS clusters.
        seed: The seed of the folds and of what is held back.

    Returns:
        The outcomes.
    """
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    seed %= 2**32  # scikit-learn's limit
    decisions = np.zeros(len(pairs.clusters))
    chosen: Counter[str] = Counter()
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    # One thread is faster for small fits and fixes the order of additions.
    with threadpool_limits(1):
        for train, test in folds.split(decisions, groups=pairs.clusters):
            name = _choose_learner(pairs, train, seed)
            chosen[name] += 1
            decisions[test] = LEARNERS[name](pairs, train, test)
    learners = {name: chosen[name] for name in LEARNERS if chosen[name]}
    return BlindResult(_outcomes(decisions), decisions, learners)


def quick_test(pairs: TextPairs, seed: int) -> BlindResult:
    """Decide every pair as `blind_test` does, with one learner: the strongly regularised logistic
    regression on words, which is the fastest and seldom the worst.

    Args:
        pairs: The pairs, of at least FOLDS clusters.
        seed: The seed of the folds.

    Returns:
        The outcomes.
    """
    from sklearn.model_selection import GroupKFold
    from threadpoolctl import threadpool_limits

    decisions = np.zeros(len(pairs.clusters))
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    with threadpool_limits(1):
        for train, test in folds.split(decisions, groups=pairs.clusters):
            decisions[test] = LEARNERS[QUICK](pairs, train, test)
    return BlindResult(_outcomes(decisions), decisions, {QUICK: FOLDS})


def p_above(outcomes: np.ndarray, clusters: np.ndarray, chance: float, seed: int = 0) -> float:
    """Test whether outcomes are above chance, by a sign-flip test over clusters.

    Each of 10,000 draws flips the sign of each cluster's excess over chance at random. p is the
    share of draws with |total| ≥ the observed total, or Hoeffding's bound if that is smaller. The
    test is two-sided because the learners of a cross-validation share most training pairs and find
    the same chance imbalance: a one-sided test would flag clean benchmarks at twice its level.

    Args:
        outcomes: (n,) in 0..1.
        clusters: (n,) the cluster of each.
        chance: The mean of outcomes by chance, in 0..1.
        seed: The seed of the draws.

    Returns:
        p; 1 if the mean is not above chance.

    Example:
        >>> p_above(np.ones(8), np.arange(8), 0.5) < 0.02
        True
    """
    cluster_rows = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    excess = np.bincount(cluster_rows, weights=outcomes - chance)
    total = excess.sum()
    if total <= 0:
        return 1.0

    # Draws come in blocks, so that memory does not grow with the number of clusters.
    rng = np.random.default_rng(seed)
    block = max(1, _SIGNS_AT_ONCE // len(excess))
    reached = 0
    for start in range(0, DRAWS, block):
        shape = (min(block, DRAWS - start), len(excess))
        signs = rng.integers(0, 2, shape, dtype=np.int8) * 2 - 1
        drawn_totals = np.abs(signs @ excess)
        # Draws that equal the total but for rounding reach it.
        reached += int((drawn_totals >= total - _UNDECIDED).sum())

    # The bound is for differences so clear that no draw reaches them.
    bound = float(2 * np.exp(-(total**2) / (2 * excess @ excess)))
    # The data itself counts as a draw, so that p is never 0.
    p = (reached + 1) / (DRAWS + 1)
    return min(p, bound)


def give_aways(pairs: TextPairs) -> list[dict[str, Any]]:
    """Find the features that give the true text away.

    Args:
        pairs: The pairs.

    Returns:
        The MOST_GIVE_AWAYS features with the largest mean effect on the decision of a logistic
        regression on all pairs. `weight` is above 0 for features of true texts; `pairs` is how many
        pairs differ in the feature; `in_truth` the share of these pairs whose true text has more of
        it.
    """
    if not pairs.names:
        return []
    weights = _fit_words(pairs, np.arange(len(pairs.clusters)), 0.1).coef_[0]
    table = pairs.differences.tocsc()
    mean_difference = np.asarray(np.abs(table).mean(axis=0))[0]
    effect = np.abs(weights) * mean_difference
    features = []
    for column in np.argsort(-effect, kind="stable")[:MOST_GIVE_AWAYS]:
        values = table[:, column]
        features.append(
            {
                "feature": pairs.names[column],
                "weight": float(weights[column]),
                "pairs": int(values.nnz),
                "in_truth": float((values.data > 0).mean()),
            }
        )
    return features


def centre(questions: Sequence[Sequence[str]]) -> float:
    """Measure how often the true text is the centre of a question's texts.

    It always is if every negative is one edit of the truth.

    Args:
        questions: The texts of each question, the true one first.

    Returns:
        The share of questions whose true text is most similar to the other texts, by the summed
        Jaccard index of words and bigrams; ties are divided. Chance is 1/(1 + negatives).

    Example:
        >>> centre([["a red cube", "a blue cube", "a red cone"]])
        1.0
    """
    return float(np.mean([_centre_share(texts) for texts in questions]))


def _centre_share(texts: Sequence[str]) -> float:
    """1 if the first text is the most similar to the others, 0 if not; a tie is divided."""
    bags = []
    for text in texts:
        sequence = tokens(text)
        bags.append(ngrams(sequence, 1) + ngrams(sequence, 2))
    similarities = []
    for bag in bags:
        similarity = 0.0
        for other in bags:
            if other is bag:
                continue
            n_shared = (bag & other).total()
            n_all = (bag | other).total()
            similarity += n_shared / max(1, n_all)
        similarities.append(similarity)
    is_best = [abs(value - max(similarities)) < _UNDECIDED for value in similarities]
    return is_best[0] / sum(is_best)


def _choose_learner(pairs: TextPairs, train: np.ndarray, seed: int) -> str:
    """The learner with the best accuracy on a quarter of the clusters of training rows."""
    from sklearn.model_selection import GroupShuffleSplit

    split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
    learn, held_back = next(split.split(train, groups=pairs.clusters[train]))
    accuracies = {}
    for name, learner in LEARNERS.items():
        decisions = learner(pairs, train[learn], train[held_back])
        accuracies[name] = float(_outcomes(decisions).mean())
    return max(accuracies, key=lambda name: accuracies[name])


def _outcomes(decisions: np.ndarray) -> np.ndarray:
    return np.where(np.abs(decisions) < _UNDECIDED, 0.5, decisions > 0)


def _decide_by_words(
    pairs: TextPairs, train: np.ndarray, test: np.ndarray, strength: float
) -> np.ndarray:
    """Logistic regression on the differences of named counts."""
    if not pairs.names:
        return np.zeros(len(test))
    model = _fit_words(pairs, train, strength)
    return np.asarray(model.decision_function(pairs.differences[test]))


def _fit_words(pairs: TextPairs, train: np.ndarray, strength: float) -> Any:
    """A logistic regression; `strength` is the inverse of its penalty.

    Each pair enters in both orders, and there is no intercept: so the model is antisymmetric.
    """
    from scipy.sparse import vstack
    from sklearn.linear_model import LogisticRegression

    forward = pairs.differences[train]
    both_orders = vstack([forward, -forward]).tocsr()
    truth = np.repeat([1, 0], len(train))
    model = LogisticRegression(C=strength, fit_intercept=False, max_iter=300, tol=1e-3)
    return model.fit(both_orders, truth)


def _decide_by_trees(pairs: TextPairs, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Gradient boosting on the numbers of both texts and on the features that differ most often."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    differing = pairs.differences[train].nonzero()[1]
    frequency = np.bincount(differing, minlength=len(pairs.names))
    most_frequent = np.argsort(-frequency, kind="stable")[:_FREQUENT]
    columns = np.sort(most_frequent)
    forward, backward = _both_orders(pairs, train, columns)
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, early_stopping=False, random_state=0
    )
    both_orders = np.concatenate([forward, backward])
    trees.fit(both_orders, np.repeat([1, 0], len(train)))
    # Trees are not antisymmetric, but the difference of both orders is.
    forward, backward = _both_orders(pairs, test, columns)
    return np.asarray(trees.decision_function(forward) - trees.decision_function(backward))


def _both_orders(
    pairs: TextPairs, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the trees with the true text first, and with the false text first."""
    # Without a language model, the column of perplexities is empty.
    is_known = ~np.isnan(pairs.true).all(axis=0)
    true = pairs.true[rows][:, is_known]
    false = pairs.false[rows][:, is_known]
    named = pairs.differences[rows][:, columns].toarray()
    forward = np.hstack([true, false, true - false, named])
    backward = np.hstack([false, true, false - true, -named])
    return forward, backward


QUICK = "words"
"""The learner of `quick_test`."""
LEARNERS: dict[str, Learner] = {
    QUICK: partial(_decide_by_words, strength=0.03),
    "words, weakly regularised": partial(_decide_by_words, strength=1.0),
    "trees": _decide_by_trees,
}
"""{name: learner} from which each fold chooses; the first of equally good ones."""
