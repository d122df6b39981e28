"""Which scores a benchmark needs from a model, and the limits for slow models."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.models.contracts import Group
from evaluator.protocols import find_protocol
from evaluator.protocols.items import positions
from evaluator.protocols.pools import Pool, item_pools, sampled_columns, true_texts
from generator.dataset.reader import Benchmark

LIMIT = 100_000
"""Maximum forward passes per pool for a model that reads image and text together, without
`--full-pools`."""
SAMPLE = 99
"""False texts per image in a sampled pool."""


@dataclass(frozen=True, eq=False)
class Needs:
    """The scores that protocols need.

    Images and texts are named by their rows in two lists of ids, so that millions of pairs are
    arrays of integers.
    """

    images: pa.Array
    """The distinct ids of images, strings, sorted."""
    texts: pa.Array
    """The distinct ids of texts, strings, sorted."""
    pairs: np.ndarray
    """The distinct candidate pairs, sorted: rows of images and of texts, int32 (2, pairs)."""
    offsets: np.ndarray
    """Contest i is contests[offsets[i] : offsets[i + 1]], int64 (contests + 1,)."""
    contests: np.ndarray
    """The pairs that an item compares, as columns of `pairs`, int32 (rows,). Each pair is in a
    contest."""
    pools: dict[str, tuple[np.ndarray, np.ndarray]]
    """Rows of the images and rows of the texts of each pool, int32; all their pairs are scored."""
    sampled: dict[str, int] = field(default_factory=dict)
    """False texts per image of each pool of which only some texts are scored; the pairs of these
    pools are in `pairs`."""
    folds: dict[str, list[str]] = field(default_factory=dict)
    """The pools of each protocol's raw retrieval."""
    left_out: tuple[str, ...] = ()
    """Protocols whose raw retrieval is not scored."""

    def keys(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Make an int64 key for each pair; keys sort as the pairs do.

        Args:
            images: Rows of images.
            texts: Rows of texts, of the same shape.

        Returns:
            int64 of this shape.
        """
        return images.astype(np.int64) * len(self.texts) + texts

    def pool_keys(self, name: str) -> np.ndarray:
        """The keys of all pairs of a pool, int64 (images, texts)."""
        images, texts = self.pools[name]
        return self.keys(images[:, None], texts)

    def ids(self, rows: np.ndarray | slice = slice(None)) -> tuple[pa.Array, pa.Array]:
        """The image ids and the text ids of the candidate pairs `rows`, by default of all pairs."""
        image, text = self.pairs[:, rows]
        return self.images.take(pa.array(image)), self.texts.take(pa.array(text))

    def count(self) -> int:
        """The number of distinct pairs, pairs of pools included."""
        # A pair may be a candidate and in pools too.
        pair_keys = self.keys(*self.pairs)
        pool_keys = [self.pool_keys(pool).ravel() for pool in self.pools]
        distinct = np.unique(np.concatenate([pair_keys, *pool_keys]))
        return len(distinct)


def collect_needs(benchmark: Benchmark, protocols: Sequence[str]) -> Needs:
    """Collect the scores that the items of some protocols need.

    Args:
        benchmark: The benchmark.
        protocols: Names of protocols.

    Returns:
        The needs. A pool's images are the sorted scenes of its items.
    """
    # Items with a pool are compared with its texts; the others with their own candidates.
    names = pa.array(list(protocols), pa.string())
    in_protocols = pc.is_in(benchmark.items["protocol"], names)
    without_pool = pc.is_null(benchmark.items["pool_id"])
    items = benchmark.items.filter(pc.and_(in_protocols, without_pool))["item_id"]
    candidates = benchmark.candidates
    contest = positions(candidates["item_id"], items.take(pc.sort_indices(items)))
    rows = np.flatnonzero(contest >= 0)

    pools: list[Pool] = item_pools(benchmark, protocols)
    names_of_folds: dict[str, list[str]] = {}
    for protocol in protocols:
        folds = find_protocol(protocol).folds(benchmark)
        if folds:
            names_of_folds[protocol] = [fold.name for fold in folds]
            pools += folds
    needs = make_needs(
        candidates["scene_id"].take(rows),
        candidates["text_id"].take(rows),
        contest=contest[rows],
        pools={pool.name: (pool.images, pool.texts) for pool in pools},
    )
    return replace(needs, folds=names_of_folds)


def make_needs(
    images: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    *,
    contest: np.ndarray,
    pools: dict[str, tuple[list[str], list[str]]],
) -> Needs:
    """The needs of n pairs of ids, which may repeat, and of pools.

    Args:
        images: The image of each pair.
        texts: The text of each pair.
        contest: The number of each pair's contest, int64 (n,).
        pools: The ids of the images and of the texts of each pool.

    Returns:
        The needs. Contests are sorted by their numbers, and pairs within a contest are sorted.
    """
    image_ids, image, pool_images = _index_ids(images, [pool[0] for pool in pools.values()])
    text_ids, text, pool_texts = _index_ids(texts, [pool[1] for pool in pools.values()])

    # Sort by contest, then drop a pair that its contest has already.
    # A pair as one number: sorting and comparing millions of pairs is then a step of NumPy.
    key = image * len(text_ids) + text
    order = np.lexsort((key, contest))
    key, contest = key[order], contest[order]
    is_new = np.ones(len(key), bool)
    is_new[1:] = (np.diff(key) != 0) | (np.diff(contest) != 0)
    key, contest = key[is_new], contest[is_new]

    # A contest starts where the number changes; numbers are not negative.
    pairs = np.unique(key)
    starts = np.flatnonzero(np.diff(contest, prepend=-1))
    rows_of_pools = zip(pool_images, pool_texts, strict=True)
    return Needs(
        images=image_ids,
        texts=text_ids,
        pairs=_pairs_of_keys(pairs, len(text_ids)),
        offsets=np.append(starts, len(key)),
        contests=np.searchsorted(pairs, key).astype(np.int32),
        pools=dict(zip(pools, rows_of_pools, strict=True)),
    )


def _index_ids(
    ids: pa.ChunkedArray, pools: Sequence[list[str]]
) -> tuple[pa.Array, np.ndarray, list[np.ndarray]]:
    """The distinct ids of pairs and pools, sorted; the row of each id of the pairs, int64; and the
    rows of each pool's ids, int32."""
    pool_ids = [pa.chunked_array([pool], pa.string()) for pool in pools]
    chunks = []
    for column in (ids, *pool_ids):
        chunks += column.chunks
    distinct = pc.unique(pa.chunked_array(chunks, pa.string()))
    sorted_ids = distinct.take(pc.sort_indices(distinct))

    known = pa.chunked_array([sorted_ids])
    pair_rows = positions(ids, known)
    pool_rows = [positions(column, known).astype(np.int32) for column in pool_ids]
    return sorted_ids, pair_rows, pool_rows


def within_limit(needs: Needs, benchmark: Benchmark, *, passes: int, most: int = LIMIT) -> Needs:
    """Reduce the needs where they cost too many forward passes.

    A pool that costs more than `most` keeps only the true texts and SAMPLE false texts per image.
    Raw retrieval that costs more is left out.

    Args:
        needs: The needs.
        benchmark: Their benchmark.
        passes: Forward passes per pair.
        most: The maximum number of forward passes, for each pool and for each raw retrieval.
    """
    # Blind models make no pass, but their pairs are stored too.
    most_pairs = most // max(1, passes)
    folds = _affordable_folds(needs, most_pairs)
    left_out = tuple(protocol for protocol in needs.folds if protocol not in folds)
    pools = dict(needs.pools)
    for protocol in left_out:
        for name in needs.folds[protocol]:
            del pools[name]

    fold_names = {name for names in folds.values() for name in names}
    true_texts_of = true_texts(benchmark)
    sampled: dict[str, int] = {}
    new_contests: list[np.ndarray] = []
    for name in list(pools):
        is_fold = name in fold_names
        if is_fold or not _is_to_be_sampled(pools[name], most_pairs):
            continue
        new_contests += _sample_pool(needs, name, true_texts_of)
        sampled[name] = SAMPLE
        del pools[name]

    reduced = replace(needs, pools=pools, sampled=sampled, folds=folds, left_out=left_out)
    return _drop_unused(_with_contests(reduced, new_contests))


def _affordable_folds(needs: Needs, most_pairs: int) -> dict[str, list[str]]:
    """The folds of each raw retrieval of at most `most_pairs` pairs. Its folds are ranked as a
    whole, so it is scored whole or not at all."""
    affordable = {}
    for protocol, names in needs.folds.items():
        pair_count = sum(_pair_count(needs.pools[name]) for name in names)
        if pair_count <= most_pairs:
            affordable[protocol] = names
    return affordable


def _is_to_be_sampled(pool: tuple[np.ndarray, np.ndarray], most_pairs: int) -> bool:
    """Whether a pool has too many pairs, and more texts than a sample: else the sample would be the
    pool."""
    _, texts = pool
    return _pair_count(pool) > most_pairs and len(texts) > SAMPLE


def _sample_pool(
    needs: Needs, name: str, true_texts_of: Mapping[str, set[str]]
) -> list[np.ndarray]:
    """A contest for each image of a pool, of its true texts and SAMPLE false ones: keys of pairs,
    int64."""
    images, texts = needs.pools[name]
    image_ids = needs.images.take(pa.array(images)).to_pylist()
    pool = Pool(name, image_ids, needs.texts.take(pa.array(texts)).to_pylist())
    contests = []
    for row, image in enumerate(image_ids):
        columns = sampled_columns(pool, image, true=true_texts_of[image], n=SAMPLE)
        contests.append(needs.keys(images[[row]], texts[columns]))
    return contests


def _with_contests(needs: Needs, new_contests: Sequence[np.ndarray]) -> Needs:
    """The needs with further contests, of keys of pairs, which come after those of the items."""
    known = needs.keys(*needs.pairs)
    members = np.concatenate([known[needs.contests], *new_contests])
    pairs = np.unique(members)
    new_sizes = np.array([len(contest) for contest in new_contests], dtype=np.int64)
    new_offsets = needs.offsets[-1] + np.cumsum(new_sizes)
    return replace(
        needs,
        pairs=_pairs_of_keys(pairs, len(needs.texts)),
        offsets=np.concatenate([needs.offsets, new_offsets]),
        contests=np.searchsorted(pairs, members).astype(np.int32),
    )


def without_pools(needs: Needs) -> Needs:
    """The needs without pools and raw retrieval."""
    return _drop_unused(replace(needs, pools={}, folds={}, sampled={}))


def words(benchmark: Benchmark, texts: pa.Array) -> pa.ChunkedArray:
    """Look up texts.

    Args:
        benchmark: Has the texts.
        texts: Ids of texts.

    Returns:
        Their words, in the order of the ids.
    """
    rows = positions(pa.chunked_array([texts]), benchmark.texts["text_id"])
    return benchmark.texts["text"].take(rows)


def text_groups(needs: Needs, benchmark: Benchmark) -> list[Group]:
    """Divide the images of the pairs into groups, with their texts, so that no item and no cluster
    is in two groups.

    The groups are the connected components of a graph that links each image with its items, and
    each item with its cluster.

    Args:
        needs: What the items need.
        benchmark: Has the items.

    Returns:
        The groups.
    """
    texts_of_image: dict[str, set[str]] = defaultdict(set)
    image_ids = needs.images.to_pylist()
    texts = words(benchmark, needs.texts).to_pylist()
    for image, text in needs.pairs.T:
        texts_of_image[image_ids[image]].add(texts[text])

    item_ids = benchmark.items["item_id"].to_pylist()
    clusters = benchmark.items["cluster_id"].to_pylist()
    cluster_of_item = dict(zip(item_ids, clusters, strict=True))
    candidate_items = benchmark.candidates["item_id"].to_pylist()
    candidate_images = benchmark.candidates["scene_id"].to_pylist()
    graph = nx.Graph()
    for item, image in zip(candidate_items, candidate_images, strict=True):
        if image in texts_of_image and item in cluster_of_item:
            graph.add_edge(("image", image), ("item", item))
            graph.add_edge(("item", item), ("cluster", cluster_of_item[item]))

    groups = []
    for component in nx.connected_components(graph):
        images = frozenset(name for kind, name in component if kind == "image")
        group_texts = frozenset().union(*(texts_of_image[image] for image in images))
        groups.append(Group(images, group_texts))
    return groups


def _drop_unused(needs: Needs) -> Needs:
    """Remove images and texts that are in no pair and no pool."""
    pair_images, pair_texts = needs.pairs
    used_images = [pair_images]
    used_texts = [pair_texts]
    for pool_images, pool_texts in needs.pools.values():
        used_images.append(pool_images)
        used_texts.append(pool_texts)
    images, image_row = _compact(needs.images, used_images)
    texts, text_row = _compact(needs.texts, used_texts)

    pools = {}
    for name, (pool_images, pool_texts) in needs.pools.items():
        pools[name] = image_row[pool_images], text_row[pool_texts]
    return replace(
        needs,
        images=images,
        texts=texts,
        pairs=np.stack([image_row[pair_images], text_row[pair_texts]]),
        pools=pools,
    )


def _compact(ids: pa.Array, used_rows: Sequence[np.ndarray]) -> tuple[pa.Array, np.ndarray]:
    """The ids that are used, and the new row of each old row, int32, -1 for an unused one."""
    used = np.unique(np.concatenate(used_rows))
    new_row = np.full(len(ids), -1, np.int32)
    new_row[used] = np.arange(len(used))
    return ids.take(pa.array(used)), new_row


def _pairs_of_keys(keys: np.ndarray, text_count: int) -> np.ndarray:
    """The inverse of `Needs.keys`: the rows of images and of texts, int32 (2, n)."""
    # Without texts there are no keys, but the division still needs a number.
    images, texts = np.divmod(keys, max(1, text_count))
    return np.stack([images, texts]).astype(np.int32)


def _pair_count(pool: tuple[np.ndarray, np.ndarray]) -> int:
    images, texts = pool
    return len(images) * len(texts)


class DistinctNames:
    """The distinct names among n names, in the order of their first occurrence.

    >>> names = DistinctNames(["a", "b", "a"])
    >>> names.names, names.index.tolist(), names.first.tolist()
    (['a', 'b'], [0, 1, 0], [0, 1])
    """

    def __init__(self, names: Sequence[str]):
        index_of: dict[str, int] = {}
        # A new name gets the next number, an old one its own.
        indices = [index_of.setdefault(name, len(index_of)) for name in names]
        self.index = np.array(indices, np.int64)
        """Index in `names` of each of the n names, int64 (n,)."""
        self.first = np.unique(self.index, return_index=True)[1]
        """Index of the first occurrence of each distinct name, int64 (distinct,)."""
        self.names = list(index_of)
        """The distinct names."""

    def __len__(self) -> int:
        return len(self.names)

    def at(self, rows: np.ndarray) -> list[str]:
        """The distinct names at these rows."""
        return [self.names[row] for row in rows]
