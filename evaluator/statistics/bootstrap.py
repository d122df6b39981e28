"""The cluster bootstrap: means over clusters drawn with replacement."""

from functools import lru_cache

import numpy as np

DRAWS = 10_000


def cluster_totals(outcomes: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the outcomes and number of items of each cluster, float64.

    outcomes (n,) or (n, k), clusters (n,); returns sums (clusters,) or (clusters, k), and sizes (clusters,).
    """
    _, codes = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(codes).astype(float)
    columns = outcomes.astype(float).reshape(len(outcomes), -1).T
    sums = np.stack([np.bincount(codes, weights=column) for column in columns], axis=1)
    return sums.reshape(len(sizes), *outcomes.shape[1:]), sizes


def bootstrap_means(sums: np.ndarray, sizes: np.ndarray, seed: int) -> np.ndarray:
    """Means (DRAWS,) or (DRAWS, k) over clusters drawn with replacement.

    sums (clusters,) or (clusters, k) and sizes (clusters,) are those of `cluster_totals`. Clusters with equal sums and
    sizes are exchangeable, so only the number of times that each distinct one is drawn is simulated.
    """
    distinct, counts = np.unique(np.column_stack([sums, sizes]), axis=0, return_counts=True)
    totals = _drawn_totals(distinct.tobytes(), counts.astype(np.int64).tobytes(), seed)
    return (totals[:, :-1] / totals[:, -1:]).reshape(DRAWS, *sums.shape[1:])


@lru_cache(maxsize=8)  # a split's mean and its gaps to two other splits use the same draws
def _drawn_totals(distinct: bytes, counts: bytes, seed: int) -> np.ndarray:
    """Totals (DRAWS, k) over the drawn clusters, from the distinct clusters (m, k) float64 and how many there are of each."""
    times = np.frombuffer(counts, np.int64)
    values = np.frombuffer(distinct).reshape(len(times), -1)
    rng = np.random.default_rng(seed)
    totals = np.empty((DRAWS, values.shape[1]))
    rows = max(1, 1_000_000 // min(int(times.sum()), 8 * len(times)))
    for start in range(0, DRAWS, rows):
        part = totals[start : start + rows]
        part[:] = _draw_counts(times, len(part), rng) @ values
    return totals


def _draw_counts(times: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """How often each distinct cluster is drawn, (rows, m); every row draws as many clusters as there are."""
    n, m = int(times.sum()), len(times)
    if n > 8 * m:  # with few distinct clusters a multinomial draw is faster than drawing the clusters themselves
        return rng.multinomial(n, times / n, size=rows).astype(float)
    drawn = np.repeat(np.arange(m), times)[rng.integers(0, n, (rows, n), dtype=np.int32)]
    drawn += m * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * m).reshape(rows, m).astype(float)
