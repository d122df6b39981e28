"""Token perplexity of texts under a causal language model, and each caption's hardest negative."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np

from evaluator.audits.sample import Question, Sample
from evaluator.models.ngram import NgramModel
from generator.base.streams import Stream

NGRAM = "ngram"
FIT = 200_000


class LanguageModel(Protocol):
    """Gives the perplexity of every text of every question."""

    info: dict[str, Any]
    """What the model is, for the results."""

    own: bool
    """Whether it was fitted on the benchmark's own texts. Such a model leaves a cluster out when it judges it, and what
    is left out shows which texts the cluster repeats. The blind test must not see these perplexities."""

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """Perplexities of `question.texts` of each question, true one first; nan where a text is too long."""
        ...


def load_language_model(name: str, samples: Sequence[Sample], seed: int, device: str | None) -> LanguageModel:
    """The trigram fitted on the sampled texts for `ngram`, else a causal model by folder or name on the Hub."""
    return CrossFitted(samples, seed) if name == NGRAM else CausalModel(name, device)


class CrossFitted:
    """A trigram of the audited texts, fitted without the cluster that it judges.

    It is fitted on true and false texts alike. A model of the true texts would be a classifier, which is what the blind
    test is for; a model without the judged true text alone would give the truth a higher perplexity in balanced
    benchmarks.
    """

    own = True

    def __init__(self, samples: Sequence[Sample], seed: int):
        questions = [question for sample in samples for question in sample.questions]
        self._model = NgramModel(_first_texts(Stream(seed, "fit").shuffled(questions)))
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
    """A causal language model of transformers (evaluator/models/blind.py)."""

    own = False

    def __init__(self, name: str, device: str | None):
        from evaluator.models.blind import LanguageModelScorer

        self._likelihood = LanguageModelScorer(name, device, "--language-model")
        info = self._likelihood.info
        self.info = {"name": name, "class": info["architecture"], "start_token": info["start_token"]}

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """As LanguageModel.judge."""
        texts = sorted({text for question in questions for text in question.texts})
        known = dict(zip(texts, np.exp(-self._likelihood.mean_log_likelihoods(texts)), strict=True))
        return [np.array([known[text] for text in question.texts]) for question in questions]


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
