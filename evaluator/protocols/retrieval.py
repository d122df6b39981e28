"""R@1: the truth against a pool of texts, several of which may be true (protocols, section 1; Peng et al. 2026, section 3.1)."""

import numpy as np

from evaluator.protocols.comparison import beats, tied
from evaluator.protocols.outcomes import Outcomes

METRIC = "R@1"


def retrieval_outcomes(
    item_id: np.ndarray,
    scene_id: np.ndarray,
    split: np.ndarray,
    cluster: np.ndarray,
    scores: np.ndarray,
    truth: np.ndarray,
    texts: np.ndarray,
    unscored: np.ndarray,
) -> Outcomes:
    """Outcomes of n items from scores (n, m) of a pool, truth bool (n, m) and the pool's text ids (m,).

    Correct when the best true text beats every false one; ties among true texts do not matter.
    """
    true = np.where(truth, scores, -np.inf)
    false = np.where(truth, -np.inf, scores)
    best_true, best_false = true.argmax(1), false.argmax(1)
    rows = np.arange(len(scores))
    a, b = scores[rows, best_true], scores[rows, best_false]
    return Outcomes(
        item_id, scene_id, split, cluster, beats(a, b), tied(a, b), a, b, texts[best_true], texts[best_false], unscored
    )


def chance(truth: np.ndarray) -> float:
    """The share that a random order would get right: true texts over all, averaged over items."""
    return float(truth.mean()) if truth.size else float("nan")
