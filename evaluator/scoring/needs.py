"""Which scores a benchmark needs from a model, and the limits for slow models."""

from collections import defaultdict
from collections.abc import Sequence
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
    """The scores that protocols need. Images and texts are given as rows in two lists of ids.

    images, texts: the distinct ids, strings, sorted. pairs: the distinct candidate pairs, sorted:
        rows of images and of
    texts. contests: the pairs that an item compares, as columns of `pairs`; contest i is
    contests[offsets[i] :
    offsets[i + 1]], and each pair is in a contest. pools: {pool: (rows of images, rows of texts)};
    all their pairs are
    scored. sampled: {pool: false texts per image} for pools with only some texts scored; their
    pairs are in `pairs`.
    folds: {protocol: pools of its raw retrieval}. left_out: protocols whose raw retrieval is not
        scored.
    """

    images: pa.Array
    texts: pa.Array
    pairs: np.ndarray  # (2, n) int32
    offsets: np.ndarray  # (contests + 1,) int64
    contests: np.ndarray  # (rows,) int32
    pools: dict[str, tuple[np.ndarray, np.ndarray]]
    sampled: dict[str, int] = field(default_factory=dict)
    folds: dict[str, list[str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def keys(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """An int64 key for each pair of an image row and a text row; keys sort as the pairs do."""
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
        return len(
            np.unique(
                np.concatenate(
                    [self.keys(*self.pairs), *(self.pool_keys(p).ravel() for p in self.pools)]
                )
            )
        )


def collect_needs(benchmark: Benchmark, protocols: Sequence[str]) -> Needs:
    """The scores that the items of the given protocols need. A pool's images are the sorted scenes
    of its items."""
    chosen = pc.is_in(benchmark.items["protocol"], pa.array(list(protocols), pa.string()))
    items = benchmark.items.filter(pc.and_(chosen, pc.is_null(benchmark.items["pool_id"])))[
        "item_id"
    ]
    candidates = benchmark.candidates
    contest = positions(candidates["item_id"], items.take(pc.sort_indices(items)))
    asked = np.flatnonzero(contest >= 0)
    pools: list[Pool] = item_pools(benchmark, protocols)
    folds = {name: found for name in protocols if (found := find_protocol(name).folds(benchmark))}
    for found in folds.values():
        pools += found
    needs = make_needs(
        candidates["scene_id"].take(asked),
        candidates["text_id"].take(asked),
        contest[asked],
        {pool.name: (pool.images, pool.texts) for pool in pools},
    )
    return replace(
        needs, folds={protocol: [fold.name for fold in found] for protocol, found in folds.items()}
    )


def make_needs(
    images: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    contest: np.ndarray,
    pools: dict[str, tuple[list[str], list[str]]],
) -> Needs:
    """The needs of n pairs of ids, which may repeat, and of pools of (images, texts).

    contest: the number of each pair's contest, int64 (n,). Contests are sorted by their numbers,
        and pairs within a
    contest are sorted.
    """
    sides = []
    for i, column in enumerate((images, texts)):
        whole = [column, *(pa.chunked_array([pool[i]], pa.string()) for pool in pools.values())]
        distinct = pc.unique(
            pa.chunked_array([chunk for each in whole for chunk in each.chunks], pa.string())
        )
        ids = distinct.take(pc.sort_indices(distinct))
        sides.append((ids, [positions(each, pa.chunked_array([ids])) for each in whole]))
    (image_ids, (image, *pool_images)), (text_ids, (text, *pool_texts)) = sides
    key = image * len(text_ids) + text
    order = np.lexsort((key, contest))
    key, contest = key[order], contest[order]
    new = np.ones(len(key), bool)
    new[1:] = (np.diff(key) != 0) | (np.diff(contest) != 0)
    key, contest = key[new], contest[new]
    pairs = np.unique(key)
    starts = np.flatnonzero(np.diff(contest, prepend=-1))
    return Needs(
        image_ids,
        text_ids,
        _columns(pairs, len(text_ids)),
        np.append(starts, len(key)),
        np.searchsorted(pairs, key).astype(np.int32),
        {
            pool: (i.astype(np.int32), t.astype(np.int32))
            for pool, i, t in zip(pools, pool_images, pool_texts, strict=True)
        },
    )


def within_limit(needs: Needs, benchmark: Benchmark, passes: int, most: int = LIMIT) -> Needs:
    """Reduce the needs where they cost more than `most` forward passes, at `passes` forward passes
    per pair.

    A pool that costs more keeps only the true texts and SAMPLE false texts per image. Raw retrieval
    that costs more is left out.
    """
    passes = max(1, passes)  # blind models make no pass, but their pairs are stored too
    pools, folds, sampled = dict(needs.pools), dict(needs.folds), {}
    for protocol, names in needs.folds.items():
        if passes * sum(_size(pools[name]) for name in names) > most:
            for name in folds.pop(protocol):
                del pools[name]
    whole = {name for names in folds.values() for name in names}
    true = true_texts(benchmark)
    contests: list[np.ndarray] = []  # the keys of each contest of a sampled pool
    for name in [name for name in pools if name not in whole]:
        if passes * _size(pools[name]) > most and len(pools[name][1]) > SAMPLE:
            images, texts = pools.pop(name)
            sampled[name] = SAMPLE
            image_ids = needs.images.take(images).to_pylist()
            pool = Pool(name, image_ids, needs.texts.take(texts).to_pylist())
            for i, image in enumerate(image_ids):
                columns = sampled_columns(pool, image, true[image], SAMPLE)
                contests.append(needs.keys(images[[i]], texts[columns]))
    known = needs.keys(*needs.pairs)
    members = np.concatenate([known[needs.contests], *contests])
    pairs = np.unique(members)
    offsets = np.concatenate(
        [
            needs.offsets,
            needs.offsets[-1] + np.cumsum([len(each) for each in contests], dtype=np.int64),
        ]
    )
    return _compact(
        replace(
            needs,
            pairs=_columns(pairs, len(needs.texts)),
            offsets=offsets,
            contests=np.searchsorted(pairs, members).astype(np.int32),
            pools=pools,
            sampled=sampled,
            folds=folds,
            left_out=tuple(protocol for protocol in needs.folds if protocol not in folds),
        )
    )


def without_pools(needs: Needs) -> Needs:
    """The needs without pools and raw retrieval."""
    return _compact(replace(needs, pools={}, folds={}, sampled={}))


def words(benchmark: Benchmark, texts: pa.Array) -> pa.ChunkedArray:
    """The words of the texts with these ids."""
    return benchmark.texts["text"].take(
        positions(pa.chunked_array([texts]), benchmark.texts["text_id"])
    )


def text_groups(needs: Needs, benchmark: Benchmark) -> list[Group]:
    """The images of the pairs in groups, with their texts, so that no item and no cluster is in two
    groups."""
    items = dict(
        zip(
            benchmark.items["item_id"].to_pylist(),
            benchmark.items["cluster_id"].to_pylist(),
            strict=True,
        )
    )
    image_ids, said = needs.images.to_pylist(), words(benchmark, needs.texts).to_pylist()
    texts: dict[str, set[str]] = defaultdict(set)
    for image, text in needs.pairs.T:
        texts[image_ids[image]].add(said[text])
    graph = nx.Graph()
    columns = (benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id"))
    for item, image in zip(*columns, strict=True):
        if image in texts and item in items:
            graph.add_edge(("image", image), ("item", item))
            graph.add_edge(("item", item), ("cluster", items[item]))
    found = (
        [name for kind, name in component if kind == "image"]
        for component in nx.connected_components(graph)
    )
    return [
        Group(frozenset(images), frozenset().union(*(texts[each] for each in images)))
        for images in found
    ]


def _compact(needs: Needs) -> Needs:
    """Remove images and texts that are in no pair and no pool."""
    sides = []
    for i, ids in enumerate((needs.images, needs.texts)):
        used = np.unique(
            np.concatenate([needs.pairs[i], *(pool[i] for pool in needs.pools.values())])
        )
        row = np.full(len(ids), -1, np.int32)
        row[used] = np.arange(len(used))
        sides.append((ids.take(pa.array(used)), row))
    (images, image), (texts, text) = sides
    pools = {name: (image[i], text[t]) for name, (i, t) in needs.pools.items()}
    return replace(
        needs,
        images=images,
        texts=texts,
        pairs=np.stack([image[needs.pairs[0]], text[needs.pairs[1]]]),
        pools=pools,
    )


def _columns(keys: np.ndarray, texts: int) -> np.ndarray:
    """The inverse of `Needs.keys`: the rows of images and of texts, int32 (2, n). texts: the number
    of texts."""
    return np.stack(np.divmod(keys, max(1, texts))).astype(np.int32)


def _size(pool: tuple[np.ndarray, np.ndarray]) -> int:
    return len(pool[0]) * len(pool[1])


class Distinct:
    """The distinct names among n names, in the order of their first occurrence.

    names: the m distinct names. first: index of the first occurrence of each, int64 (m,). place:
        index in `names` of
    each of the n names, int64 (n,).
    """

    def __init__(self, names: Sequence[str]):
        place: dict[str, int] = {}
        self.place = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
        self.first = np.unique(self.place, return_index=True)[1]
        self.names = list(place)

    def __len__(self) -> int:
        return len(self.names)

    def of(self, rows: np.ndarray) -> list[str]:
        """The distinct names at these rows."""
        return [self.names[row] for row in rows]
