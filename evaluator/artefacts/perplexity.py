"""Token perplexity of texts under a causal language model, and each caption's hardest negative."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np

from evaluator.artefacts.ngram import NgramModel
from evaluator.artefacts.sample import Question, Sample, stream

NGRAM = "ngram"
FIT = 200_000
BATCH = 32


class LanguageModel(Protocol):
    """Gives the perplexity of every text of every question."""

    info: dict[str, Any]

    own: bool
    """Whether it was fitted on the benchmark's own texts. What such a model leaves out when it judges a cluster shows in
    its perplexities which texts that cluster holds often, so the blind test must not see them."""
    """What the model is, for the results."""

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """Perplexities of `question.texts` of each question, true one first; nan where a text is too long."""
        ...


def load_language_model(name: str, samples: Sequence[Sample], seed: int, device: str | None) -> LanguageModel:
    """The trigram fitted on the sampled texts for `ngram`, else a causal model by folder or name on the Hub."""
    return CrossFitted(samples, seed) if name == NGRAM else CausalModel(name, device)


class CrossFitted:
    """A trigram of the audited texts that has never read what it judges, nor any text of the same cluster.

    True and false texts are fitted alike: a model that knew which are true would be a classifier (that is the blind
    test), and leaving out the true text alone would make the truth read harder wherever a benchmark is balanced.
    """

    own = True

    def __init__(self, samples: Sequence[Sample], seed: int):
        questions = [question for sample in samples for question in sample.questions]
        order = stream(seed, "fit").permutation(len(questions))
        self._model = NgramModel(_first_texts([questions[i] for i in order]))
        self._of_cluster: dict[str, set[str]] = defaultdict(set)
        for question in questions:
            self._of_cluster[question.cluster].update(question.texts)
        self.info = {
            "name": NGRAM,
            "order": 3,
            "fitted_on": "the sampled texts of all other clusters, true and false alike",
        }

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """As LanguageModel.judge."""
        judged = {
            cluster: self._model.perplexities(chain.from_iterable(q.texts for q in members), self._of_cluster[cluster])
            for cluster, members in _by_cluster(questions).items()
        }
        return [np.array([judged[q.cluster][text] for text in q.texts]) for q in questions]


class CausalModel:
    """A causal language model of transformers.

    Every token is scored, the first one after the tokenizer's start token (its end token where it has no other);
    where it has neither, the first token is context only.
    """

    own = False

    def __init__(self, name: str, device: str | None):
        from evaluator.artefacts.loading import load_pair
        from evaluator.models.device import best_device

        self._device = best_device(device)
        self._tokenizer, self._model = load_pair("AutoModelForCausalLM", name, self._device, "--language-model")
        start = self._tokenizer.bos_token_id
        self._start = self._tokenizer.eos_token_id if start is None else start
        self._longest = getattr(self._model.config, "max_position_embeddings", None) or 1_000_000
        self.info = {"name": name, "class": type(self._model).__name__, "start_token": self._start}

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """As LanguageModel.judge."""
        texts = sorted({text for question in questions for text in question.texts})
        known = dict(zip(texts, self.perplexities(texts), strict=True))
        return [np.array([known[text] for text in question.texts]) for question in questions]

    def perplexities(self, texts: Sequence[str]) -> np.ndarray:
        """exp of the mean negative log-likelihood a token, float64 (n,); nan for texts without a scored token or too long."""
        start = [] if self._start is None else [self._start]
        rows = [start + list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
        found = np.full(len(rows), np.nan)
        usable = sorted((i for i, row in enumerate(rows) if 2 <= len(row) <= self._longest), key=lambda i: len(rows[i]))
        for first in range(0, len(usable), BATCH):
            part = usable[first : first + BATCH]
            found[part] = self._batch([rows[i] for i in part])
        return found

    def _batch(self, rows: list[list[int]]) -> np.ndarray:
        import torch

        length = max(map(len, rows))
        ids = torch.tensor([row + [0] * (length - len(row)) for row in rows], device=self._device)
        mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows], device=self._device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").double()
        return torch.exp((losses * mask[:, 1:]).sum(1) / mask[:, 1:].sum(1)).cpu().numpy()


def hardest(perplexities: np.ndarray) -> int:
    """Place (1 or above) of the negative nearest in perplexity to the caption at place 0 (COMPASS, equation 5); the
    first one where several are, or where none has a perplexity.

    >>> hardest(np.array([10.0, 4.0, 12.0, 30.0]))
    2
    """
    away = np.abs(perplexities[1:] - perplexities[0])
    return 1 + int(np.argmin(np.where(np.isnan(away), np.inf, away)))


def _by_cluster(questions: Sequence[Question]) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        found[question.cluster].append(question)
    return found


def _first_texts(questions: Sequence[Question]) -> set[str]:
    """The texts of the first questions, whole questions until there are FIT texts."""
    found: set[str] = set()
    for question in questions:
        if len(found) >= FIT:
            break
        found.update(question.texts)
    return found
