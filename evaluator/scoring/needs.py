"""Which scores a benchmark needs from a model, and the limits for slow models."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.protocols import raw
from generator.dataset.reader import Benchmark

LIMIT = 100_000
"""Most forward passes of a pool for a model that reads image and text together, unless whole pools are asked for."""
SAMPLE = 99
"""False texts per image in a sampled pool."""
_RAW = tuple(f"raw-{protocol}-" for protocol in raw.PROTOCOLS)

Pair = tuple[str, str]


@dataclass(frozen=True)
class Needs:
    """The scores that protocols need, by ids of images and texts.

    pairs: distinct pairs of candidates, sorted. pools: (images, texts) of which all pairs are scored. contests: the pairs
    that an item compares. sampled: {pool: false texts per image} for pools of which only some texts are scored; their
    pairs are among `pairs`. left_out: protocols whose raw retrieval is not scored.
    """

    pairs: list[Pair]
    pools: dict[str, tuple[list[str], list[str]]]
    contests: list[list[Pair]] = field(default_factory=list)
    sampled: dict[str, int] = field(default_factory=dict)
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

    @property
    def raw(self) -> list[str]:
        """Protocols whose raw retrieval is scored."""
        return [
            p for p, prefix in zip(raw.PROTOCOLS, _RAW, strict=True) if any(n.startswith(prefix) for n in self.pools)
        ]

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
    images: dict[str, set[str]] = {}
    for item, scene, text, pool in zip(*columns, strict=True):
        if pool is None:
            contests.setdefault(item, []).append((scene, text))
        else:
            images.setdefault(pool, set()).add(scene)
    members: dict[str, list[str]] = {pool: [] for pool in images}
    for pool, text in zip(benchmark.pools["pool_id"].to_pylist(), benchmark.pools["text_id"].to_pylist(), strict=True):
        if pool in members:
            members[pool].append(text)
    pools = {pool: (sorted(images[pool]), members[pool]) for pool in sorted(images)}
    for protocol in raw.PROTOCOLS:
        if protocol in protocols:
            pools |= {fold.name: (fold.images, fold.texts) for fold in raw.folds(benchmark, protocol)}
    pairs = sorted({pair for contest in contests.values() for pair in contest})
    return Needs(pairs, pools, [sorted(set(contests[item])) for item in sorted(contests)])


def within_limit(needs: Needs, benchmark: Benchmark, passes: int) -> Needs:
    """The needs without what costs a model of `passes` forward passes per pair more than LIMIT.

    Of a pool above the limit, only the true texts and SAMPLE false ones per image are kept. Raw retrieval above the limit
    is left out.
    """
    passes = max(1, passes)  # blind models make no pass, but every pair of theirs is stored too
    pools, contests, sampled, left_out = dict(needs.pools), list(needs.contests), {}, []
    for protocol, prefix in zip(raw.PROTOCOLS, _RAW, strict=True):
        folds = [name for name in pools if name.startswith(prefix)]
        if passes * sum(_size(pools[name]) for name in folds) > LIMIT:
            left_out.append(protocol)
            for name in folds:
                del pools[name]
    true = _true_texts(benchmark)
    for name, pool in needs.pools.items():
        if name in pools and not name.startswith(_RAW) and passes * _size(pool) > LIMIT and len(pool[1]) > SAMPLE:
            images, texts = pools.pop(name)
            sampled[name] = SAMPLE
            contests += [[(i, texts[c]) for c in sampled_columns(texts, true[i], name, i, SAMPLE)] for i in images]
    pairs = sorted({*needs.pairs, *(pair for contest in contests for pair in contest)})
    return replace(needs, pairs=pairs, pools=pools, contests=contests, sampled=sampled, left_out=tuple(left_out))


def sampled_columns(texts: Sequence[str], true: set[str], pool: str, image: str, n: int) -> list[int]:
    """Sorted places in a pool of an image's true texts and of n false ones, drawn with a seed from the names of pool and image."""
    seed = int.from_bytes(hashlib.sha256(f"{pool}/{image}".encode()).digest()[:8], "big")
    false = np.array([column for column, text in enumerate(texts) if text not in true])
    drawn = np.random.default_rng(seed).choice(false, min(n, len(false)), replace=False)
    return sorted([*drawn.tolist(), *(column for column, text in enumerate(texts) if text in true)])


def sampled_mask(benchmark: Benchmark, pool: str, images: Sequence[str], texts: Sequence[str], n: int) -> np.ndarray:
    """Which texts of a sampled pool are scored with each image, bool (images, texts)."""
    true, mask = _true_texts(benchmark), np.zeros((len(images), len(texts)), dtype=bool)
    for row, image in enumerate(images):
        mask[row, sampled_columns(texts, true[image], pool, image, n)] = True
    return mask


def _true_texts(benchmark: Benchmark) -> dict[str, set[str]]:
    """For each image, its true texts among the candidates of items with a pool."""
    pooled = benchmark.items.filter(pc.is_valid(benchmark.items["pool_id"]))
    rows = benchmark.candidates.filter(
        pc.and_(
            pc.is_in(benchmark.candidates["item_id"], pooled["item_id"].combine_chunks()), benchmark.candidates["truth"]
        )
    )
    true: dict[str, set[str]] = {}
    for scene, text in zip(rows["scene_id"].to_pylist(), rows["text_id"].to_pylist(), strict=True):
        true.setdefault(scene, set()).add(text)
    return true


def _size(pool: tuple[list[str], list[str]]) -> int:
    return len(pool[0]) * len(pool[1])
