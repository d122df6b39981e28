"""`blind:` baselines that never look at the image: what they gain, a benchmark gives away in its words.

`blind:ngram`, `blind:lm:FOLDER_OR_NAME`, `blind:length`. They score a text alike beside every image.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from evaluator.artefacts.ngram import ORDER, NgramModel
from evaluator.models.registry import fingerprints
from generator.dataset.errors import UserError, did_you_mean

KINDS = ("ngram", "length", "lm")
BATCH = 32


class BlindScorer(ABC):
    """A PairScorer (registry.py) of texts alone. Each text is scored once, however many images it stands beside."""

    passes = 0
    channels: tuple[str, ...]
    key: str

    def __init__(self, weights: str, **info: Any):
        self._known: dict[str, float] = {}
        told = {"activation": "none", "parameters": 0, "precision": "float64", "device": "cpu", "text_length": None}
        self.info: dict[str, Any] = {"weights": weights, "preprocessing": "none: images are not read", **told, **info}

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """A digest of each whole text, int64 (n, 4): nothing is cut off, and equal scores of different texts are ties."""
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
        """Scores of distinct texts; nan for what cannot be scored."""


class LengthScorer(BlindScorer):
    """The shorter text wins; the share of items that the longer one would win is what is neither won nor tied."""

    channels = ("characters_negated",)

    def __init__(self) -> None:
        super().__init__("none")
        self.key = "blind-length-1"

    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        return [-float(len(text)) for text in texts]


class NgramScorer(BlindScorer):
    """Mean log-likelihood a token under a word trigram of all other texts of the run (artefacts/ngram.py).

    The texts are given by `fit_texts`, true and false alike; each is judged by a model that has not read it.
    """

    channels = ("log_likelihood",)

    def __init__(self) -> None:
        super().__init__("none", order=ORDER, fitted_on="all other texts of the run, true and false alike")
        self._model: NgramModel | None = None

    def fit_texts(self, texts: Sequence[str]) -> None:
        """As FitsTexts.fit_texts: fits the trigram."""
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
    """Mean log-likelihood a token under a causal language model, as `score audit` measures it; nan for texts that are
    longer than the model reads, or that have no token to score."""

    channels = ("log_likelihood",)

    def __init__(self, name: str, device: str | None):
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as TYPES

        from evaluator.models.pretrained import load_pretrained

        kinds = dict.fromkeys(TYPES, "AutoModelForCausalLM")
        loaded = load_pretrained(name, device, "blind:lm", kinds, "AutoTokenizer")
        super().__init__(name)
        self._model, self._tokenizer, self._device = loaded.model, loaded.tokenizer, loaded.device
        start = self._tokenizer.bos_token_id
        self._start = self._tokenizer.eos_token_id if start is None else start
        self._longest = getattr(self._model.config, "max_position_embeddings", None) or 1_000_000
        self._batch = BATCH
        self.info |= {**loaded.info, "preprocessing": self.info["preprocessing"], "start_token": self._start}
        self.key = loaded.key("blind:lm")

    def _score(self, texts: Sequence[str]) -> Sequence[float]:
        from evaluator.models.by_image import in_batches

        start = [] if self._start is None else [self._start]
        rows = [start + list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
        usable = sorted((i for i, row in enumerate(rows) if 2 <= len(row) <= self._longest), key=lambda i: len(rows[i]))
        found = np.full(len(rows), np.nan)
        parts, self._batch = in_batches(lambda part: self._means([rows[i] for i in part]), usable, self._batch)
        if parts:
            found[usable] = np.concatenate(parts)
        scores: list[float] = found.tolist()
        return scores

    def _means(self, rows: Sequence[list[int]]) -> np.ndarray:
        """Mean log-likelihood of the tokens after the first, float64 (n,)."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(self._device)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True).to(self._device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").double()
        means: np.ndarray = (-(losses * mask[:, 1:]).sum(1) / mask[:, 1:].sum(1)).cpu().numpy()
        return means


def load_blind(name: str, device: str | None) -> BlindScorer:
    """Load `ngram`, `length` or `lm:FOLDER_OR_NAME`. Raises UserError for other names, or when there is no such model."""
    kind, _, rest = name.partition(":")
    if kind == "lm":
        if not rest:
            raise UserError("blind:lm names no language model: add : and a folder or a name on the Hub, such as blind:lm:openai-community/gpt2.")  # fmt: skip
        return LanguageModelScorer(rest, device)
    if name not in KINDS:
        raise UserError(f"Unknown blind model '{name}': {did_you_mean(kind, list(KINDS))}")
    return {"ngram": NgramScorer, "length": LengthScorer}[kind]()
