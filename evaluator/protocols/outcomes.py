"""The outcome of every item of a protocol, and the summary by split that all protocols share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.protocols.comparison import TOLERANCE
from evaluator.statistics import DRAWS, Estimate, cluster_difference, cluster_mean

GAPS = (("seen", "partial"), ("seen", "unseen"), ("partial", "unseen"))


@dataclass(frozen=True)
class Outcomes:
    """What came of each item (all arrays of length n).

    correct, tie: bool; true, false: float32, the best score of a true and of a false text; true_text, false_text:
    their ids; unscored: the reason, "" for a scored item.
    """

    item_id: np.ndarray
    scene_id: np.ndarray
    split: np.ndarray
    cluster: np.ndarray
    correct: np.ndarray
    tie: np.ndarray
    true: np.ndarray
    false: np.ndarray
    true_text: np.ndarray
    false_text: np.ndarray
    unscored: np.ndarray


def summarise(outcomes: Outcomes, metric: str, chance: float) -> dict[str, Any]:
    """Accuracy by split with 95% intervals by cluster, ties, unscored items, chance; and the gaps between splits."""
    scored = outcomes.unscored == ""
    splits = {}
    for split in dict.fromkeys(outcomes.split.tolist()):
        chosen = (outcomes.split == split) & scored
        estimate = cluster_mean(outcomes.correct[chosen], outcomes.cluster[chosen])
        splits[split] = {
            **_shares(estimate),
            "ties": int(outcomes.tie[chosen].sum()),
            "unscored": int(((outcomes.split == split) & ~scored).sum()),
        }
    gaps = {}
    for first, second in GAPS:
        parts = [
            (outcomes.correct[(outcomes.split == s) & scored], outcomes.cluster[(outcomes.split == s) & scored])
            for s in (first, second)
        ]
        gaps[f"{first} - {second}"] = _shares(cluster_difference(parts[0], parts[1]))
    return {
        "metric": metric, "average": "micro (over items)", "chance": chance, "splits": splits, "gaps": gaps,
        "tie_tolerance": TOLERANCE, "interval": f"95%, cluster bootstrap, {DRAWS} draws, seed 0",
    }  # fmt: skip


def _shares(estimate: Estimate) -> dict[str, Any]:
    values = {
        name: None if np.isnan(v := getattr(estimate, name)) else round(v, 6) for name in ("value", "low", "high")
    }
    return {**values, "n_items": estimate.n_items, "n_clusters": estimate.n_clusters}
