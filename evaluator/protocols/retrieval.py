"""R@1: the truth against a pool of texts, several of which may be true (protocols, section 1; Peng et al. 2026,
section 3.1)."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluator.metrics.comparison import chance
from evaluator.protocols.errors import N_DIRECTIONS, candidate_errors, error_directions, error_rows, read_assertions
from evaluator.protocols.items import (
    MISSING,
    NOT_A_NUMBER,
    TOP,
    TRUNCATED,
    Items,
    item_columns,
    positions,
    sorted_rows,
    strings,
)
from evaluator.protocols.pools import Pool, sample_mask, true_texts
from evaluator.protocols.protocol import Protocol
from evaluator.protocols.records import Results
from evaluator.protocols.results import ProtocolResults, recall, tabulate
from evaluator.protocols.scores import Scores

_BLOCK = 4_000_000
"""Scores of a pool that are in memory at once."""


class Retrieval(Protocol):
    """R@1 by kind and split, and which way the errors go. With a sampled pool, which is easier, the metric has
    another name."""

    name = "retrieval"

    def measure(self, scores: Scores) -> ProtocolResults:
        if not scores.pools:  # items that have all their texts among their candidates
            items = scores.items(self.name)
            first = recall(items, items.false)
            return ProtocolResults(items, [first], tabulate(items, [first], ["kind"]) + candidate_errors(scores, items))
        items, by_chance, directions = _pooled_items(scores, self.name)
        sampled = any(pool.sample is not None for pool in scores.pools)
        first = replace(recall(items, items.false, "R@1, sampled pool" if sampled else "R@1"), chance=by_chance)
        rows = tabulate(items, [first], ["kind"])
        return ProtocolResults(items, [first], rows + error_rows(items, directions))

    def caption(self, results: Results) -> str:
        return " ".join(
            f"Pool {pool} is sampled: the true texts and {n} false ones an image."
            for pool, n in results["sampled_pools"].items()
        )


def _pooled_items(scores: Scores, protocol: str) -> tuple[Items, np.ndarray, np.ndarray]:
    """The items with the TOP best true and the TOP best false texts of their pool as candidates, the chance (n,) of
    each, and the directions of their errors (`error_directions`), zeros where texts have no form."""
    benchmark = scores.benchmark
    table = benchmark.items.take(pa.array(sorted_rows(benchmark, protocol)))
    rows = benchmark.candidates
    item = positions(rows["item_id"], table["item_id"])
    rows, item = rows.filter(pa.array(item >= 0)), item[item >= 0]
    pool_of, scene_of = strings(table["pool_id"]), np.full(table.num_rows, "", dtype=object)
    scene_of[item[::-1]] = strings(rows["scene_id"])[::-1]
    true = np.asarray(rows["truth"].to_numpy(zero_copy_only=False), dtype=bool)
    texts = strings(rows["text_id"])
    true_of = true_texts(benchmark)
    parts, order = [], []
    for pool in scores.pools:
        members = np.flatnonzero(pool_of == pool.name)
        row_of = np.full(table.num_rows, -1)
        row_of[members] = np.arange(len(members))
        image_of = {name: i for i, name in enumerate(pool.images)}
        images = np.array([image_of[scene] for scene in scene_of[members]], dtype=np.int64)
        column_of = {name: i for i, name in enumerate(pool.texts)}
        inside = true & (row_of[item] >= 0)
        pairs = np.stack(
            [row_of[item[inside]], np.array([column_of[text] for text in texts[inside]], np.int64)], axis=1
        )
        part = _PoolReader(pool, scores, true_of)
        size = max(1, _BLOCK // max(1, len(pool.texts)))
        for start in range(0, len(members), size):
            few = slice(start, start + size)
            here = pairs[(pairs[:, 0] >= start) & (pairs[:, 0] < start + size)] - (start, 0)
            parts.append(part.best(images[few], here))
        order.append(members)
    back = np.argsort(np.concatenate(order))
    best, names, there, reasons, by_chance, directions = (
        np.concatenate(column)[back] for column in zip(*parts, strict=True)
    )
    n = table.num_rows
    is_true = np.arange(2 * TOP) < TOP
    items = Items(
        **item_columns(table),
        scene_id=scene_of,
        level=np.full(n, "", dtype=object),
        counts=np.full((n, 3), -1),
        scores=best,
        truth=there & is_true,
        false=there & ~is_true,
        slot=np.tile(np.where(is_true, "c", "n").astype(object), (n, 1)),
        candidate_kind=np.full((n, 2 * TOP), "", dtype=object),
        text_id=names,
        unscored=reasons,
        tolerance=scores.tolerance,
    )
    return scores.for_intervals(items), by_chance, directions


class _PoolReader:
    """The best texts of a pool for some of its images at a time."""

    def __init__(self, pool: Pool, scores: Scores, true_of: dict[str, set[str]]):
        self._pool, self._scores, self._true_of = pool, scores, true_of
        self._matrix = scores.matrix(pool)
        self._texts = np.array(pool.texts, dtype=object)
        read = [scores.indistinct.get(text, text) for text in pool.texts]
        self._reading = np.unique(read, return_inverse=True)[1] if len(set(read)) < len(read) else None
        self._said = read_assertions(scores.benchmark, pool.texts)

    def best(
        self, images: np.ndarray, true: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Scores and text ids, (n, 2 TOP), of the best true and of the best false texts, and which there are, bool
        (n, 2 TOP); reasons (n,), chance (n,) and directions of errors.

        images: rows of the pool, (n,). true: pairs of a place in `images` and a true text's column, (t, 2).
        """
        matrix = self._matrix.block(images, slice(0, len(self._texts)))
        rows, truth = np.arange(len(matrix)), np.zeros(matrix.shape, dtype=bool)
        truth[tuple(true.T)] = True
        few = replace(self._pool, images=[self._pool.images[image] for image in images])
        asked = sample_mask(few, self._true_of)
        false = asked & ~truth
        best = np.concatenate([_best(matrix, mask) for mask in (truth, false)], axis=1)
        there = best >= 0
        reasons = np.where((np.isfinite(matrix) | ~asked).all(axis=1), "", NOT_A_NUMBER).astype(object)
        reasons[np.isnan(matrix).all(axis=1)] = MISSING
        if self._reading is not None:
            for i in rows:
                if np.isin(self._reading[truth[i]], self._reading[false[i]]).any():
                    reasons[i] = TRUNCATED
        directions = np.zeros((len(matrix), 2, N_DIRECTIONS))
        if self._said is not None:
            columns, tolerance = np.arange(len(self._texts)), self._scores.tolerance
            directions = error_directions(matrix, truth, false, columns, self._said, tolerance)
        return (
            np.where(there, matrix[rows[:, None], best], np.float32(np.nan)),
            np.where(there, self._texts[best], ""),
            there,
            reasons,
            chance(truth.sum(axis=1), false.sum(axis=1)),
            directions,
        )


def _best(matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The columns of the TOP highest scores of each row (n, m) where the mask is true, highest first and of equal
    ones the first: int64 (n, TOP), −1 where there are no more."""
    left = np.where(mask, matrix, -np.inf)
    found = np.full((len(matrix), TOP), -1)
    for i in range(TOP):
        column = left.argmax(axis=1)
        rows = np.flatnonzero(mask.sum(axis=1) > i)
        found[rows, i] = column[rows]
        left[np.arange(len(left)), column] = -np.inf
    return found
