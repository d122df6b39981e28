"""Token perplexity of texts under a causal language model, and each caption's hardest negative."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.audits.sample import AuditQuestion, KindSample
from evaluator.models.ngram import NgramModel
from generator.base.streams import Stream

NGRAM = "ngram"
"""The name of the trigram model among language models."""
MOST_FITTED = 200_000
"""Texts after which the trigram model reads no further question, which bounds its memory."""


class CrossFitted:
    """A trigram model of the audited texts, fitted without the cluster that it judges.

    It is fitted on true and false texts alike. A model of true texts would be a classifier, which
    is the blind test's task. A model that leaves out only the judged true text would raise the
    perplexity of true texts in balanced benchmarks.
    """

    own = True
    """Whether it was fitted on the benchmark's own texts. The blind test must not see these
    perplexities: leaving out the judged cluster reveals which texts that cluster repeats."""
    info: dict[str, Any]
    """The entry of the model in the results."""

    def __init__(self, samples: Sequence[KindSample], seed: int):
        questions = [question for sample in samples for question in sample.questions]
        # Questions in random order, because a part of all texts in their own order could be of one
        # kind.
        self._model = NgramModel(_first_texts(Stream(seed, "fit").shuffled(questions)))
        self._texts_of_cluster = _texts_by_cluster(questions)
        self.info = {
            "name": NGRAM,
            "order": 3,
            "fitted_on": "the sampled texts of all other clusters, true and false alike",
        }

    def judge(self, questions: Sequence[AuditQuestion]) -> list[np.ndarray]:
        """Compute perplexities.

        Args:
            questions: Questions of the samples that the model was made of.

        Returns:
            For each question, the perplexities of `question.texts`, true text first.
        """
        # Cluster by cluster: what the model must leave out is counted once for all texts of the
        # cluster.
        perplexities = {}
        for cluster, texts in _texts_by_cluster(questions).items():
            left_out = self._texts_of_cluster[cluster]
            perplexities[cluster] = self._model.perplexities(texts, left_out)
        judged = []
        for question in questions:
            of_cluster = perplexities[question.cluster]
            judged.append(np.array([of_cluster[text] for text in question.texts]))
        return judged


class CausalModel:
    """A causal language model of transformers (evaluator/models/blind.py)."""

    own = False
    """Whether it was fitted on the benchmark's own texts."""
    info: dict[str, Any]
    """The entry of the model in the results."""

    def __init__(self, name: str, device: str | None):
        from evaluator.models.blind import LanguageModelScorer

        self._likelihood = LanguageModelScorer(name, device, "--language-model")
        info = self._likelihood.info
        self.info = {
            "name": name,
            "class": info["architecture"],
            "start_token": info["start_token"],
        }

    def judge(self, questions: Sequence[AuditQuestion]) -> list[np.ndarray]:
        """Compute perplexities.

        Args:
            questions: Any questions.

        Returns:
            For each question, the perplexities of `question.texts`, true text first; nan for a text
            that is too long.
        """
        # Each text once: questions share most of their texts, and the model is slow.
        texts = sorted({text for question in questions for text in question.texts})
        perplexities = np.exp(-self._likelihood.mean_log_likelihoods(texts))
        of_text = dict(zip(texts, perplexities, strict=True))
        return [np.array([of_text[text] for text in question.texts]) for question in questions]


LanguageModel = CrossFitted | CausalModel
"""A model that judges how usual texts are."""


def load_language_model(
    name: str, samples: Sequence[KindSample], *, seed: int, device: str | None
) -> LanguageModel:
    """Load a language model.

    Args:
        name: `ngram`, or the folder or Hub name of a causal model.
        samples: The questions that the trigram model is fitted on.
        seed: The seed of the texts of the trigram model.
        device: The device of a causal model; None: the first GPU, else the CPU.

    Returns:
        The model.
    """
    if name == NGRAM:
        return CrossFitted(samples, seed)
    return CausalModel(name, device)


def hardest(perplexities: np.ndarray) -> int:
    """Choose the negative nearest in perplexity to the caption (COMPASS, equation 5).

    Args:
        perplexities: (1 + negatives,) of the caption and of its negatives; nan if unknown.

    Returns:
        The index of the negative, from 1; the first negative in case of a tie or if no perplexity
        is known.

    Example:
        >>> hardest(np.array([10.0, 4.0, 12.0, 30.0]))
        2
    """
    distances = np.abs(perplexities[1:] - perplexities[0])
    # A negative without a perplexity is the hardest only if none has one.
    known_distances = np.where(np.isnan(distances), np.inf, distances)
    return 1 + int(np.argmin(known_distances))


def _texts_by_cluster(questions: Sequence[AuditQuestion]) -> dict[str, set[str]]:
    texts: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        texts[question.cluster].update(question.texts)
    return texts


def _first_texts(questions: Sequence[AuditQuestion]) -> set[str]:
    """The texts of the first questions, question by question until there are at least MOST_FITTED
    texts."""
    texts: set[str] = set()
    for question in questions:
        if len(texts) >= MOST_FITTED:
            break
        texts.update(question.texts)
    return texts
