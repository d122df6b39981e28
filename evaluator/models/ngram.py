"""A word trigram: a language model that needs no download, fitted on texts without knowing which
are true."""

import math
import re
from collections import Counter
from collections.abc import Iterable

ORDER = 3
_STRENGTH = 1.0
"""Strength of the smoothing, as a number of occurrences."""
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|_+")
_START, _END = "<s>", "</s>"
Gram = tuple[str, ...]


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
        self._texts = set(texts)
        self._counts = self._count(self._texts)
        self._words = (
            len({token for text in self._texts for token in tokens(text)}) + 2
        )  # the end, and unknown words

    def perplexities(self, texts: Iterable[str], without: Iterable[str] = ()) -> dict[str, float]:
        """Perplexity per token of each text under the model of all texts except `without`; the end
        counts as a token."""
        left_out = self._count(set(without) & self._texts)
        return {text: self._perplexity(text, left_out) for text in set(texts)}

    @staticmethod
    def _count(texts: Iterable[str]) -> Counter[Gram]:
        """Occurrences of every n-gram, and of every context under the key (*context, "")."""
        counts: Counter[Gram] = Counter()
        for text in texts:
            padded = _padded(text)
            for i in range(ORDER - 1, len(padded)):
                for n in range(ORDER):
                    context = tuple(padded[i - n : i])
                    counts[(*context, padded[i])] += 1
                    counts[(*context, "")] += 1
        return counts

    def _perplexity(self, text: str, left_out: Counter[Gram]) -> float:
        padded = _padded(text)
        places = range(ORDER - 1, len(padded))
        return math.exp(
            -sum(math.log(self._probability(padded, i, left_out)) for i in places) / len(places)
        )

    def _probability(self, padded: list[str], i: int, left_out: Counter[Gram]) -> float:
        probability = 1 / self._words
        for n in range(ORDER):
            context = tuple(padded[i - n : i])
            seen = [
                self._counts.get(gram, 0) - left_out.get(gram, 0)
                for gram in ((*context, padded[i]), (*context, ""))
            ]
            probability = (seen[0] + _STRENGTH * probability) / (seen[1] + _STRENGTH)
        return probability


def _padded(text: str) -> list[str]:
    return [_START] * (ORDER - 1) + tokens(text) + [_END]
