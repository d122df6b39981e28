"""Pools of texts that images are scored against: pools of items, samples of pools that are too
large to score whole, and the folds of raw retrieval (CREPE, Ma et al. 2023)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from evaluator.protocols.items import COUNTS, split_rank
from generator.dataset.reader import Benchmark
from generator.dataset.records import RAW

_IN_A_POOL = pc.field("pool_id").is_valid() & (pc.field("kind") != RAW)
MOST = 20
_NO_PART = ("val", "partial")
"""Splits that CREPE does not have. They get no folds, and do not limit the size of folds."""


def has_item_pools(benchmark: Benchmark, protocol: str) -> bool:
    """Whether items of a protocol are asked against pools, apart from raw retrieval."""
    return bool(benchmark.items_of(protocol).filter(_IN_A_POOL).num_rows)


@dataclass(frozen=True)
class Pool:
    """Images that are scored against the same texts. sample: number of false texts drawn for each
    image, None for the whole pool."""

    name: str
    images: list[str]
    texts: list[str]
    sample: int | None = None


@dataclass(frozen=True, kw_only=True)
class Fold(Pool):
    """A pool of raw retrieval: N images of one split and N distinct captions; caption i belongs to
    image i."""

    split: str
    n: int | None
    """Number of atoms of its captions; None if the fold mixes them."""
    skill: str = ""
    """What its captions name, "attribute" or "relation"; "" if the fold mixes them."""
    clusters: np.ndarray  # (N,)
    truth: np.ndarray | None = None
    """Every true pair as (image, text), int64 (t, 2); None if only the pairs (i, i) are known to be
    true."""


def item_pools(
    benchmark: Benchmark, protocols: Sequence[str], samples: dict[str, int] | None = None
) -> list[Pool]:
    """The pools of the protocols' items, sorted by name. Their images are the sorted scenes of the
    items.

    Pools of raw retrieval are `Fold`s instead.
    """
    wanted = pc.field("protocol").isin(list(protocols)) & _IN_A_POOL
    pool_of = benchmark.items.filter(wanted).select(["item_id", "pool_id"])
    rows = (
        benchmark.candidates.select(["item_id", "scene_id"])
        .join(pool_of, "item_id", join_type="inner")
        .to_pandas()
    )
    texts = {
        name: list(of)
        for name, of in benchmark.pools.to_pandas().groupby("pool_id", sort=False)["text_id"]
    }
    return [
        Pool(str(name), sorted(set(images)), texts.get(name, []), (samples or {}).get(str(name)))
        for name, images in rows.groupby("pool_id")["scene_id"]
    ]


def sampled_columns(pool: Pool, image: str, true: set[str], n: int) -> list[int]:
    """The columns of an image's true texts and of n random false texts, sorted. The seed is a hash
    of the names of pool and image."""
    seed = int.from_bytes(hashlib.sha256(f"{pool.name}/{image}".encode()).digest()[:8], "big")
    false = np.array([column for column, text in enumerate(pool.texts) if text not in true])
    drawn = np.random.default_rng(seed).choice(false, min(n, len(false)), replace=False)
    return sorted(
        [*drawn.tolist(), *(column for column, text in enumerate(pool.texts) if text in true)]
    )


def sample_mask(pool: Pool, true: dict[str, set[str]]) -> np.ndarray:
    """Mask of the texts that each image is scored with, bool (images, texts). true: the true texts
    of each image."""
    mask = np.ones((len(pool.images), len(pool.texts)), dtype=bool)
    if pool.sample is not None:
        mask[:] = False
        for row, image in enumerate(pool.images):
            mask[row, sampled_columns(pool, image, true[image], pool.sample)] = True
    return mask


def true_texts(benchmark: Benchmark) -> dict[str, set[str]]:
    """The true texts of each image, from items that have a pool."""
    pooled = benchmark.items.filter(_IN_A_POOL).select(["item_id"])
    true = benchmark.candidates.filter(pc.field("truth")).select(["item_id", "scene_id", "text_id"])
    rows = true.join(pooled, "item_id", join_type="inner").to_pandas()
    return {str(scene): set(texts) for scene, texts in rows.groupby("scene_id")["text_id"]}


def make_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
    """The folds of a protocol's raw retrieval: those of the benchmark, or if it has none, folds
    drawn from its captions.

    Benchmarks made elsewhere have none, since they do not say which captions are true of which
    other images.
    """
    return _written_folds(benchmark, protocol, by_atoms) or _drawn_folds(
        benchmark, protocol, by_atoms
    )


def _written_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
    """The folds that the benchmark's items of raw retrieval define: an item is an image, and lists
    its true captions."""
    items = benchmark.items_of(protocol)
    items = items.filter((pc.field("kind") == RAW) & pc.field("pool_id").is_valid())
    if not items.num_rows:
        return []
    columns = ["item_id", "split", "cluster_id", "pool_id", "skill"]
    candidates = benchmark.candidates.select(["item_id", "scene_id", "text_id", "slot"])
    rows = candidates.join(items.select(columns), "item_id", join_type="inner").to_pandas()
    counts = benchmark.texts.select(["text_id", *COUNTS]).to_pandas().set_index("text_id")
    folds = []
    for pool_id, members in rows.groupby("pool_id"):
        own = members[members["slot"] == "c"].sort_values("item_id")
        images, texts = own["scene_id"].tolist(), own["text_id"].tolist()
        image_of, text_of = (
            {name: place for place, name in enumerate(names)} for names in (images, texts)
        )
        pairs = [
            (image_of[image], text_of[text])
            for image, text in zip(members["scene_id"], members["text_id"], strict=True)
        ]
        split, skill = own["split"].iloc[0], own["skill"].iloc[0]
        folds.append(
            Fold(
                str(pool_id),
                images,
                texts,
                split=str(split),
                n=int(counts.loc[texts[0]].sum()) if by_atoms else None,
                skill=str(skill or ""),
                clusters=own["cluster_id"].to_numpy(dtype=object),
                truth=np.array(sorted(pairs), dtype=np.int64),
            )
        )
    return sorted(
        folds, key=lambda fold: (fold.skill, split_rank(fold.split), fold.n or 0, fold.name)
    )


def _drawn_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
    """Folds of a protocol's captions: K = min(20, ⌊size/N⌋) folds of N images per group. N is the
    size of the smallest group, or with `by_atoms` of the smallest group of the same split (CREPE,
    appendix B.2).

    A group is a split (CREPE's SC, UC and UA, not `partial` or `val`), or with `by_atoms` a split
    and number of atoms. In a group each image has one caption and each caption one image, ordered
    by a hash of the images' names.
    """
    groups = _groups(benchmark, protocol, by_atoms)
    folds = []
    for (split, n), members in groups.items():
        size = min(len(each) for group, each in groups.items() if not by_atoms or group[0] == split)
        for k in range(min(MOST, len(members) // size) if size > 1 else 0):
            images, texts, clusters = (
                list(column) for column in zip(*members[k * size : (k + 1) * size], strict=True)
            )
            name = f"raw-{protocol}-{split}{'' if n is None else f'-{n}'}-{k}"
            folds.append(
                Fold(
                    name, images, texts, split=split, n=n, clusters=np.array(clusters, dtype=object)
                )
            )
    return folds


def _groups(
    benchmark: Benchmark, protocol: str, by_atoms: bool
) -> dict[tuple[str, int | None], list[Sequence[str]]]:
    """The members (image, caption, cluster) of each split, or with `by_atoms` of each split and
    number of atoms."""
    captions = benchmark.candidates.filter((pc.field("slot") == "c") & pc.field("truth"))
    items = benchmark.items_of(protocol).select(["item_id", "split", "cluster_id"]).to_pandas()
    counts = benchmark.texts.select(["text_id", *COUNTS]).to_pandas()
    rows = (
        captions.select(["item_id", "scene_id", "text_id"]).to_pandas().merge(items, on="item_id")
    )
    rows = rows[~rows["split"].isin(_NO_PART)].merge(counts, on="text_id", how="left")
    rows["n"] = rows[list(COUNTS)].fillna(0).sum(axis=1).astype(int) if by_atoms else -1
    rows["order"] = [hashlib.sha256(scene.encode()).hexdigest() for scene in rows["scene_id"]]
    groups: dict[tuple[str, int | None], list[Sequence[str]]] = {}
    for (split, n), members in rows.sort_values(["order", "scene_id", "text_id"]).groupby(
        ["split", "n"]
    ):
        taken: set[str] = set()
        kept = groups[str(split), int(n) if by_atoms else None] = []
        for member in members[["scene_id", "text_id", "cluster_id"]].itertuples(
            index=False, name=None
        ):
            if not taken & {*member[:2]}:
                taken |= {*member[:2]}
                kept.append(member)
    return {
        group: groups[group]
        for group in sorted(groups, key=lambda each: (split_rank(each[0]), each[1] or 0))
    }
