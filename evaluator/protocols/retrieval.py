"""Retrieval: R@1 of the true text in a pool of texts, several of which may be true (protocols,
section 1; Peng et al. 2026, section 3.1)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluator.metrics.comparison import chance
from evaluator.protocols.errors import (
    N_DIRECTIONS,
    candidate_errors,
    error_directions,
    error_rows,
    read_assertions,
)
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
from evaluator.protocols.results import Protocol, ProtocolResults, recall, tabulate
from evaluator.protocols.scores import Scores

_BLOCK = 2_000_000
"""Maximum number of scores of a pool in memory at once."""


class Retrieval(Protocol):
    """R@1 by kind and split, and the directions of errors. With a sampled pool, which is easier,
    the metric has a different name."""

    name = "retrieval"

    def measure(self, scores: Scores) -> ProtocolResults:
        if not scores.pools:  # each item's candidates are all its texts
            items = scores.items(self.name)
            first = recall(items, items.false)
            return ProtocolResults(
                items, [first], tabulate(items, [first], ["kind"]) + candidate_errors(scores, items)
            )
        items, by_chance, directions = _pooled_items(scores, self.name)
        sampled = any(pool.sample is not None for pool in scores.pools)
        first = replace(
            recall(items, items.false, "R@1, sampled pool" if sampled else "R@1"), chance=by_chance
        )
        rows = tabulate(items, [first], ["kind"])
        return ProtocolResults(items, [first], rows + error_rows(items, directions))


def _pooled_items(scores: Scores, protocol: str) -> tuple[Items, np.ndarray, np.ndarray]:
    """The items, with the TOP best true and the TOP best false texts of their pool as candidates;
    their chance (n,); and the directions of their errors (`error_directions`), zeros if texts have
    no form."""
    table = scores.benchmark.items.take(pa.array(sorted_rows(scores.benchmark, protocol)))
    rows, n = scores.benchmark.candidates, table.num_rows
    item = positions(rows["item_id"], table["item_id"])
    scene_of = np.full(n, "", dtype=object)
    scene_of[item[item >= 0][::-1]] = strings(rows["scene_id"])[item >= 0][::-1]
    true_of = true_texts(scores.benchmark)
    parts = [part for pool in scores.pools for part in _read_pool(pool, scores, true_of)]
    best, names, there, reasons, by_chance, directions = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    images = [(pool.name, image) for pool in scores.pools for image in pool.images]
    row_of = {image: row for row, image in enumerate(images)}
    found = [
        row_of[pool, scene] for pool, scene in zip(strings(table["pool_id"]), scene_of, strict=True)
    ]
    is_true = np.arange(2 * TOP) < TOP
    items = Items(
        **item_columns(table),
        scene_id=scene_of,
        level=np.full(n, "", dtype=object),
        counts=np.full((n, 3), -1),
        scores=best[found],
        truth=there[found] & is_true,
        false=there[found] & ~is_true,
        slot=np.tile(np.where(is_true, "c", "n").astype(object), (n, 1)),
        candidate_kind=np.full((n, 2 * TOP), "", dtype=object),
        text_id=names[found],
        unscored=reasons[found],
        tolerance=scores.tolerance,
    )
    return scores.for_intervals(items), by_chance[found], directions[found]


def _read_pool(
    pool: Pool, scores: Scores, true_of: dict[str, set[str]]
) -> Iterator[tuple[np.ndarray, ...]]:
    """The best texts of a pool's images, some images at a time.

    Yields (n, 2 TOP) arrays for the best true, then the best false texts: scores, text ids, and
    whether there is such a text, bool; then reasons (n,), chance (n,) and directions of errors.
    """
    matrix_of, texts = scores.matrix(pool), np.array(pool.texts, dtype=object)
    column_of = {text: column for column, text in enumerate(pool.texts)}
    codes: dict[str, int] = {}
    reading = np.array(
        [codes.setdefault(scores.indistinct.get(text, text), len(codes)) for text in pool.texts]
    )
    said = read_assertions(scores.benchmark, pool.texts)
    size = max(1, _BLOCK // max(1, len(texts)))
    for start in range(0, len(pool.images), size):
        images = pool.images[start : start + size]
        matrix = matrix_of.block(slice(start, start + len(images)), slice(0, len(texts)))
        truth = np.zeros(matrix.shape, dtype=bool)
        for row, image in enumerate(images):
            truth[row, [column_of[text] for text in true_of[image] if text in column_of]] = True
        asked = sample_mask(replace(pool, images=images), true_of)
        false = asked & ~truth
        best = np.concatenate([_best(matrix, mask) for mask in (truth, false)], axis=1)
        there = best >= 0
        reasons = np.where((np.isfinite(matrix) | ~asked).all(axis=1), "", NOT_A_NUMBER).astype(
            object
        )
        reasons[np.isnan(matrix).all(axis=1)] = MISSING
        if len(codes) < len(texts):
            alike = [
                np.isin(reading[own], reading[other]).any()
                for own, other in zip(truth, false, strict=True)
            ]
            reasons[np.array(alike)] = TRUNCATED
        directions = np.zeros((len(images), 2, N_DIRECTIONS))
        if said is not None:
            directions = error_directions(
                matrix, truth, false, np.arange(len(texts)), said, scores.tolerance
            )
        yield (
            np.where(there, matrix[np.arange(len(images))[:, None], best], np.float32(np.nan)),
            np.where(there, texts[best], ""),
            there,
            reasons,
            chance(truth.sum(axis=1), false.sum(axis=1)),
            directions,
        )


def _best(matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The columns of the TOP highest scores of each row (n, m) where the mask is true: int64 (n,
    TOP), highest first, ties by column; −1 if there are fewer."""
    left = np.where(mask, matrix, -np.inf)
    found = np.full((len(matrix), TOP), -1)
    for i in range(TOP):
        column = left.argmax(axis=1)
        rows = np.flatnonzero(mask.sum(axis=1) > i)
        found[rows, i] = column[rows]
        left[np.arange(len(left)), column] = -np.inf
    return found
