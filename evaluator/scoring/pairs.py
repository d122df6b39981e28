"""Score models that read an image and a text together: each distinct pair is scored once, in
batches grouped by image."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from evaluator.metrics.comparison import TOLERANCE
from evaluator.models.contracts import PairScorer
from evaluator.scoring.batches import DEFAULT, Job, Settings, compute
from evaluator.scoring.dual import cache_key
from evaluator.scoring.needs import Distinct, Needs, words
from evaluator.scoring.store import SCORES, Process, VectorCache
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Images


def score_pairs(
    model: PairScorer,
    world: Images,
    benchmark: Benchmark,
    needs: Needs,
    names: Sequence[str],
    out: Path,
    settings: Settings,
    process: Process,
    cache_folder: Path | None,
) -> None:
    """Score pairs that are not in the cache; the main process writes scores.parquet and
    pools/*.npy.

    names: the name of each text in the cache, in the order of the needs. The requested batch size
        also sets the model's
    own. Results are stored after each batch of that size, by default of DEFAULT pairs.
    """
    if settings.batch is not None:
        model.batch.size = settings.batch
    if settings.precision != "float32":  # rounding is coarser than a model's own tolerance
        model.tie_tolerance = max(model.tie_tolerance, TOLERANCE)
    pairs = _DistinctPairs(model, world, benchmark, needs, names)
    kept = partial(
        VectorCache.of_model, SCORES, cache_key(model.key, settings.precision), cache_folder
    )
    load = world.image if model.reads_images else str
    job = Job(
        "pair", pairs.total, pairs.names, pairs.plan, pairs.images, load, pairs.compute, pairs.units
    )
    scores = compute(job, kept(), out, settings, process)
    if scores is None:
        return
    _write(out, needs, pairs, scores, model.channels)
    if model.asks_again:
        with kept() as cache:
            cache.forget(pairs.names(np.flatnonzero(np.isnan(scores).all(axis=1))))


class _DistinctPairs:
    """The distinct pairs in scoring order: sorted by image, with the pairs of a contest together.

    Pairs are distinct by the contents of image and text. A row is the index of a pair in this
    order. Stores only integer arrays; names and words are made for requested rows.
    """

    def __init__(
        self,
        model: PairScorer,
        world: Images,
        benchmark: Benchmark,
        needs: Needs,
        names: Sequence[str],
    ):
        self._model, self._image_ids = model, needs.images
        self._words = words(benchmark, needs.texts)
        self._images = Distinct([world.image_digest(image) for image in needs.images.to_pylist()])
        self._texts = Distinct(names)
        members, sizes = _blocks(needs)
        image, text = np.divmod(members, len(needs.texts))
        self._keys, first, place = np.unique(
            self._keys_of(image, text), return_index=True, return_inverse=True
        )  # first: the first occurrence of each pair
        order = np.argsort(first)
        self._row_of = np.empty(len(order), np.int32)
        self._row_of[order] = np.arange(len(order))
        self._image = self._images.first[self._images.place[image[first[order]]]].astype(np.int32)
        self._text = text[first[order]].astype(np.int32)
        self.total = len(order)
        contest = np.repeat(np.arange(len(sizes)), sizes)
        members_of = (np.ones(len(place), bool), (self._row_of[place], contest))
        self._contests = csr_array(members_of, (self.total, len(sizes)))  # (rows, contests)
        self._order, self._ends = self._components(image, contest)
        self._contested = model.contested
        self._members = self._member_digests() if self._contested else None

    def rows(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """The rows of pairs, given by the rows of their images and texts in the needs."""
        return self._row_of[np.searchsorted(self._keys, self._keys_of(images, texts))]

    def names(self, rows: np.ndarray) -> list[str]:
        """The names of rows in the cache. For a model that is `contested` they include a digest of
        the row's component, so that a component is read from the cache as a whole or not at all."""
        names = self._plain_names(rows)
        if self._members is None:
            return names
        return [
            f"{name}:{self._members[each]}"
            for name, each in zip(names, self._component[rows], strict=True)
        ]

    def plan(self, batch: int) -> list[np.ndarray]:
        """Packs connected components into batches. Components of more than max(batch, DEFAULT)
        pairs are split unless the model is `contested`; smaller ones are not, so that computations
        on their images are done once."""
        most = max(batch, DEFAULT)
        cuts = [0]
        start = 0
        for end in self._ends.tolist():
            if start > cuts[-1] and end - cuts[-1] > batch:
                cuts.append(start)
            while end - cuts[-1] > most and not self._contested:
                cuts.append(cuts[-1] + most)
            start = end
        return [self._order[a:b] for a, b in pairwise([*cuts, self.total]) if a < b]

    def units(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows of a batch, divided into components where the model is `contested`, else into single
        rows."""
        if self._members is None:
            return list(rows)
        return np.split(rows, np.flatnonzero(np.diff(self._component[rows])) + 1)

    def images(self, rows: np.ndarray) -> list[str]:
        """The distinct images of some rows."""
        return self._image_ids.take(
            pa.array(list(dict.fromkeys(self._image[rows].tolist())))
        ).to_pylist()

    def compute(self, rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        """Scores, float32 (rows, channels). Raises UserError when the model gives another shape."""
        place_of: dict[int, int] = {}
        places = [place_of.setdefault(image, len(place_of)) for image in self._image[rows].tolist()]
        said = self._words.take(pa.array(self._text[rows])).to_pylist()
        scores = np.asarray(
            self._model.score_pairs(
                [images[image] for image in self.images(rows)],
                list(zip(places, said, strict=True)),
                self._contests_among(rows),
            ),
            dtype=np.float32,
        )
        expected = (len(rows), len(self._model.channels))
        if scores.shape != expected:
            raise UserError(
                f"The model gave scores of the shape {scores.shape}, expected {expected}: a row "
                f"per pair, a column per channel; mend its score_pairs."
            )
        return scores

    def _contests_among(self, rows: np.ndarray) -> list[list[int]]:
        """The contests of two or more of `rows`, as lists of indices into `rows`; other rows of a
        contest are left out."""
        places, contests = self._contests[rows].nonzero()
        order = np.lexsort((places, contests))
        groups = np.split(places[order], np.flatnonzero(np.diff(contests[order])) + 1)
        return [group.tolist() for group in groups if len(group) > 1]

    def _member_digests(self) -> list[str]:
        """A digest of the names of each component; sets `_component`, the component of each row."""
        self._component = np.empty(self.total, np.int32)
        digests = []
        for i, (start, end) in enumerate(pairwise([0, *self._ends.tolist()])):
            rows = self._order[start:end]
            self._component[rows] = i
            digests.append(
                hashlib.sha256("\n".join(sorted(self._plain_names(rows))).encode()).hexdigest()[:16]
            )
        return digests

    def _components(self, image: np.ndarray, contest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Connected components of rows that share an image or a contest, in the order of their
        first row. Returns the rows, sorted within each component, int32 (rows,), and the end of
        each component. The graph has images as nodes, since the rows of an image belong
        together."""
        shown = self._images.place[image]
        linked = np.flatnonzero((contest[1:] == contest[:-1]) & (shown[1:] != shown[:-1]))
        n = len(self._images)
        graph = csr_array(
            (np.ones(len(linked), np.int8), (shown[linked], shown[linked + 1])), (n, n)
        )
        label = connected_components(graph, directed=False)[1][self._images.place[self._image]]
        _, first, found = np.unique(label, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first))
        return np.argsort(rank[found], kind="stable").astype(np.int32), np.cumsum(
            np.bincount(rank[found])
        )

    def _keys_of(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        return self._images.place[images] * len(self._texts) + self._texts.place[texts]

    def _plain_names(self, rows: np.ndarray) -> list[str]:
        sides = (
            self._images.of(self._images.place[self._image[rows]]),
            self._texts.of(self._texts.place[self._text[rows]]),
        )
        return [f"{image}:{text}" for image, text in zip(*sides, strict=True)]


def _blocks(needs: Needs) -> tuple[np.ndarray, np.ndarray]:
    """The groups of pairs to score together (contests, and each image of a pool with its texts),
    sorted by their first pair: the concatenated keys of their pairs, int64, and the size of each
    group."""
    pools = [needs.pool_keys(name) for name in needs.pools]
    members = np.concatenate(
        [needs.keys(*needs.pairs)[needs.contests], *(keys.ravel() for keys in pools)]
    )
    sizes = np.concatenate(
        [np.diff(needs.offsets), *(np.full(len(keys), keys.shape[1]) for keys in pools)]
    )
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(np.minimum.reduceat(members, starts), kind="stable")
    return members[_ranges(starts[order], sizes[order])], sizes[order]


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Concatenated ranges: start … start + size − 1 for each start and size.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def _write(
    out: Path, needs: Needs, pairs: _DistinctPairs, scores: np.ndarray, channels: Sequence[str]
) -> None:
    """Write the files from the scores of the distinct pairs, float32 (rows, channels)."""
    write_scores(out, *needs.ids(), scores[pairs.rows(*needs.pairs)], channels)
    for pool, (images, texts) in needs.pools.items():
        rows = pairs.rows(images[:, None], texts)
        for i, channel in enumerate(channels):
            write_matrix(pool_path(out, pool, channel, i), scores[rows, i])
