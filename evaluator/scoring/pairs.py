"""Score models that read an image and a text together: each distinct pair is scored once, in
batches grouped by image.

The method: `_DistinctPairs` lists the pairs that are distinct by content, in an order in which the
pairs of an image, and the pairs that a protocol compares, stand together; `plan` packs them into
batches; `evaluator.scoring.batches` runs these; `_write` looks the score of each needed pair up.
"""

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
from evaluator.scoring.needs import DistinctNames, Needs, words
from evaluator.scoring.store import SCORES, Process, VectorCache
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Images


def score_pairs(
    model: PairScorer,
    world: Images,
    *,
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

    Args:
        model: The model.
        world: The images.
        benchmark: The texts.
        needs: The pairs to score.
        names: The name of each text in the cache, in the order of the needs.
        out: The folder of the run.
        settings: Device, precision and batch size. A requested batch size also sets the model's
            own. Results are stored after each batch of that size, by default of DEFAULT pairs.
        process: This process; each scores its share.
        cache_folder: The folder of the cache; None for the user's.
    """
    if settings.batch is not None:
        model.batch.size = settings.batch
    if settings.precision != "float32":
        # Rounding is coarser than the tolerance that a model declares for float32.
        model.tie_tolerance = max(model.tie_tolerance, TOLERANCE)
    pairs = _DistinctPairs(model, world, benchmark=benchmark, needs=needs, names=names)
    open_cache = partial(
        VectorCache.of_model, SCORES, cache_key(model.key, settings.precision), cache_folder
    )
    job = Job(
        item="pair",
        total=pairs.total,
        names=pairs.names,
        plan=pairs.plan,
        images=pairs.images,
        load=world.image if model.reads_images else str,
        compute=pairs.compute,
        units=pairs.units,
    )
    scores = compute(job, open_cache(), out=out, settings=settings, process=process)
    if scores is None:
        return
    _write(out, needs, pairs=pairs, scores=scores, channels=model.channels)
    # A request that failed may succeed in the next run, so its missing score is not kept.
    if model.asks_again:
        unanswered = np.flatnonzero(np.isnan(scores).all(axis=1))
        with open_cache() as cache:
            cache.forget(pairs.names(unanswered))


class _DistinctPairs:
    """The distinct pairs in scoring order: sorted by image, with the pairs of a contest together.

    Pairs are distinct by the contents of image and text: two files of one image are one image. A
    "row" is the index of a distinct pair in scoring order. Only arrays of integers are stored,
    since there may be many millions of pairs; names and words are made for the rows of a batch.
    """

    def __init__(
        self,
        model: PairScorer,
        world: Images,
        *,
        benchmark: Benchmark,
        needs: Needs,
        names: Sequence[str],
    ):
        """List the distinct pairs.

        1. Number the distinct images and texts by their contents.
        2. List the pairs of all contests and pools, group by group. A pair may occur in several.
        3. Keep the first occurrence of each distinct pair; their order is the scoring order.
        4. Record which rows are in which group.
        5. Join groups that share an image to components, which `plan` packs into batches.
        """
        self._model = model
        self._image_ids = needs.images
        self._words = words(benchmark, needs.texts)

        # 1. Distinct images and texts.
        image_digests = [world.image_digest(image) for image in needs.images.to_pylist()]
        self._images = DistinctNames(image_digests)
        self._texts = DistinctNames(names)

        # 2. The pairs of all groups, as rows of the needs' images and texts.
        keys, group_sizes = _pairs_by_group(needs)
        image, text = np.divmod(keys, len(needs.texts))

        # 3. Distinct pairs. np.unique sorts by content; `first` restores the order of the groups.
        self._contents, first, content_index = np.unique(
            self._contents_of(image, text), return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        first = first[order]
        self.total = len(order)
        self._row_of_content = np.empty(self.total, np.int32)
        self._row_of_content[order] = np.arange(self.total)
        # Equal images are represented by the first of them, so that each is loaded once.
        distinct_image = self._images.index[image[first]]
        self._image = self._images.first[distinct_image].astype(np.int32)
        self._text = text[first].astype(np.int32)

        # 4. A matrix of (rows, groups) that is true where a row is in a group.
        group = np.repeat(np.arange(len(group_sizes)), group_sizes)
        row = self._row_of_content[content_index]
        is_member = np.ones(len(row), bool)
        self._groups = csr_array((is_member, (row, group)), (self.total, len(group_sizes)))

        # 5. Components.
        self._order, self._component_ends = self._components(image, group)
        self._is_contested = model.contested
        self._component_of_row, self._component_digests = self._digest_components()

    def rows(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """The rows of pairs, given by the rows of their images and texts in the needs."""
        content_index = np.searchsorted(self._contents, self._contents_of(images, texts))
        return self._row_of_content[content_index]

    def names(self, rows: np.ndarray) -> list[str]:
        """The names of rows in the cache.

        For a model that is `contested` they include a digest of the row's component, so that a
        component is read from the cache as a whole or not at all.
        """
        names = self._content_names(rows)
        if not self._is_contested:
            return names
        names_with_component = []
        for name, component in zip(names, self._component_of_row[rows], strict=True):
            names_with_component.append(f"{name}:{self._component_digests[component]}")
        return names_with_component

    def plan(self, batch: int) -> list[np.ndarray]:
        """Pack components into batches of about `batch` rows.

        Components are taken in order, each into the current batch if it fits, else into a new one.
        A component of up to max(batch, DEFAULT) rows is never split, so that what a model computes
        once for an image is not computed again; the batch may then exceed `batch`. A larger one is
        split, unless the model is `contested` and needs it whole.
        """
        largest = max(batch, DEFAULT)
        cuts = [0]
        start = 0
        for end in self._component_ends.tolist():
            batch_has_others = start > cuts[-1]
            if batch_has_others and end - cuts[-1] > batch:
                cuts.append(start)
            while end - cuts[-1] > largest and not self._is_contested:
                cuts.append(cuts[-1] + largest)
            start = end
        cuts.append(self.total)
        return [self._order[start:end] for start, end in pairwise(cuts) if start < end]

    def units(self, rows: np.ndarray) -> list[np.ndarray]:
        """Divide the rows of a batch into units that stay together when memory runs out: components
        if the model is `contested`, else single rows."""
        if not self._is_contested:
            return list(rows)
        starts_component = np.diff(self._component_of_row[rows])
        return np.split(rows, np.flatnonzero(starts_component) + 1)

    def images(self, rows: np.ndarray) -> list[str]:
        """The ids of the distinct images of some rows, in the order of the rows."""
        distinct = list(dict.fromkeys(self._image[rows].tolist()))
        return self._image_ids.take(pa.array(distinct)).to_pylist()

    def compute(self, rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        """Score rows with the model.

        Args:
            rows: The rows.
            images: Each of `self.images(rows)`, loaded.

        Returns:
            float32 (rows, channels).

        Raises:
            UserError: The model gives another shape.
        """
        image_ids = self.images(rows)
        texts = self._words.take(pa.array(self._text[rows])).to_pylist()
        # The index of each row's image in `image_ids`, which has them in the same order.
        index_of: dict[int, int] = {}
        image_indices = []
        for image in self._image[rows].tolist():
            image_indices.append(index_of.setdefault(image, len(index_of)))
        computed = self._model.score_pairs(
            [images[image_id] for image_id in image_ids],
            list(zip(image_indices, texts, strict=True)),
            self._contests_among(rows),
        )
        scores = np.asarray(computed, dtype=np.float32)
        expected = (len(rows), len(self._model.channels))
        if scores.shape != expected:
            raise UserError(
                f"The model gave scores of the shape {scores.shape}, expected {expected}: a row "
                f"per pair, a column per channel; fix its score_pairs."
            )
        return scores

    def _contests_among(self, rows: np.ndarray) -> list[list[int]]:
        """The contests of two or more of `rows`, as lists of indices into `rows`; other rows of a
        contest are left out."""
        indices, groups = self._groups[rows].nonzero()
        order = np.lexsort((indices, groups))
        starts_group = np.diff(groups[order])
        contests = np.split(indices[order], np.flatnonzero(starts_group) + 1)
        # A pair alone is compared with nothing.
        return [contest.tolist() for contest in contests if len(contest) > 1]

    def _components(self, image: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the connected components of rows that share an image or a group.

        The nodes of the graph are the distinct images, since the rows of an image belong together
        anyway; an edge links two neighbouring pairs of a group that have different images.

        Args:
            image: Row in the needs of the image of each pair of all groups.
            group: The group of each of these pairs.

        Returns:
            The rows, sorted within each component, int32 (rows,), with components in the order of
            their first row; and the end of each component, int64.
        """
        distinct_image = self._images.index[image]
        is_same_group = group[1:] == group[:-1]
        is_other_image = distinct_image[1:] != distinct_image[:-1]
        edges = np.flatnonzero(is_same_group & is_other_image)
        ends = (distinct_image[edges], distinct_image[edges + 1])
        node_count = len(self._images)
        graph = csr_array((np.ones(len(edges), np.int8), ends), (node_count, node_count))
        _, component_of_image = connected_components(graph, directed=False)
        component = component_of_image[self._images.index[self._image]]

        # Number the components by their first row.
        _, first_row, compact = np.unique(component, return_index=True, return_inverse=True)
        rank = np.empty(len(first_row), np.int32)
        rank[np.argsort(first_row)] = np.arange(len(first_row))
        ranked = rank[compact]
        order = np.argsort(ranked, kind="stable").astype(np.int32)
        return order, np.cumsum(np.bincount(ranked))

    def _digest_components(self) -> tuple[np.ndarray, list[str]]:
        """The component of each row, int32 (rows,), and a digest of the names in each component;
        both are empty unless the model is `contested`."""
        if not self._is_contested:
            return np.empty(0, np.int32), []
        component_of_row = np.empty(self.total, np.int32)
        digests = []
        ends = [0, *self._component_ends.tolist()]
        for component, (start, end) in enumerate(pairwise(ends)):
            rows = self._order[start:end]
            component_of_row[rows] = component
            # Sorted, so that the same component of another benchmark has the same digest.
            lines = "\n".join(sorted(self._content_names(rows)))
            digests.append(hashlib.sha256(lines.encode()).hexdigest()[:16])
        return component_of_row, digests

    def _contents_of(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """A number for each pair of a row of images and a row of texts in the needs; equal numbers
        have equal contents."""
        image_index = self._images.index[images]
        text_index = self._texts.index[texts]
        return image_index * len(self._texts) + text_index

    def _content_names(self, rows: np.ndarray) -> list[str]:
        """The names of rows by the contents of image and text alone."""
        images = self._images.at(self._images.index[self._image[rows]])
        texts = self._texts.at(self._texts.index[self._text[rows]])
        return [f"{image}:{text}" for image, text in zip(images, texts, strict=True)]


def _pairs_by_group(needs: Needs) -> tuple[np.ndarray, np.ndarray]:
    """List the groups of pairs to score together: contests, and each image of a pool with its
    texts.

    Returns:
        The keys of the groups' pairs, one group after the other, int64, and the size of each group.
        Groups are sorted by their smallest key, and so by image.
    """
    # The keys of all groups, and the size of each: contests, then the images of each pool.
    contest_keys = needs.keys(*needs.pairs)[needs.contests]
    all_keys = [contest_keys]
    all_sizes = [np.diff(needs.offsets)]
    for name in needs.pools:
        pool_keys = needs.pool_keys(name)
        image_count, text_count = pool_keys.shape
        all_keys.append(pool_keys.ravel())
        all_sizes.append(np.full(image_count, text_count))
    keys = np.concatenate(all_keys)
    sizes = np.concatenate(all_sizes)

    # Keys begin with the image, so the groups of an image become neighbours.
    starts = np.cumsum(sizes) - sizes
    smallest_keys = np.minimum.reduceat(keys, starts)
    order = np.argsort(smallest_keys, kind="stable")
    sorted_sizes = sizes[order]
    return keys[_concatenated_ranges(starts[order], sorted_sizes)], sorted_sizes


def _concatenated_ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Concatenated ranges: start … start + size − 1 for each start and size.

    >>> _concatenated_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    positions_before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - positions_before, sizes)


def _write(
    out: Path,
    needs: Needs,
    *,
    pairs: _DistinctPairs,
    scores: np.ndarray,
    channels: Sequence[str],
) -> None:
    """Write the files from the scores of the distinct pairs, float32 (rows, channels)."""
    image_ids, text_ids = needs.ids()
    pair_scores = scores[pairs.rows(*needs.pairs)]
    write_scores(out, image_ids, text_ids, scores=pair_scores, channels=channels)
    for pool, (images, texts) in needs.pools.items():
        rows = pairs.rows(images[:, None], texts)
        for number, channel in enumerate(channels):
            path = pool_path(out, pool, channel=channel, number=number)
            write_matrix(path, scores[rows, number])
