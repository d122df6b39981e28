"""The ceiling of each row of results: the oracle's value, measured by the same rules on the same
items.

A question that the oracle cannot answer has no single right answer: a caption may be true of
several images, so that they tie. A gap between splits with different ceilings says nothing about a
model.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.ranking import PoolScores
from evaluator.models.oracle import Oracle
from evaluator.protocols import find_protocol
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


class Ceilings:
    """Looks up the ceiling of a row."""

    def __init__(self, values: Mapping[str, Mapping[RowKey, float | None]]):
        """values: by protocol, the oracle's value of each row."""
        self._values = values

    def of(self, protocol: str, row: Row) -> float | None:
        """The oracle's value of a row.

        Returns: A share in 0..1, or for a gap the difference of two ceilings. None if the ceiling
            is unknown, and for metrics without a best value.
        """
        return self._values.get(protocol, {}).get(_key(row))


def find_ceilings(scores: Scores, truths: Truths | None) -> Ceilings:
    """Measure the oracle as a run is measured.

    Args:
        scores: the scores of the run, which say what it was asked.
        truths: the judge's truths of the benchmark; None if there are none.

    Returns:
        The ceilings of all rows of the run's protocols; without truths every ceiling is unknown.
    """
    if truths is None:
        return Ceilings({})
    of_oracle = _oracle_scores(scores, truths)
    values = {}
    for name in scores.protocols:
        rows = find_protocol(name).measure(of_oracle).rows
        values[name] = {_key(row): row["value"] for row in rows if _has_ceiling(row)}
    return Ceilings(values)


def _oracle_scores(scores: Scores, truths: Truths) -> Scores:
    """The scores that the oracle has for the questions of a run."""
    benchmark, oracle = scores.benchmark, Oracle.with_truths(truths)
    asked = pc.is_in(benchmark.items["protocol"], pa.array(list(scores.protocols), pa.string()))
    item_ids = benchmark.items.filter(asked)["item_id"]
    candidates = benchmark.candidates.filter(
        pc.is_in(benchmark.candidates["item_id"], item_ids.combine_chunks())
    )
    text_rows = positions(candidates["text_id"], benchmark.texts["text_id"])
    scene_ids = candidates["scene_id"].to_pylist()
    columns: dict[str, Any] = {
        "image_id": candidates["scene_id"],
        "text_id": candidates["text_id"],
        "channel": pa.repeat(pa.scalar(oracle.channels[0]), len(scene_ids)),
        "score": scores_of_pairs(oracle, scene_ids, text_rows),
        "unscored": pa.nulls(len(scene_ids), pa.string()),
    }
    row_of_text = {
        text_id: row for row, text_id in enumerate(benchmark.texts["text_id"].to_pylist())
    }

    def matrix(pool: Pool) -> PoolScores:
        return OracleScores(
            oracle, pool.images, np.array([row_of_text[text] for text in pool.texts], np.int64)
        )

    return replace(
        scores,
        indistinct={},
        table=pa.table(columns, schema=SCORES),
        matrix=matrix,
        intervals=False,
        between_images=None,
        in_items=None,
    )


def _has_ceiling(row: Row) -> bool:
    """Whether more is better: neither an error, nor brittleness, nor a difference of two
    metrics."""
    is_accuracy = row["unit"] == "share" and row["error"] is None and row["metric"] != BRITTLENESS
    return is_accuracy or (row["is_gap"] and row["error"] is None and row["metric"] != BRITTLENESS)


def _key(row: Row) -> RowKey:
    labels: Mapping[str, Any] = row
    return tuple(
        labels.get(name) for name in (*LABELS[1:], *COUNTS, "n", "split", "minus", "average")
    )
