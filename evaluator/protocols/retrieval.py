"""R@1: the truth against a pool of texts, several of which may be true (protocols, section 1; Peng et al. 2026, section 3.1)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluator.protocols.comparison import chance
from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED, Items, head, positions, sorted_items, strings
from evaluator.protocols.outcomes import Measured, recall, tabulate
from generator.dataset.reader import Benchmark


def measure(items: Items, by_chance: np.ndarray) -> Measured:
    """R@1 by split, from each item's best true and best false text; `by_chance` (n,) says how large its pool is."""
    first = replace(recall(items, items.false), chance=by_chance)
    return Measured(items, [first], tabulate(items, [first], ["kind"]))


def load_pools(
    benchmark: Benchmark,
    pools: dict[str, tuple[list[str], list[str]]],
    matrix_of: Callable[[str], np.ndarray],
    indistinct: dict[str, str],
) -> tuple[Items, np.ndarray]:
    """The retrieval items with the best true and the best false text of their pool, and the chance of each.

    `pools` says the images and the texts of each pool, and `matrix_of` gives its scores, float32 (images, texts).
    """
    table = benchmark.items.take(pa.array(sorted_items(benchmark, "retrieval")))
    rows = benchmark.candidates
    item = positions(rows["item_id"], table["item_id"])
    rows, item = rows.filter(pa.array(item >= 0)), item[item >= 0]
    pool_of, scene_of = strings(table["pool_id"]), np.full(table.num_rows, "", dtype=object)
    scene_of[item[::-1]] = strings(rows["scene_id"])[::-1]
    true = np.asarray(rows["truth"].to_numpy(zero_copy_only=False), dtype=bool)
    texts = strings(rows["text_id"])
    parts, order = [], []
    for pool, (images, members) in pools.items():
        chosen = np.flatnonzero(pool_of == pool)
        row = np.full(table.num_rows, -1)
        row[chosen] = np.arange(len(chosen))
        matrix = matrix_of(pool)[[{name: i for i, name in enumerate(images)}[scene] for scene in scene_of[chosen]]]
        column = {name: i for i, name in enumerate(members)}
        truth = np.zeros(matrix.shape, dtype=bool)
        inside = true & (row[item] >= 0)
        truth[row[item[inside]], [column[text] for text in texts[inside]]] = True
        parts.append(_best(matrix, truth, np.array(members, dtype=object), indistinct))
        order.append(chosen)
    back = np.argsort(np.concatenate(order))
    scores, names, reasons, by_chance = (np.concatenate(column)[back] for column in zip(*parts, strict=True))
    n = table.num_rows
    places = np.tile([True, False], (n, 1))
    items = Items(
        **head(table), scene_id=scene_of, level=np.full(n, "", dtype=object), counts=np.full((n, 3), -1), scores=scores,
        truth=places, false=~places, slot=np.tile(np.array(["c", "n"], dtype=object), (n, 1)),
        candidate_kind=np.full((n, 2), "", dtype=object), text_id=names, unscored=reasons,
    )  # fmt: skip
    return items, by_chance


def _best(
    matrix: np.ndarray, truth: np.ndarray, members: np.ndarray, indistinct: dict[str, str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n, 2) and text ids (n, 2) of the best true and false text, reasons (n,) and chance (n,)."""
    finite = np.isfinite(matrix).all(axis=1)
    rows = np.arange(len(matrix))
    places = [np.where(mask, matrix, -np.inf).argmax(axis=1) for mask in (truth, ~truth)]
    reasons = np.where(finite, "", NOT_A_NUMBER).astype(object)
    _, read = np.unique([indistinct.get(text, text) for text in members], return_inverse=True)
    sizes = np.bincount(read)
    for i in rows:
        true = np.flatnonzero(truth[i])
        alike = np.bincount(read[true], minlength=1)
        if (sizes[read[true]] > alike[read[true]]).any():
            reasons[i] = TRUNCATED
    scores = np.stack([matrix[rows, place] for place in places], axis=1)
    n_true = truth.sum(axis=1)
    return scores, np.stack([members[p] for p in places], axis=1), reasons, chance(n_true, truth.shape[1] - n_true)
