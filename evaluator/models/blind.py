"""`blind:` baselines, which never see the image: a score above chance shows that the texts alone
give answers away.

`blind:ngram`, `blind:lm:FOLDER_OR_NAME`, `blind:length`. A text has the same score with every
image; for
`blind:ngram`, with every image of a group.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from evaluator.models.contracts import (
    BatchSize,
    Contests,
    Group,
    ImageTextPairs,
    PairScorer,
    cache_key,
    fingerprints,
    info_without_network,
)
from evaluator.models.names import check_blind
from evaluator.models.ngram import ORDER, NgramModel
from evaluator.models.pretrained import TOKENIZER, LoadTarget, Storage, load_pretrained
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError

BATCH, LANGUAGE_BATCH = 128, 32
"""Texts that are scored together, by models of n-grams and the like, and by language models."""
_UNLIMITED = 1_000_000
"""Tokens of a text for a language model without a maximum, such as one with relative positions."""
_FEWEST_TOKENS = 2
"""A context and one token to score."""


class BlindScorer(PairScorer, ABC):
    """A PairScorer that reads only texts. Each text is scored once per fold, not once per image."""

    passes = 0
    reads_images = False

    def __init__(self, weights: str, **info: Any):
        self._scores: dict[tuple[int | None, str], float] = {}
        self.batch = BatchSize(BATCH, "text")
        self.info = info_without_network(weights, **info)

    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        fold_of_image = [self._fold(image) for image in images]
        # A model that does not look at images may be called without them.
        keys = [(fold_of_image[i] if fold_of_image else None, text) for i, text in pairs]
        missing: dict[int | None, set[str]] = defaultdict(set)
        for fold, text in keys:
            if (fold, text) not in self._scores:
                missing[fold].add(text)
        for fold, texts in missing.items():
            # Sorted, so that batches, and with them rounding, are the same in each run.
            ordered = sorted(texts)
            scores = self._score(ordered, fold)
            for text, score in zip(ordered, scores, strict=True):
                self._scores[fold, text] = score
        scores_of_keys = [self._scores[key] for key in keys]
        return np.array(scores_of_keys, dtype=np.float32).reshape(-1, 1)

    def _fold(self, image: Any) -> int | None:
        """The fold of an image, on which scores may depend: a number for each part of the run, or
        None."""
        return None

    @abstractmethod
    def _score(self, texts: Sequence[str], fold: int | None) -> Sequence[float]:
        """Scores of distinct texts for images of a fold; NaN for texts that cannot be scored."""


class LengthScorer(BlindScorer):
    """Minus the number of characters: the shorter text wins. Below chance if true texts are
    longer."""

    channels = ("characters_negated",)

    def __init__(self) -> None:
        super().__init__("none")
        self.key = "blind-length-1"
        self.exposure = Exposure()  # without training

    def _score(self, texts: Sequence[str], fold: int | None) -> Sequence[float]:
        return [-float(len(text)) for text in texts]


class NgramScorer(BlindScorer):
    """Mean log-likelihood per token under a word trigram (ngram.py) of the texts of the run.

    `fit_texts` gives the texts, true and false alike. Leave-one-group-out: the model that scores a
    text is fitted without it and without the texts of the image's group. Otherwise texts that are
    true of several images of a group would count as frequent.
    """

    channels = ("log_likelihood",)
    fits_texts = True

    def __init__(self) -> None:
        fitted_on = (
            "the texts of the run, true and false alike, without the texts of the image's group"
        )
        super().__init__("none", order=ORDER, fitted_on=fitted_on)
        self._model: NgramModel | None = None
        self._group_of: dict[str, int] = {}
        self._texts_of_group: list[frozenset[str]] = []

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """As PairScorer.fit_texts."""
        distinct = sorted(set(texts))
        # Scores under an earlier fit are void.
        self._scores = {}
        self._group_of = {}
        for i, group in enumerate(groups):
            self._group_of |= dict.fromkeys(group.images, i)
        self._texts_of_group = [group.texts for group in groups]
        self._model = NgramModel(distinct)
        self.info["fitted_texts"] = len(distinct)
        sorted_groups = sorted((sorted(group.images), sorted(group.texts)) for group in groups)
        self.key = cache_key("ngram", distinct, sorted_groups)

    def _fold(self, image: Any) -> int | None:
        return self._group_of.get(image) if isinstance(image, str) else None

    def _score(self, texts: Sequence[str], fold: int | None) -> Sequence[float]:
        if self._model is None:
            raise RuntimeError("call fit_texts before score_pairs")
        group = self._texts_of_group[fold] if fold is not None else frozenset()
        # Texts of the group are left out together; any other text also leaves itself out.
        perplexities = self._model.perplexities(group.intersection(texts), group)
        for text in set(texts) - group:
            perplexities |= self._model.perplexities([text], [text, *group])
        return [-float(np.log(perplexities[text])) for text in texts]


class LanguageModelScorer(BlindScorer):
    """Mean log-likelihood per token under a causal language model, by folder or name on the Hub.

    Every token is scored. The first one follows the tokenizer's start token, or its end token if it
    has no start token. Without either, the first token is only context.
    """

    channels = ("log_likelihood",)

    def __init__(
        self,
        name: str,
        device: str | None,
        option: str = "blind:lm:",
        **storage: Unpack[Storage],
    ):
        """
        Args:
            name: A folder, or a name on the Hub.
            device: The device that the user named; None for the best one.
            option: The prefix or option by which the user named the model, for error messages.
            storage: Number format, device map and quantization.

        Raises:
            UserError: As load_pretrained.
        """
        from transformers.models.auto.modeling_auto import (
            MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as TYPES,
        )

        target = LoadTarget(
            option=option,
            description="a causal language model",
            classes=dict.fromkeys(TYPES, "AutoModelForCausalLM"),
            readers=TOKENIZER,
        )
        loaded = load_pretrained(name, device, target, **storage)
        self._model = loaded.model
        self._tokenizer = loaded.tokenizer
        self._device = loaded.device
        start = self._tokenizer.bos_token_id
        # A model without a start token saw texts that follow one another, each after an end token.
        self._start = self._tokenizer.eos_token_id if start is None else start
        positions = getattr(self._model.config, "max_position_embeddings", None)
        self._longest = positions or _UNLIMITED
        super().__init__(name)
        self.info |= {
            **loaded.info,
            "preprocessing": self.info["preprocessing"],
            "start_token": self._start,
        }
        self.batch = BatchSize(LANGUAGE_BATCH, "text")
        self.key = loaded.key("causal-lm")

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Fingerprints of the token ids, int64 (n, 4)."""
        return fingerprints(np.array(row, np.int64).tobytes() for row in self._ids(texts))

    def mean_log_likelihoods(self, texts: Sequence[str]) -> np.ndarray:
        """Mean log-likelihood per token in nats, float64 (n,). NaN for texts without a scored
        token, and for texts longer than the model's maximum."""
        rows = self._ids(texts)
        usable = []
        for index, row in enumerate(rows):
            if _FEWEST_TOKENS <= len(row) <= self._longest:
                usable.append(index)
        usable.sort(key=lambda index: len(rows[index]))  # so that batches need little padding
        means = np.full(len(rows), np.nan)

        def compute(batch: Sequence[int]) -> np.ndarray:
            return self._means([rows[index] for index in batch])

        for batch, computed in self.batch.run(compute, usable):
            means[batch] = computed
        return means

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        start = [] if self._start is None else [self._start]
        rows = []
        for text in texts:
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            rows.append([*start, *ids])
        return rows

    def _means(self, rows: Sequence[list[int]]) -> np.ndarray:
        """Mean log-likelihood of the tokens after the first one, float64 (n,)."""
        id_tensors = [torch.tensor(row) for row in rows]
        ones = [torch.ones(len(row), dtype=torch.long) for row in rows]
        ids = pad_sequence(id_tensors, batch_first=True).to(self._device)
        mask = pad_sequence(ones, batch_first=True).to(self._device)
        with torch.inference_mode():
            # The logits at a token are those of the next token.
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            following = ids[:, 1:]
            losses = F.cross_entropy(logits.transpose(1, 2), following, reduction="none")
        is_token = mask[:, 1:].cpu()
        totals = (losses.cpu().double() * is_token).sum(1)
        return np.asarray((-totals / is_token.sum(1)).numpy())

    def _score(self, texts: Sequence[str], fold: int | None) -> Sequence[float]:
        return self.mean_log_likelihoods(texts).tolist()


def load_blind(name: str, device: str | None, **storage: Unpack[Storage]) -> BlindScorer:
    """Load a baseline that reads only texts.

    Args:
        name: `ngram`, `length` or `lm:FOLDER_OR_NAME`.
        device: The device of a language model.
        storage: Number format, device map and quantization of a language model.

    Raises:
        UserError: The name is another one, or the model does not exist.
    """
    check_blind(name)
    kind, _, rest = name.partition(":")
    if kind == "lm":
        return LanguageModelScorer(rest, device, **storage)
    if storage:
        raise UserError(
            f"blind:{name} has no argument '{next(iter(storage))}'; leave it out, or take "
            f"blind:lm:."
        )
    return NgramScorer() if kind == "ngram" else LengthScorer()
