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
"""Items that are asked against a pool, apart from raw retrieval."""
MOST_FOLDS = 20
"""Folds of a group, as in CREPE."""
_NO_FOLDS = ("val", "partial")
"""Splits that CREPE does not have. They get no folds, and do not limit the size of folds."""
_SEED_BYTES = 8
"""Bytes of a hash that seed a sample."""


def has_item_pools(benchmark: Benchmark, protocol: str) -> bool:
    """Whether items of a protocol are asked against pools, apart from raw retrieval.

    Args:
        benchmark: The benchmark.
        protocol: Name of the protocol.

    Returns:
        Whether there is such an item.
    """
    return bool(benchmark.items_of(protocol).filter(_IN_A_POOL).num_rows)


@dataclass(frozen=True)
class Pool:
    """Images that are scored against the same texts."""

    name: str
    """Its name in the benchmark."""
    images: list[str]
    """The scene_ids of the images."""
    texts: list[str]
    """The text_ids of the texts."""
    sample: int | None = None
    """Number of false texts for each image, at random; None for the whole pool."""


@dataclass(frozen=True, kw_only=True)
class Fold(Pool):
    """A pool of raw retrieval: N images of one split and N distinct captions; caption i belongs to
    image i."""

    split: str
    """The split of its images."""
    n: int | None
    """Number of atoms of its captions; None if the fold mixes them."""
    skill: str = ""
    """What its captions name, "attribute" or "relation"; "" if the fold mixes them."""
    clusters: np.ndarray
    """(N,): the cluster of each image."""
    truth: np.ndarray | None = None
    """Every true pair as (image, text), int64 (t, 2); None if only the pairs (i, i) are known to be
    true."""


def item_pools(
    benchmark: Benchmark, protocols: Sequence[str], samples: dict[str, int] | None = None
) -> list[Pool]:
    """The pools that items are asked against. Pools of raw retrieval are `Fold`s instead.

    Args:
        benchmark: The benchmark.
        protocols: The protocols whose items are read.
        samples: By pool, the number of false texts for each image; pools that are missing are
            scored whole.

    Returns:
        The pools, sorted by name. Their images are the sorted scenes of the items.
    """
    is_asked = pc.field("protocol").isin(list(protocols)) & _IN_A_POOL
    pool_of_item = benchmark.items.filter(is_asked).select(["item_id", "pool_id"])
    candidates = benchmark.candidates.select(["item_id", "scene_id"])
    rows = candidates.join(pool_of_item, "item_id", join_type="inner").to_pandas()
    pool_texts = benchmark.pools.to_pandas().groupby("pool_id", sort=False)["text_id"]
    texts = {name: list(text_ids) for name, text_ids in pool_texts}
    samples = samples or {}
    pools = []
    for name, scenes in rows.groupby("pool_id")["scene_id"]:
        pool_name = str(name)
        images = sorted(set(scenes))
        pools.append(Pool(pool_name, images, texts.get(name, []), samples.get(pool_name)))
    return pools


def sampled_columns(pool: Pool, image: str, *, true: set[str], n: int) -> list[int]:
    """The texts of a sampled pool that an image is scored with. The sample depends only on the
    names of pool and image.

    Args:
        pool: The pool.
        image: The scene_id of the image.
        true: The text_ids of its true texts.
        n: The number of false texts.

    Returns:
        The columns of the true texts and of n random false texts, sorted.
    """
    # A seed by name, not by order, so that a limit or another model does not change the sample.
    digest = hashlib.sha256(f"{pool.name}/{image}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:_SEED_BYTES], "big"))
    true_columns: list[int] = []
    false_columns: list[int] = []
    for column, text in enumerate(pool.texts):
        of_truth = true_columns if text in true else false_columns
        of_truth.append(column)
    count = min(n, len(false_columns))
    sample = random.choice(np.array(false_columns), count, replace=False)
    return sorted([*sample.tolist(), *true_columns])


def sample_mask(pool: Pool, true: dict[str, set[str]]) -> np.ndarray:
    """Which texts of a pool each image is scored with.

    Args:
        pool: The pool.
        true: By image, its true texts.

    Returns:
        bool (images, texts).
    """
    shape = (len(pool.images), len(pool.texts))
    if pool.sample is None:
        return np.ones(shape, dtype=bool)
    mask = np.zeros(shape, dtype=bool)
    for row, image in enumerate(pool.images):
        mask[row, sampled_columns(pool, image, true=true[image], n=pool.sample)] = True
    return mask


def true_texts(benchmark: Benchmark) -> dict[str, set[str]]:
    """The true texts of images, from items that have a pool.

    Args:
        benchmark: The benchmark.

    Returns:
        By scene_id, the text_ids.
    """
    pooled = benchmark.items.filter(_IN_A_POOL).select(["item_id"])
    true = benchmark.candidates.filter(pc.field("truth")).select(["item_id", "scene_id", "text_id"])
    rows = true.join(pooled, "item_id", join_type="inner").to_pandas()
    return {str(scene): set(texts) for scene, texts in rows.groupby("scene_id")["text_id"]}


def make_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
    """The folds of a protocol's raw retrieval.

    Args:
        benchmark: The benchmark.
        protocol: Name of the protocol.
        by_atoms: Whether a fold has captions of one number of atoms.

    Returns:
        The folds that the benchmark lists; if it has none, folds of its captions at random.
        Benchmarks made elsewhere have none, since they do not say which captions are true of which
        other images.
    """
    folds = _listed_folds(benchmark, protocol, by_atoms)
    return folds or _random_folds(benchmark, protocol, by_atoms)


def _listed_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
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
        # Slot c is the image's own caption; other slots list captions that are true of it too.
        own_captions = members[members["slot"] == "c"].sort_values("item_id")
        # All items of a pool have one split and skill.
        split = own_captions["split"].iloc[0]
        skill = own_captions["skill"].iloc[0]
        images = own_captions["scene_id"].tolist()
        texts = own_captions["text_id"].tolist()
        row_of_image = {image: row for row, image in enumerate(images)}
        column_of_text = {text: column for column, text in enumerate(texts)}
        pairs = []
        for image, text in zip(members["scene_id"], members["text_id"], strict=True):
            # A limit may leave out the image that a caption belongs to, and so the caption.
            if text in column_of_text:
                pairs.append((row_of_image[image], column_of_text[text]))
        folds.append(
            Fold(
                str(pool_id),
                images,
                texts,
                split=str(split),
                n=int(counts.loc[texts[0]].sum()) if by_atoms else None,
                skill=str(skill or ""),
                clusters=own_captions["cluster_id"].to_numpy(dtype=object),
                truth=np.array(sorted(pairs), dtype=np.int64),
            )
        )

    def rank(fold: Fold) -> tuple[str, tuple[int, str], int, str]:
        return fold.skill, split_rank(fold.split), fold.n or 0, fold.name

    return sorted(folds, key=rank)


_Member = tuple[str, str, str]
"""An image, its caption and its cluster."""
_GroupKey = tuple[str, int | None]
"""A split, and the number of atoms of its captions; None if they are mixed."""


def _random_folds(benchmark: Benchmark, protocol: str, by_atoms: bool) -> list[Fold]:
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
        # Folds that are compared have one size, or R@1 would differ by their chance.
        size = len(members)
        for (other_split, _), others in groups.items():
            if not by_atoms or other_split == split:
                size = min(size, len(others))
        if size < 2:
            continue  # a single candidate is always right
        fold_count = min(MOST_FOLDS, len(members) // size)
        for k in range(fold_count):
            of_fold = members[k * size : (k + 1) * size]
            images, texts, clusters = (list(column) for column in zip(*of_fold, strict=True))
            of_atoms = "" if n is None else f"-{n}"
            folds.append(
                Fold(
                    f"raw-{protocol}-{split}{of_atoms}-{k}",
                    images,
                    texts,
                    split=split,
                    n=n,
                    clusters=np.array(clusters, dtype=object),
                )
            )
    return folds


def _groups(benchmark: Benchmark, protocol: str, by_atoms: bool) -> dict[_GroupKey, list[_Member]]:
    """The members of each split, or with `by_atoms` of each split and number of atoms."""
    captions = benchmark.candidates.filter((pc.field("slot") == "c") & pc.field("truth"))
    items = benchmark.items_of(protocol).select(["item_id", "split", "cluster_id"]).to_pandas()
    counts = benchmark.texts.select(["text_id", *COUNTS]).to_pandas()

    # A row for each caption, with the split of its item and the number of its atoms.
    rows = captions.select(["item_id", "scene_id", "text_id"]).to_pandas()
    rows = rows.merge(items, on="item_id")
    rows = rows[~rows["split"].isin(_NO_FOLDS)]
    rows = rows.merge(counts, on="text_id", how="left")
    n_atoms = rows[list(COUNTS)].fillna(0).sum(axis=1).astype(int)
    # pandas leaves rows without a key out of groups, so a number stands for no number.
    rows["n"] = n_atoms if by_atoms else -1

    # In the order of names, neighbours would often be alike; hashes mix them, always alike.
    rows["order"] = [hashlib.sha256(scene.encode()).hexdigest() for scene in rows["scene_id"]]
    rows = rows.sort_values(["order", "scene_id", "text_id"])

    groups: dict[_GroupKey, list[_Member]] = {}
    for (split, n), of_group in rows.groupby(["split", "n"]):
        used: set[str] = set()
        members: list[_Member] = []
        # An image or a caption that occurs twice would have two right answers in a fold.
        columns = of_group[["scene_id", "text_id", "cluster_id"]]
        for image, text, cluster in columns.itertuples(index=False, name=None):
            if image not in used and text not in used:
                used |= {image, text}
                members.append((image, text, cluster))
        groups[str(split), int(n) if by_atoms else None] = members

    def rank(key: _GroupKey) -> tuple[tuple[int, str], int]:
        return split_rank(key[0]), key[1] or 0

    return {key: groups[key] for key in sorted(groups, key=rank)}
