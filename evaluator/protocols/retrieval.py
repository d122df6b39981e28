"""R@1: the truth against a pool of texts, several of which may be true (protocols, section 1; Peng et al. 2026, section 3.1)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluator.protocols.comparison import chance
from evaluator.protocols.items import NOT_A_NUMBER, TRUNCATED, Items, head, positions, sorted_items, strings
from evaluator.protocols.outcomes import Measured, recall, tabulate
from generator.dataset.reader import Benchmark


def measure(items: Items, by_chance: np.ndarray, sampled: bool = False) -> Measured:
    """R@1 by split, from each item's best true and best false text; `by_chance` (n,) says how large its pool is.

    What a sampled pool gives has another name, since it is easier.
    """
    first = replace(recall(items, items.false, "R@1, sampled pool" if sampled else "R@1"), chance=by_chance)
    return Measured(items, [first], tabulate(items, [first], ["kind"]))


def load_pools(
    benchmark: Benchmark,
    pools: dict[str, tuple[list[str], list[str]]],
    matrix_of: Callable[[str], np.ndarray],
    indistinct: dict[str, str],
    asked_of: Callable[[str], np.ndarray | None] = lambda pool: None,
) -> tuple[Items, np.ndarray]:
    """The retrieval items with the best true and the best false text of their pool, and the chance of each.

    `pools` says the images and the texts of each pool, `matrix_of` gives its scores, float32 (images, texts), and
    `asked_of` which texts of it are asked of each image, bool (images, texts), None for all.
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
        place = {name: i for i, name in enumerate(images)}
        image = [place[scene] for scene in scene_of[chosen]]
        matrix, asked = matrix_of(pool)[image], asked_of(pool)
        column = {name: i for i, name in enumerate(members)}
        truth = np.zeros(matrix.shape, dtype=bool)
        inside = true & (row[item] >= 0)
        truth[row[item[inside]], [column[text] for text in texts[inside]]] = True
        within = np.ones(matrix.shape, dtype=bool) if asked is None else asked[image]
        parts.append(_best(matrix, truth, within, np.array(members, dtype=object), indistinct))
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
    matrix: np.ndarray, truth: np.ndarray, asked: np.ndarray, members: np.ndarray, indistinct: dict[str, str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n, 2) and text ids (n, 2) of the best true and false text asked, reasons (n,) and chance (n,)."""
    rows = np.arange(len(matrix))
    false = asked & ~truth
    places = [np.where(mask, matrix, -np.inf).argmax(axis=1) for mask in (truth, false)]
    reasons = np.where((np.isfinite(matrix) | ~asked).all(axis=1), "", NOT_A_NUMBER).astype(object)
    _, read = np.unique([indistinct.get(text, text) for text in members], return_inverse=True)
    if len(set(read.tolist())) < len(read):
        for i in rows:
            if np.isin(read[truth[i]], read[false[i]]).any():
                reasons[i] = TRUNCATED
    scores = np.stack([matrix[rows, place] for place in places], axis=1)
    by_chance = chance(truth.sum(axis=1), false.sum(axis=1))
    return scores, np.stack([members[p] for p in places], axis=1), reasons, by_chance
