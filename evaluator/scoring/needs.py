"""Which scores a benchmark needs from a model, and the limits for slow models."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import networkx as nx
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.models.contracts import Group
from evaluator.protocols.pools import Pool, item_pools, sampled_columns, true_texts
from evaluator.protocols.registry import find_protocol
from generator.dataset.reader import Benchmark

LIMIT = 100_000
"""Most forward passes of a pool for a model that reads image and text together, unless whole pools are asked for."""
SAMPLE = 99
"""False texts per image in a sampled pool."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Needs:
    """The scores that protocols need, by ids of images and texts.

    pairs: distinct pairs of candidates, sorted. pools: (images, texts) of which all pairs are scored. contests: the pairs
    that an item compares. sampled: {pool: false texts per image} for pools of which only some texts are scored; their
    pairs are among `pairs`. folds: {protocol: pools of its raw retrieval}. left_out: protocols whose raw retrieval is not
    scored.
    """

    pairs: list[Pair]
    pools: dict[str, tuple[list[str], list[str]]]
    contests: list[list[Pair]] = field(default_factory=list)
    sampled: dict[str, int] = field(default_factory=dict)
    folds: dict[str, list[str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def images(self) -> list[str]:
        """Distinct images, sorted."""
        return sorted(
            {image for image, _ in self.pairs} | {image for images, _ in self.pools.values() for image in images}
        )

    @property
    def texts(self) -> list[str]:
        """Distinct texts, sorted."""
        return sorted({text for _, text in self.pairs} | {text for _, texts in self.pools.values() for text in texts})

    def all_pairs(self) -> Iterator[Pair]:
        """Every pair, including those of pools. A pair may occur more than once."""
        yield from self.pairs
        for images, texts in self.pools.values():
            for image in images:
                for text in texts:
                    yield image, text


def collect_needs(benchmark: Benchmark, protocols: Sequence[str]) -> Needs:
    """The scores that the items of the given protocols need. A pool's images are the sorted scenes of its items."""
    items = benchmark.items.filter(pc.is_in(benchmark.items["protocol"], pa.array(list(protocols), pa.string())))
    joined = benchmark.candidates.select(["item_id", "scene_id", "text_id"]).join(
        items.select(["item_id", "pool_id"]), "item_id", join_type="inner"
    )
    columns = (joined[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "pool_id"))
    contests: dict[str, list[Pair]] = {}
    for item, scene, text, pool in zip(*columns, strict=True):
        if pool is None:
            contests.setdefault(item, []).append((scene, text))
    pools: list[Pool] = item_pools(benchmark, protocols)
    folds = {name: found for name in protocols if (found := find_protocol(name).folds(benchmark))}
    for found in folds.values():
        pools += found
    pairs = sorted({pair for contest in contests.values() for pair in contest})
    return Needs(
        pairs,
        {pool.name: (pool.images, pool.texts) for pool in pools},
        [sorted(set(contests[item])) for item in sorted(contests)],
        folds={protocol: [fold.name for fold in found] for protocol, found in folds.items()},
    )


def within_limit(needs: Needs, benchmark: Benchmark, passes: int) -> Needs:
    """The needs without what costs a model of `passes` forward passes per pair more than LIMIT.

    Of a pool above the limit, only the true texts and SAMPLE false ones per image are kept. Raw retrieval above the limit
    is left out.
    """
    passes = max(1, passes)  # blind models make no pass, but every pair of theirs is stored too
    pools, contests, sampled, folds = dict(needs.pools), list(needs.contests), {}, dict(needs.folds)
    for protocol, names in needs.folds.items():
        if passes * sum(_size(pools[name]) for name in names) > LIMIT:
            for name in folds.pop(protocol):
                del pools[name]
    whole = {name for names in folds.values() for name in names}
    true = true_texts(benchmark)
    for name in [name for name in pools if name not in whole]:
        images, texts = pools[name]
        if passes * _size(pools[name]) > LIMIT and len(texts) > SAMPLE:
            del pools[name]
            sampled[name] = SAMPLE
            pool = Pool(name, images, texts)
            contests += [[(i, texts[c]) for c in sampled_columns(pool, i, true[i], SAMPLE)] for i in images]
    pairs = sorted({*needs.pairs, *(pair for contest in contests for pair in contest)})
    left_out = tuple(protocol for protocol in needs.folds if protocol not in folds)
    return replace(needs, pairs=pairs, pools=pools, contests=contests, sampled=sampled, folds=folds, left_out=left_out)


def without_pools(needs: Needs) -> Needs:
    """The needs without pools and raw retrieval."""
    return replace(needs, pools={}, folds={}, sampled={})


def text_groups(needs: Needs, benchmark: Benchmark) -> list[Group]:
    """The images of the pairs by group, each with its texts: no item and no cluster stands in two groups."""
    items = dict(zip(benchmark.items["item_id"].to_pylist(), benchmark.items["cluster_id"].to_pylist(), strict=True))
    asked = {image for image, _ in needs.pairs}
    graph = nx.Graph()
    columns = (benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id"))
    for item, image in zip(*columns, strict=True):
        if image in asked and item in items:
            graph.add_edge(("image", image), ("item", item))
            graph.add_edge(("item", item), ("cluster", items[item]))
    texts: dict[str, set[str]] = defaultdict(set)
    for image, text in needs.pairs:
        texts[image].add(benchmark.text_of[text])
    found = ([name for kind, name in component if kind == "image"] for component in nx.connected_components(graph))
    return [Group(frozenset(images), frozenset().union(*(texts[each] for each in images))) for images in found]


def _size(pool: tuple[list[str], list[str]]) -> int:
    return len(pool[0]) * len(pool[1])
