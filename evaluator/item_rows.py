"""The questions of a run, a row each: the words, every candidate with its score, and what came out."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from evaluator.protocols.results import ProtocolResults
from evaluator.run_folder import Run

COLUMNS = (
    "protocol", "item_id", "split", "kind", "skill", "level", "cluster", "images", "texts", "truth", "scores", "margin", "metric",
    "value", "tie", "unscored",
)  # fmt: skip


def _scenes(run: Run) -> dict[str, list[str]]:
    """The scene of each candidate of each item, in the order of candidates.parquet."""
    found: dict[str, list[str]] = {}
    rows = (run.benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id"))
    for item, scene in zip(*rows, strict=True):
        found.setdefault(item, []).append(scene)
    return found


def item_rows(run: Run, measured: dict[str, ProtocolResults]) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each question of a run.

    images, texts, truth, scores: lists with an entry for each candidate: the scene, the words, whether they are true of it, and the
    score (None where there is none). A question against a pool has two candidates, the best true and the best false text.
    margin: score of the best true text less that of the best false one; of two images, for the first. metric, value, tie: the main
    metric of the protocol, the outcome and whether a tie decided it. unscored: the reason where there is no outcome, else None; the
    margin, value and tie are None then.
    """
    scenes = _scenes(run)
    for protocol, found in measured.items():
        items, outcome = found.items, found.outcomes[0]
        best = items.best_candidates()
        for i in range(len(items)):
            given = np.flatnonzero(items.truth[i] | items.false[i])
            scored, texts = bool(items.unscored[i] == ""), items.text_id[i, given].tolist()
            shown = scenes.get(str(items.item_id[i]), [])
            yield {
                "protocol": protocol,
                **{
                    name: getattr(items, name)[i] or None
                    for name in ("item_id", "split", "kind", "skill", "level", "cluster")
                },
                "images": shown if len(shown) == len(given) else [items.scene_id[i]] * len(given),
                "texts": [run.benchmark.text_of.get(text) for text in texts],
                "truth": items.truth[i, given].tolist(),
                "scores": [float(each) if np.isfinite(each) else None for each in items.scores[i, given]],
                "margin": float(best["true"][i] - best["false"][i]) if scored else None,
                "metric": outcome.metric,
                "value": float(outcome.value[i]) if scored else None,
                "tie": bool(outcome.tie[i]) if scored else None,
                "unscored": items.unscored[i] or None,
            }
