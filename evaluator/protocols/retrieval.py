"""Retrieval: R@k and the reciprocal rank of the true text in a pool of texts, several of which may
be true (protocols, section 1; Peng et al. 2026, section 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from evaluator.metrics.comparison import Ranks, chance, ranks_of_rows, reciprocal_chance
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
from evaluator.protocols.outcomes import Outcome, recall, right
from evaluator.protocols.pools import Pool, sample_mask, true_texts
from evaluator.protocols.results import Protocol, ProtocolResults, tabulate
from evaluator.protocols.scores import Scores

_SCORES_AT_ONCE = 2_000_000
"""Maximum number of scores of a pool in memory at once."""
_MORE_RANKS = (5, 10)
"""The other k of R@k, as retrieval is usually reported."""


class Retrieval(Protocol):
    """R@1 by kind and split, and the directions of errors. Over a pool also R@5, R@10 and the mean
    reciprocal rank (MRR). With a sampled pool, which is easier, the metrics have different
    names."""

    name = "retrieval"

    def measure(self, scores: Scores) -> ProtocolResults:
        if not scores.pools:  # each item's candidates are all its texts
            items = scores.items(self.name)
            recall_at_1 = recall(items, items.false)
            rows = tabulate(items, [recall_at_1], ["kind"]) + candidate_errors(scores, items)
            return ProtocolResults(items, [recall_at_1], rows)
        pooled = _pooled_items(scores, self.name)
        is_sampled = any(pool.sample is not None for pool in scores.pools)
        outcomes = _outcomes(pooled, ", sampled pool" if is_sampled else "")
        rows = tabulate(pooled.items, outcomes, ["kind"])
        rows += error_rows(pooled.items, pooled.directions)
        return ProtocolResults(pooled.items, outcomes, rows)


@dataclass(frozen=True, kw_only=True)
class _PooledItems:
    """n items that are asked against pools."""

    items: Items
    """The items, with the TOP best true and the TOP best false texts of their pool as
    candidates."""
    ranks: Ranks
    """Their ranks in the whole pool, n queries."""
    n_texts: np.ndarray
    """int64 (n, 2): numbers of true and of false texts."""
    directions: np.ndarray
    """The directions of their errors (`error_directions`); zeros if texts have no form."""


def _outcomes(pooled: _PooledItems, of_sample: str) -> list[Outcome]:
    """R@1, R@k for the k that are smaller than every pool, and the reciprocal rank.

    of_sample: ends the names of metrics, if the pool is a sample.
    """
    n_true, n_false = pooled.n_texts.T
    ranks = pooled.ranks
    outcomes = []
    for k in (1, *_MORE_RANKS):
        # Among k texts or fewer, R@k is always right.
        if k == 1 or (n_false >= k).all():
            won = (ranks.recall(k), ranks.lost_to_ties(k))
            outcomes.append(right(f"R@{k}{of_sample}", chance(n_true, n_false, k), won))
    outcomes.append(
        Outcome(
            f"MRR{of_sample}",
            value=ranks.reciprocal(),
            tie=ranks.at_or_above > ranks.above,
            chance=reciprocal_chance(n_true, n_false),
        )
    )
    return outcomes


@dataclass(frozen=True)
class _PoolBlock:
    """The best texts of n images of a pool: TOP true ones, then TOP false ones, best first."""

    scores: np.ndarray
    """float32 (n, 2 TOP); nan where there is no such text."""
    text_ids: np.ndarray
    """(n, 2 TOP); "" where there is no such text."""
    is_text: np.ndarray
    """bool (n, 2 TOP): whether there is such a text."""
    unscored: np.ndarray
    """(n,): why an image has no score; "" for a scored one."""
    at_or_above: np.ndarray
    """int64 (n,): the false texts that score at or above the best true one (`Ranks`)."""
    above: np.ndarray
    """int64 (n,): the false texts that score above it."""
    n_texts: np.ndarray
    """int64 (n, 2): numbers of true and of false texts."""
    directions: np.ndarray
    """float64 (n, 2, N_DIRECTIONS): directions of errors; zeros if texts have no form."""


def _pooled_items(scores: Scores, protocol: str) -> _PooledItems:
    """Read the items of a protocol, their ranks and the directions of their errors."""
    benchmark = scores.benchmark
    table = benchmark.items.take(pa.array(sorted_rows(benchmark, protocol)))
    n = table.num_rows
    scene_of_item = _first_scenes(scores, table)
    true_of_image = true_texts(benchmark)
    blocks = []
    for pool in scores.pools:
        blocks += list(_read_pool(pool, scores, true_of_image))
    # The row of each item's image in the blocks, which follow the order of pools and images.
    images: list[tuple[str, str]] = []
    for pool in scores.pools:
        images += [(pool.name, image) for image in pool.images]
    row_of_image = {image: row for row, image in enumerate(images)}
    pools_and_scenes = zip(strings(table["pool_id"]), scene_of_item, strict=True)
    rows = [row_of_image[pool_and_scene] for pool_and_scene in pools_and_scenes]

    def of_items(name: str) -> np.ndarray:
        of_images: np.ndarray = np.concatenate([getattr(block, name) for block in blocks])
        return of_images[rows]

    is_text = of_items("is_text")
    is_true = np.arange(2 * TOP) < TOP
    items = Items(
        **item_columns(table),
        scene_id=scene_of_item,
        level=np.full(n, "", dtype=object),
        counts=np.full((n, 3), -1),
        scores=of_items("scores"),
        truth=is_text & is_true,
        false=is_text & ~is_true,
        slot=np.tile(np.where(is_true, "c", "n").astype(object), (n, 1)),
        candidate_kind=np.full((n, 2 * TOP), "", dtype=object),
        text_id=of_items("text_ids"),
        unscored=of_items("unscored"),
        rules=scores.rules,
    )
    return _PooledItems(
        items=scores.for_intervals(items),
        ranks=Ranks(of_items("at_or_above"), of_items("above")),
        n_texts=of_items("n_texts"),
        directions=of_items("directions"),
    )


def _first_scenes(scores: Scores, items: pa.Table) -> np.ndarray:
    """The scene (n,) of the first candidate of each of n items; "" for an item without one."""
    candidates = scores.benchmark.candidates
    item = positions(candidates["item_id"], items["item_id"])
    is_of_items = item >= 0
    scenes = np.full(items.num_rows, "", dtype=object)
    item_of_candidate = item[is_of_items]
    scene_of_candidate = strings(candidates["scene_id"])[is_of_items]
    # In reverse order, the first candidate of an item is written last, and stays.
    scenes[item_of_candidate[::-1]] = scene_of_candidate[::-1]
    return scenes


def _read_pool(
    pool: Pool, scores: Scores, true_of_image: dict[str, set[str]]
) -> Iterator[_PoolBlock]:
    """Read the scores of a pool, some images at a time."""
    matrix_of_pool = scores.matrix(pool)
    text_ids = np.array(pool.texts, dtype=object)
    column_of_text = {text: column for column, text in enumerate(pool.texts)}
    inputs = _input_codes(pool, scores)
    has_equal_inputs = len(set(inputs.tolist())) < len(inputs)
    assertions = read_assertions(scores.benchmark, pool.texts)
    all_columns = slice(0, len(text_ids))
    size = max(1, _SCORES_AT_ONCE // max(1, len(text_ids)))
    for start in range(0, len(pool.images), size):
        images = pool.images[start : start + size]
        rows = slice(start, start + len(images))
        matrix = matrix_of_pool.block(rows, all_columns)

        # Which texts are true of each image, and which false ones it is scored with.
        truth = np.zeros(matrix.shape, dtype=bool)
        for row, image in enumerate(images):
            for text in true_of_image[image]:
                # A text may be true of the image and in another pool.
                if text in column_of_text:
                    truth[row, column_of_text[text]] = True
        is_asked = sample_mask(replace(pool, images=images), true_of_image)
        false = is_asked & ~truth

        unscored = _reasons(matrix, is_asked)
        if has_equal_inputs:
            for row in range(len(images)):
                if np.isin(inputs[truth[row]], inputs[false[row]]).any():
                    unscored[row] = TRUNCATED
        directions = np.zeros((len(images), 2, N_DIRECTIONS))
        if assertions is not None:
            directions = error_directions(
                matrix,
                truth,
                false,
                texts=np.arange(len(text_ids)),
                assertions=assertions,
                tolerance=scores.rules.tolerance,
            )
        best = np.concatenate([_best(matrix, truth), _best(matrix, false)], axis=1)
        is_text = best >= 0
        best_scores = matrix[np.arange(len(images))[:, None], best]
        ranks = ranks_of_rows(matrix, truth, false, scores.rules.tolerance)
        yield _PoolBlock(
            scores=np.where(is_text, best_scores, np.float32(np.nan)),
            text_ids=np.where(is_text, text_ids[best], ""),
            is_text=is_text,
            unscored=unscored,
            at_or_above=ranks.at_or_above,
            above=ranks.above,
            n_texts=np.stack([truth.sum(axis=1), false.sum(axis=1)], axis=1),
            directions=directions,
        )


def _input_codes(pool: Pool, scores: Scores) -> np.ndarray:
    """A code of the model's input for each text of a pool; equal for texts that the model cannot
    tell apart."""
    code_of: dict[str, int] = {}
    inputs = [scores.indistinct.get(text, text) for text in pool.texts]
    return np.array([code_of.setdefault(text, len(code_of)) for text in inputs])


def _reasons(matrix: np.ndarray, is_asked: np.ndarray) -> np.ndarray:
    """Why each of n images has no score, "" if it has; from the scores and the texts that are asked
    about, both (n, texts)."""
    is_complete = (np.isfinite(matrix) | ~is_asked).all(axis=1)
    reasons: np.ndarray = np.where(is_complete, "", NOT_A_NUMBER).astype(object)
    reasons[np.isnan(matrix).all(axis=1)] = MISSING
    return reasons


def _best(matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The columns of the TOP highest scores of each row (n, m) where the mask is true: int64 (n,
    TOP), highest first, ties by column; −1 if there are fewer."""
    # The highest is taken out again and again: few are needed, and a sort would be slower.
    remaining = np.where(mask, matrix, -np.inf)
    n_candidates = mask.sum(axis=1)
    best = np.full((len(matrix), TOP), -1)
    for rank in range(TOP):
        column = remaining.argmax(axis=1)
        has_more = np.flatnonzero(n_candidates > rank)
        best[has_more, rank] = column[has_more]
        remaining[np.arange(len(remaining)), column] = -np.inf
    return best
