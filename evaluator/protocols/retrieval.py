"""R@1: the truth against a pool of texts, several of which may be true (protocols, section 1; Peng et al. 2026, section 3.1)."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluator.protocols.assertions import read_assertions
from evaluator.protocols.comparison import chance
from evaluator.protocols.errors import N_DIRECTIONS, candidate_errors, error_directions, error_rows
from evaluator.protocols.items import (
    MISSING,
    NOT_A_NUMBER,
    TRUNCATED,
    Items,
    item_columns,
    positions,
    sorted_rows,
    strings,
)
from evaluator.protocols.pools import Pool, sample_mask, true_texts
from evaluator.protocols.protocol import Protocol, lazy
from evaluator.protocols.results import ProtocolResults, Results, recall, tabulate
from evaluator.protocols.scores import Scores


class Retrieval(Protocol):
    """R@1 by kind and split, and which way the errors go. With a sampled pool, which is easier, the metric has another name."""

    name = "retrieval"
    tables = (lazy("evaluator.report.latex:by_split"), lazy("evaluator.report.latex:errors"))

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
    """The items with the best true and the best false text of their pool as candidates, the chance (n,) of each, and the
    directions of their errors (`error_directions`), zeros where texts have no form."""
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
        images = [image_of[scene] for scene in scene_of[members]]
        column_of = {name: i for i, name in enumerate(pool.texts)}
        truth = np.zeros((len(members), len(pool.texts)), dtype=bool)
        inside = true & (row_of[item] >= 0)
        truth[row_of[item[inside]], [column_of[text] for text in texts[inside]]] = True
        parts.append(
            _best_of_pool(pool, scores.matrix(pool)[images], truth, sample_mask(pool, true_of)[images], scores)
        )
        order.append(members)
    back = np.argsort(np.concatenate(order))
    best, names, reasons, by_chance, directions = (np.concatenate(column)[back] for column in zip(*parts, strict=True))
    n = table.num_rows
    places = np.tile([True, False], (n, 1))
    items = Items(
        **item_columns(table), scene_id=scene_of, level=np.full(n, "", dtype=object), counts=np.full((n, 3), -1), scores=best,
        truth=places, false=~places, slot=np.tile(np.array(["c", "n"], dtype=object), (n, 1)),
        candidate_kind=np.full((n, 2), "", dtype=object), text_id=names, unscored=reasons, tolerance=scores.tolerance,
    )  # fmt: skip
    return scores.for_intervals(items), by_chance, directions


def _best_of_pool(
    pool: Pool, matrix: np.ndarray, truth: np.ndarray, asked: np.ndarray, scores: Scores
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n, 2) and text ids (n, 2) of the best true and best false text, reasons (n,), chance (n,) and directions of errors.

    matrix: scores (n, texts). truth, asked: which texts are true and which are in the sample, bool (n, texts).
    """
    rows, texts = np.arange(len(matrix)), np.array(pool.texts, dtype=object)
    false = asked & ~truth
    best = [np.where(mask, matrix, -np.inf).argmax(axis=1) for mask in (truth, false)]
    reasons = np.where((np.isfinite(matrix) | ~asked).all(axis=1), "", NOT_A_NUMBER).astype(object)
    reasons[np.isnan(matrix).all(axis=1)] = MISSING
    _, reading = np.unique([scores.indistinct.get(text, text) for text in texts], return_inverse=True)
    if len(set(reading.tolist())) < len(reading):
        for i in rows:
            if np.isin(reading[truth[i]], reading[false[i]]).any():
                reasons[i] = TRUNCATED
    best_scores = np.stack([matrix[rows, column] for column in best], axis=1)
    by_chance = chance(truth.sum(axis=1), false.sum(axis=1))
    said = read_assertions(scores.benchmark, pool.texts)
    if said is None:
        directions = np.zeros((len(matrix), 2, N_DIRECTIONS))
    else:
        directions = error_directions(matrix, truth, false, np.arange(len(texts)), said, scores.tolerance)
    return best_scores, np.stack([texts[column] for column in best], axis=1), reasons, by_chance, directions
