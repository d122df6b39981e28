"""The ceiling of each row of results: the oracle's value, measured by the same rules on the same
items.

A question that the oracle cannot answer has no single right answer: a caption may be true of
several images, so that they tie. A gap between splits with different ceilings says nothing about a
model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.ranking import PoolScores
from evaluator.models.oracle import Oracle
from evaluator.protocols import find_protocol
from evaluator.protocols.frames import FOLLOWS
from evaluator.protocols.hard_positives import BRITTLENESS
from evaluator.protocols.items import COUNTS, positions
from evaluator.protocols.pools import Pool
from evaluator.protocols.records import LABELS, Row
from evaluator.protocols.scores import Scores
from evaluator.scoring.oracle import OracleScores, scores_of_pairs
from generator.dataset.records import SCORES
from generator.dataset.truth import Truths

RowKey = tuple[object, ...]
"""The labels that tell a row from the other rows of its protocol."""
_WITHOUT_BEST = (BRITTLENESS, *FOLLOWS.values())
"""Metrics of which more is not better."""
_KEY = (*LABELS[1:], *COUNTS, "n", "split", "minus", "average")
"""The columns of a `RowKey`."""


def fill_ceilings(rows: Iterable[dict[str, Any]], scores: Scores, truths: Truths) -> None:
    """Set the `ceiling` of rows to the oracle's value, measured as the run is measured.

    It is a share in 0..1, or for a gap the difference of two ceilings. It stays None for metrics
    without a best value.

    Args:
        rows: Rows of results, which have their protocol; they are changed.
        scores: The scores of the run, which say what it was asked.
        truths: The judge's truths of the benchmark.
    """
    oracle_scores = _oracle_scores(scores, truths)
    ceilings: dict[tuple[str, RowKey], float | None] = {}
    for protocol in scores.protocols:
        for row in find_protocol(protocol).measure(oracle_scores).rows:
            if _has_ceiling(row):
                ceilings[protocol, _key(row)] = row["value"]
    for labelled_row in rows:
        labelled_row["ceiling"] = ceilings.get((labelled_row["protocol"], _key(labelled_row)))


def _oracle_scores(scores: Scores, truths: Truths) -> Scores:
    """The scores that the oracle has for the questions of a run."""
    benchmark = scores.benchmark
    oracle = Oracle.with_truths(truths)
    protocols = pa.array(list(scores.protocols), pa.string())
    items = benchmark.items.filter(pc.is_in(benchmark.items["protocol"], protocols))
    item_ids = items["item_id"].combine_chunks()
    candidates = benchmark.candidates
    candidates = candidates.filter(pc.is_in(candidates["item_id"], item_ids))

    text_ids = benchmark.texts["text_id"]
    scene_ids = candidates["scene_id"].to_pylist()
    text_rows = positions(candidates["text_id"], text_ids)
    columns: dict[str, Any] = {
        "image_id": candidates["scene_id"],
        "text_id": candidates["text_id"],
        "channel": pa.repeat(pa.scalar(oracle.channels[0]), len(scene_ids)),
        "score": scores_of_pairs(oracle, scene_ids, text_rows),
        "unscored": pa.nulls(len(scene_ids), pa.string()),
    }
    row_of_text = {text_id: row for row, text_id in enumerate(text_ids.to_pylist())}

    def matrix(pool: Pool) -> PoolScores:
        rows = np.array([row_of_text[text_id] for text_id in pool.texts], np.int64)
        return OracleScores(oracle, pool.images, rows)

    # The oracle reads whole texts and scores pairs, also for a run in words. A ceiling is only a
    # mean.
    return replace(
        scores,
        indistinct={},
        table=pa.table(columns, schema=SCORES),
        matrix=matrix,
        rules=replace(scores.rules, intervals=False),
        between_images=None,
        in_items=None,
    )


def _has_ceiling(row: Row) -> bool:
    """Whether more is better: neither an error, nor a metric without a best value, nor a difference
    of two metrics."""
    if row["error"] is not None or row["metric"] in _WITHOUT_BEST:
        return False
    return row["unit"] == "share" or row["is_gap"]


def _key(row: Mapping[str, Any]) -> RowKey:
    return tuple(row.get(name) for name in _KEY)
