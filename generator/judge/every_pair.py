"""Decides every pair of scene and text that a protocol compares, for truth.parquet
(generator.dataset.truth).

A scene is compared with the candidates of its items, with the pools of its items, and for raw
retrieval with all true captions of its split.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from generator.dataset.truth import RAW_RETRIEVAL, SceneTruth
from generator.judge.benchmark import BATCH, TRUE, UNDECIDED, Benchmark
from generator.judge.columns import labels, row_numbers
from generator.judge.truth import TextPool

_CAPTION = "c"
"""The slot of an item's true caption."""


def decided_scenes(benchmark: Benchmark) -> Iterator[SceneTruth]:
    """Yield each scene that an evaluation item asks about, with its true and its undecided texts.

    Pools are decided for one scene at a time, so memory does not grow with scenes times texts.
    Texts are row numbers of the benchmark's table of texts.
    """
    pools = _pools(benchmark)
    pools_of_scene = _pools_of_scenes(benchmark, pools)
    candidates = _candidate_verdicts(benchmark)
    # In the order of the world, so that equal benchmarks give equal files.
    scenes = sorted(pools_of_scene)
    for scene in benchmark.world.progress.follow(
        scenes, "every pair", total=len(scenes), every=BATCH
    ):
        true, undecided = candidates[scene]
        geometry = benchmark.scenes[scene]
        # Decided relations of the scene are kept between pools, and dropped after the last one.
        for name in sorted(pools_of_scene[scene]):
            also_true, also_undecided = pools[name].decide_all(geometry)
            true |= also_true
            undecided |= also_undecided
        geometry.forget()
        yield benchmark.scene_ids[scene], sorted(true), sorted(undecided)


def _pools(benchmark: Benchmark) -> dict[str, TextPool]:
    """The retrieval pools by "pool ID", and the captions of raw retrieval by "PROTOCOL SPLIT"."""
    texts_of_pool: dict[str, set[int]] = defaultdict(set)

    # The pools that the benchmark declares.
    table = benchmark.tables["pools"]
    texts = row_numbers(table["text_id"], benchmark.tables["texts"]["text_id"])
    pool_ids = table["pool_id"].to_pylist()
    for pool_id, text in zip(pool_ids, texts.tolist(), strict=True):
        texts_of_pool[f"pool {pool_id}"].add(text)

    # Raw retrieval has no table: its pool is every true caption of a protocol and split.
    rows = benchmark.candidates
    for row in _captions_of_raw_retrieval(benchmark).tolist():
        pool = _raw_pool_name(benchmark, rows.item[row])
        texts_of_pool[pool].add(int(rows.text[row]))

    pools = {}
    for pool, pool_texts in texts_of_pool.items():
        pools[pool] = TextPool.from_rows(benchmark, sorted(pool_texts))
    return pools


def _pools_of_scenes(benchmark: Benchmark, pools: dict[str, TextPool]) -> dict[int, set[str]]:
    """For each scene that an evaluation item asks about, the names of the pools that it is compared
    with."""
    pool_of_item = labels(benchmark.tables["items"]["pool_id"])
    pools_of_scene: dict[int, set[str]] = defaultdict(set)
    rows = benchmark.candidates
    for row in _evaluation_rows(benchmark).tolist():
        item = rows.item[row]
        # Most items have no pool. Their scenes stay, with no name, for their candidates.
        own_pools = pools_of_scene[int(rows.scene[row])]
        for name in (f"pool {pool_of_item[item]}", _raw_pool_name(benchmark, item)):
            if name in pools:
                own_pools.add(name)
    return pools_of_scene


def _candidate_verdicts(benchmark: Benchmark) -> dict[int, tuple[set[int], set[int]]]:
    """By scene, the candidates of evaluation items that are true of it, and those that are
    undecided."""
    decided: dict[int, tuple[set[int], set[int]]] = {}
    rows = benchmark.candidates
    for row in _evaluation_rows(benchmark).tolist():
        true, undecided = decided.setdefault(int(rows.scene[row]), (set(), set()))
        verdict = benchmark.verdicts[row]
        if verdict == TRUE:
            true.add(int(rows.text[row]))
        elif verdict == UNDECIDED:
            undecided.add(int(rows.text[row]))
    return decided


def _evaluation_rows(benchmark: Benchmark) -> np.ndarray:
    """The rows of candidates whose item, scene and text exist, without training items."""
    complete = benchmark.candidates.complete
    items = benchmark.candidates.item[complete]
    return complete[~benchmark.is_training[items]]


def _captions_of_raw_retrieval(benchmark: Benchmark) -> np.ndarray:
    """The rows of candidates that are true captions of protocols with raw retrieval."""
    rows = benchmark.candidates
    evaluated = _evaluation_rows(benchmark)
    protocols = benchmark.protocols[rows.item[evaluated]]
    is_raw = np.isin(protocols, RAW_RETRIEVAL)
    is_caption = rows.truth[evaluated] & (rows.slot[evaluated] == _CAPTION)
    return evaluated[is_raw & is_caption]


def _raw_pool_name(benchmark: Benchmark, item: int) -> str:
    """The name of the pool of an item in raw retrieval: its protocol and split."""
    return f"{benchmark.protocols[item]} {benchmark.item_split[item]}"
