"""Words and n-grams of a text, and how two texts differ in them."""

from collections import Counter

from evaluator.models.ngram import tokens


def words(text: str) -> list[str]:
    """The tokens that are not punctuation."""
    return [token for token in tokens(text) if token[0].isalnum()]


def ngrams(sequence: list[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each run of n tokens occurs."""
    return Counter(zip(*(sequence[i:] for i in range(n)), strict=False))


def overlap(a: str, b: str) -> float:
    """Jaccard similarity of the sets of words, 0..1; 1 for two texts without words.

    >>> overlap("a red cube", "a blue cube")
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
