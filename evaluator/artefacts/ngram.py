"""A small language model that needs no download: a trigram over the benchmark's own texts, blind to which are true."""

import math
from collections import Counter
from collections.abc import Iterable

from evaluator.artefacts.words import tokens

ORDER = 3
_START, _END = "<s>", "</s>"
Gram = tuple[str, ...]


class NgramModel:
    """Word trigram with Dirichlet smoothing down to the uniform distribution (MacKay and Peto 1995), fitted on texts.

    A distinct text counts once. `without` leaves texts out as if they had never been there, so that no text is judged
    by a model that has read it.
    """

    def __init__(self, texts: Iterable[str], strength: float = 1.0):
        self._strength = strength
        self._texts = set(texts)
        self._counts = self._count(self._texts)
        self._words = len({token for text in self._texts for token in tokens(text)}) + 2  # the end, and unknown words

    def perplexities(self, texts: Iterable[str], without: Iterable[str] = ()) -> dict[str, float]:
        """Perplexity a token (the end counts as one) of each text, under the model of all texts but those of `without`."""
        left_out = self._count(set(without) & self._texts)
        return {text: self._perplexity(text, left_out) for text in set(texts)}

    @staticmethod
    def _count(texts: Iterable[str]) -> Counter[Gram]:
        """Occurrences of every n-gram, and of every context as the n-gram followed by nothing: (*context, "")."""
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
        return math.exp(-sum(math.log(self._probability(padded, i, left_out)) for i in places) / len(places))

    def _probability(self, padded: list[str], i: int, left_out: Counter[Gram]) -> float:
        probability = 1 / self._words
        for n in range(ORDER):
            context = tuple(padded[i - n : i])
            seen = [
                self._counts.get(gram, 0) - left_out.get(gram, 0) for gram in ((*context, padded[i]), (*context, ""))
            ]
            probability = (seen[0] + self._strength * probability) / (seen[1] + self._strength)
        return probability


def _padded(text: str) -> list[str]:
    return [_START] * (ORDER - 1) + tokens(text) + [_END]
