"""Token perplexity of texts under a causal language model, and each caption's hardest negative."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from evaluator.audits.sample import Question, Sample
from evaluator.models.ngram import NgramModel
from generator.base.streams import Stream

NGRAM = "ngram"
FIT = 200_000


class CrossFitted:
    """A trigram model of the audited texts, fitted without the cluster that it judges. info: its
    entry in the results.

    It is fitted on true and false texts alike. A model of true texts would be a classifier, which
    is the blind test's task. A model that leaves out only the judged true text would raise the
    perplexity of true texts in balanced benchmarks.
    """

    own = True
    """Whether it was fitted on the benchmark's own texts. The blind test must not see these
    perplexities: leaving out the judged cluster reveals which texts that cluster repeats."""

    def __init__(self, samples: Sequence[Sample], seed: int):
        questions = [question for sample in samples for question in sample.questions]
        self._model = NgramModel(_first_texts(Stream(seed, "fit").shuffled(questions)))
        self._of_cluster = _by_cluster(questions)
        self.info = {
            "name": NGRAM,
            "order": 3,
            "fitted_on": "the sampled texts of all other clusters, true and false alike",
        }

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """For each question, the perplexities of `question.texts`, true text first."""
        asked = _by_cluster(questions).items()
        judged = {
            name: self._model.perplexities(texts, self._of_cluster[name]) for name, texts in asked
        }
        return [np.array([judged[q.cluster][text] for text in q.texts]) for q in questions]


class CausalModel:
    """A causal language model of transformers (evaluator/models/blind.py)."""

    own = False

    def __init__(self, name: str, device: str | None):
        from evaluator.models.blind import LanguageModelScorer

        self._likelihood = LanguageModelScorer(name, device, "--language-model")
        info = self._likelihood.info
        self.info = {
            "name": name,
            "class": info["architecture"],
            "start_token": info["start_token"],
        }

    def judge(self, questions: Sequence[Question]) -> list[np.ndarray]:
        """As CrossFitted.judge; nan for a text that is too long."""
        texts = sorted({text for question in questions for text in question.texts})
        known = dict(zip(texts, np.exp(-self._likelihood.mean_log_likelihoods(texts)), strict=True))
        return [np.array([known[text] for text in question.texts]) for question in questions]


LanguageModel = CrossFitted | CausalModel


def load_language_model(
    name: str, samples: Sequence[Sample], seed: int, device: str | None
) -> LanguageModel:
    """For `ngram`, the trigram fitted on the sampled texts; else a causal model, by folder or name
    on the Hub."""
    return CrossFitted(samples, seed) if name == NGRAM else CausalModel(name, device)


def hardest(perplexities: np.ndarray) -> int:
    """Index (from 1) of the negative nearest in perplexity to the caption, which has index 0
    (COMPASS, equation 5); the first negative in case of a tie or if no perplexity is known.

    >>> hardest(np.array([10.0, 4.0, 12.0, 30.0]))
    2
    """
    away = np.abs(perplexities[1:] - perplexities[0])
    return 1 + int(np.argmin(np.where(np.isnan(away), np.inf, away)))


def _by_cluster(questions: Sequence[Question]) -> dict[str, set[str]]:
    """The texts of each cluster."""
    found: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        found[question.cluster].update(question.texts)
    return found


def _first_texts(questions: Sequence[Question]) -> set[str]:
    """The texts of the first questions, question by question until there are at least FIT texts."""
    found: set[str] = set()
    for question in questions:
        if len(found) >= FIT:
            break
        found.update(question.texts)
    return found
