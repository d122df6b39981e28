"""The features of a pair of texts: differences of named counts, and numbers that describe each text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.models.ngram import tokens


def words(text: str) -> list[str]:
    """The tokens that are not punctuation."""
    return [token for token in tokens(text) if token[0].isalnum()]


def ngrams(sequence: list[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each run of n tokens occurs."""
    return Counter(zip(*(sequence[i:] for i in range(n)), strict=False))


def word_overlap(a: str, b: str) -> float:
    """Jaccard similarity of the sets of words, 0..1; 1 for two texts without words.

    >>> word_overlap("a red cube", "a blue cube")
    0.5
    """
    first, second = set(words(a)), set(words(b))
    return len(first & second) / len(first | second) if first | second else 1.0


def ngram_differences(a: str, b: str, n: int) -> int:
    """How many n-grams only one of two texts has, with multiplicity.

    >>> [ngram_differences("a red cube and a blue sphere", "a blue cube and a red sphere", n) for n in (1, 2, 3)]
    [0, 4, 8]
    """
    first, second = ngrams(tokens(a), n), ngrams(tokens(b), n)
    return (first - second).total() + (second - first).total()


WINDOW = 8
RAREST = 3
NUMBERS = ("words", "characters", "capital letters", "punctuation marks", "letters a word", "log perplexity")


@dataclass(frozen=True)
class Pairs:
    """Pairs of a true and a false text.

    differences: sparse (n, f), count of each named feature in the true text minus that in the false one. true, false:
    float (n, k), NUMBERS of each text. clusters: (n,).
    """

    differences: Any
    names: list[str]
    true: np.ndarray
    false: np.ndarray
    clusters: np.ndarray


def text_features(text: str) -> dict[str, float]:
    """Named counts: words and marks, runs of two and three with the text's start and end, "a … b" for two words in that
    order within eight, and lengths.

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


def make_pairs(true: Sequence[str], false: Sequence[str], clusters: Sequence[str], perplexities: np.ndarray) -> Pairs:
    """The features of pairs of texts; `perplexities` is (n, 2), of the true and of the false text, nan where unknown.

    A feature that differs in fewer than three pairs is left out.
    """
    from sklearn.feature_extraction import DictVectorizer

    vectorizer = DictVectorizer()
    counts = vectorizer.fit_transform([text_features(text) for text in (*true, *false)])
    differences = counts[: len(true)] - counts[len(true) :]
    differences.eliminate_zeros()
    kept = np.flatnonzero(np.bincount(differences.indices, minlength=differences.shape[1]) >= RAREST)
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
            [len(found), len(text), sum(map(str.isupper, text)), marks, sum(map(len, found)) / max(1, len(found))]
        )
    return np.column_stack([np.array(rows, dtype=float).reshape(len(texts), -1), logs])
