"""The questions of a run, a row each: the words, every candidate with its score, and what came out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.protocols.results import ProtocolResults
from evaluator.runs.folder import Run, open_run
from evaluator.runs.measure import measure_protocols
from generator.base.files import draft_of

COLUMNS = (
    "protocol",
    "item_id",
    "split",
    "kind",
    "skill",
    "level",
    "cluster",
    "images",
    "texts",
    "truth",
    "scores",
    "margin",
    "metric",
    "value",
    "tie",
    "unscored",
)


def write_items(
    folder: Path, channel: str | None = None, tolerance: float | None = None, level: float | None = None
) -> Path:
    """Write items.jsonl in the folder of a run, a line of JSON for each row of `item_rows`, whole or not at all;
    returns its path.

    The arguments are those of `evaluator.runs.measure.measure`.
    """
    run, path = open_run(folder), folder / "items.jsonl"
    with draft_of(path) as draft, draft.open("w", encoding="utf-8") as file:
        for row in item_rows(run, measure_protocols(run, channel, tolerance, level)):
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return path


def _scenes(run: Run) -> dict[str, list[str]]:
    """The scene of each candidate of each item, in the order of candidates.parquet."""
    found: dict[str, list[str]] = {}
    rows = (run.benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id"))
    for item, scene in zip(*rows, strict=True):
        found.setdefault(item, []).append(scene)
    return found


def item_rows(run: Run, measured: dict[str, ProtocolResults]) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each question of a run.

    images, texts, truth, scores: lists with an entry for each candidate: the scene, the words, whether they are true
    of it, and the score (None where there is none). A question against a pool has up to six candidates, the three
    best true and the three best false texts. margin: score of the best true text less that of the best false one; of
    two images, for the first. metric, value, tie: the main metric of the protocol, the outcome and whether a tie
    decided it. unscored: the reason where there is no outcome, else None; the margin, value and tie are None then.
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
                "scores": [_number(each) for each in items.scores[i, given]],
                "margin": _number(best["true"][i] - best["false"][i]) if scored else None,
                "metric": outcome.metric,
                "value": _number(outcome.value[i]) if scored else None,
                "tie": bool(outcome.tie[i]) if scored else None,
                "unscored": items.unscored[i] or None,
            }


def _number(value: np.floating[Any]) -> float | None:
    """A number as JSON has it; None for what is none."""
    return float(value) if np.isfinite(value) else None
