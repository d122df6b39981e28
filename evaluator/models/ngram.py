"""A word trigram: a language model that needs no download, fitted on texts without knowing which
are true."""

import math
import re
from collections import Counter
from collections.abc import Iterable

ORDER = 3
"""Words of the longest n-gram."""
_STRENGTH = 1.0
"""Strength of the smoothing, as a number of occurrences."""
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|_+")
"""A word, also one with apostrophes or hyphens inside; or a punctuation mark."""
_START, _END = "<s>", "</s>"
"""Stand before the first and after the last word of a text."""
Gram = tuple[str, ...]
"""The words of an n-gram, or of a context and _ANY_WORD."""
_ANY_WORD = ""
"""Stands after a context in its count."""


def tokens(text: str) -> list[str]:
    """Words and punctuation marks, in lower case.

    >>> tokens("A dog's red-hot ball, please.")
    ['a', "dog's", 'red-hot', 'ball', ',', 'please', '.']
    """
    return _TOKEN.findall(text.lower())


class NgramModel:
    """Word trigram with Dirichlet smoothing down to the uniform distribution (MacKay and Peto
    1995), fitted on texts.

    Each distinct text counts once. Texts can be left out of the counts when scoring, so that no
    text is scored by a model fitted on it.
    """

    def __init__(self, texts: Iterable[str]):
        # Duplicates count once: how often a benchmark repeats a text says nothing about how usual
        # it is.
        self._texts = set(texts)
        self._counts = self._count(self._texts)
        vocabulary: set[str] = set()
        for text in self._texts:
            vocabulary.update(tokens(text))
        self._vocabulary_size = len(vocabulary) + 2  # the end, and unknown words

    def perplexities(self, texts: Iterable[str], without: Iterable[str] = ()) -> dict[str, float]:
        """Compute the perplexity per token of texts; the end counts as a token.

        Args:
            texts: The texts.
            without: Texts to leave out of the counts.

        Returns:
            Perplexity by text.
        """
        left_out = self._count(set(without) & self._texts)
        return {text: self._perplexity(text, left_out) for text in set(texts)}

    @staticmethod
    def _count(texts: Iterable[str]) -> Counter[Gram]:
        """Occurrences of every n-gram, and of every context."""
        counts: Counter[Gram] = Counter()
        for text in texts:
            padded = _pad(text)
            for i in range(ORDER - 1, len(padded)):
                # Every context of the word, from none to the longest.
                for length in range(ORDER):
                    context = tuple(padded[i - length : i])
                    counts[(*context, padded[i])] += 1
                    counts[(*context, _ANY_WORD)] += 1
        return counts

    def _perplexity(self, text: str, left_out: Counter[Gram]) -> float:
        padded = _pad(text)
        places = range(ORDER - 1, len(padded))
        logarithms = [math.log(self._probability(padded, i, left_out)) for i in places]
        return math.exp(-sum(logarithms) / len(places))

    def _probability(self, padded: list[str], i: int, left_out: Counter[Gram]) -> float:
        """The probability of token i after those before it.

        Begins with the uniform distribution. Each longer context adds its counts to the probability
        under the shorter one, which weighs as _STRENGTH occurrences.
        """
        probability = 1 / self._vocabulary_size
        for length in range(ORDER):
            context = tuple(padded[i - length : i])
            gram = (*context, padded[i])
            any_word = (*context, _ANY_WORD)
            gram_count = self._counts.get(gram, 0) - left_out.get(gram, 0)
            context_count = self._counts.get(any_word, 0) - left_out.get(any_word, 0)
            probability = (gram_count + _STRENGTH * probability) / (context_count + _STRENGTH)
        return probability


def _pad(text: str) -> list[str]:
    """The tokens with start and end marks, so that the first word has a whole context."""
    return [_START] * (ORDER - 1) + tokens(text) + [_END]
