"""`blind:` baselines, which never see the image: what they gain above chance, a benchmark gives away in its words.

`blind:ngram`, `blind:lm:FOLDER_OR_NAME`, `blind:length`. A text gets the same score beside every image.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from evaluator.models.contracts import fingerprints
from evaluator.models.ngram import ORDER, NgramModel
from generator.dataset.errors import UserError, did_you_mean

KINDS = ("ngram", "length", "lm")


class BlindScorer(ABC):
    """A PairScorer of texts alone. Each text is scored once, however many images it stands beside."""

    passes = 0
    channels: tuple[str, ...]
    key: str

    def __init__(self, weights: str, **info: Any):
        self._known: dict[str, float] = {}
        self.info: dict[str, Any] = {
            "weights": weights, "preprocessing": "none: images are not read", "activation": "none", "parameters": 0,
            "precision": "float64", "device": "cpu", "text_length": None, **info,
        }  # fmt: skip

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Fingerprints of the whole texts, int64 (n, 4), so that different texts of equal score count as ties."""
        return fingerprints(text.encode() for text in texts)

    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        if new := sorted({text for _, text in pairs} - self._known.keys()):
            self._known.update(zip(new, self._score(new), strict=True))
        return np.array([[self._known[text]] for _, text in pairs], dtype=np.float32).reshape(-1, 1)

    @abstractmethod
    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        """Scores of distinct texts; NaN for texts that cannot be scored."""


class LengthScorer(BlindScorer):
    """Minus the number of characters: the shorter text wins. Where the longer one would win, this one loses."""

    channels = ("characters_negated",)

    def __init__(self) -> None:
        super().__init__("none")
        self.key = "blind-length-1"

    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        return [-float(len(text)) for text in texts]


class NgramScorer(BlindScorer):
    """Mean log-likelihood per token under a word trigram (ngram.py) of all other texts of the run.

    `fit_texts` gives the texts, true and false alike. Each text is scored by a model that has not read it.
    """

    channels = ("log_likelihood",)

    def __init__(self) -> None:
        super().__init__("none", order=ORDER, fitted_on="all other texts of the run, true and false alike")
        self._model: NgramModel | None = None

    def fit_texts(self, texts: Sequence[str]) -> None:
        """As FitsTexts.fit_texts."""
        distinct = sorted(set(texts))
        self._known = {}
        self._model = NgramModel(distinct)
        self.info["fitted_texts"] = len(distinct)
        self.key = "blind-ngram-" + hashlib.sha256("\0".join(distinct).encode()).hexdigest()[:16]

    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        if self._model is None:
            raise RuntimeError("fit_texts comes before score_pairs")
        return [-float(np.log(self._model.perplexities([text], [text])[text])) for text in texts]


class LanguageModelScorer(BlindScorer):
    """Mean log-likelihood per token under a causal language model (causal_lm.py)."""

    channels = ("log_likelihood",)

    def __init__(self, name: str, device: str | None):
        from evaluator.models.causal_lm import CausalLikelihood

        self._likelihood = CausalLikelihood(name, device, "blind:lm:")
        super().__init__(name)
        self.info |= {**self._likelihood.info, "preprocessing": self.info["preprocessing"]}
        self.key = self._likelihood.key

    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        scores: list[float] = self._likelihood.mean_log_likelihoods(texts).tolist()
        return scores


def load_blind(name: str, device: str | None) -> BlindScorer:
    """Load `ngram`, `length` or `lm:FOLDER_OR_NAME`. Raises UserError for other names and for models that do not exist."""
    kind, _, rest = name.partition(":")
    if kind == "lm":
        if not rest:
            raise UserError(
                "blind:lm names no language model: add : and a folder or a name on the Hub, such as blind:lm:openai-community/gpt2."
            )
        return LanguageModelScorer(rest, device)
    if name not in KINDS:
        raise UserError(f"Unknown blind model '{name}': {did_you_mean(kind, list(KINDS))}")
    return {"ngram": NgramScorer, "length": LengthScorer}[kind]()
