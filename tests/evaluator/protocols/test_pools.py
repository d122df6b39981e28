"""Pools of a benchmark, and the sample of a pool that each image is scored with."""

from collections import Counter

import numpy as np

from evaluator.protocols.pools import Pool, item_pools, sample_mask, sampled_columns, true_texts
from generator.dataset.reader import Benchmark


def test_the_pools_of_a_benchmark_are_its_own(benchmark: Benchmark) -> None:
    (pool,) = item_pools(benchmark, ["binary", "retrieval"], {"grid": 5})
    items = [row["item_id"] for row in benchmark.items_of("retrieval").to_pylist()]
    scenes = {
        row["scene_id"] for row in benchmark.candidates.to_pylist() if row["item_id"] in items
    }
    assert (pool.name, pool.images, pool.sample) == ("grid", sorted(scenes), 5)
    assert pool.texts == [row["text_id"] for row in benchmark.pools.to_pylist()]
    assert item_pools(benchmark, ["binary"]) == []
    assert {image: len(texts) for image, texts in true_texts(benchmark).items()} == dict.fromkeys(
        scenes, 2
    )


def test_a_sample_is_the_true_texts_and_some_false_ones_of_each_image() -> None:
    pool = Pool("p", ["i0", "i1"], [f"t{i}" for i in range(50)], 9)
    mask = sample_mask(pool, {"i0": {"t1", "t2"}, "i1": {"t49"}})
    assert mask.sum(axis=1).tolist() == [11, 10]
    assert mask[0, [1, 2]].all()
    assert mask[1, 49]
    assert not np.array_equal(mask[0], mask[1])
    assert np.flatnonzero(mask[1]).tolist() == sampled_columns(pool, "i1", true={"t49"}, n=9)
    assert sample_mask(Pool("p", pool.images, pool.texts), {}).all()


def test_a_pool_with_fewer_texts_is_taken_whole() -> None:
    assert sampled_columns(Pool("p", ["i"], ["a", "b", "c"]), "i", true={"b"}, n=9) == [0, 1, 2]


def test_samples_do_not_depend_on_the_order_of_anything_but_the_pool() -> None:
    pool = Pool("grid", [], [f"t{i}" for i in range(500)])
    first = sampled_columns(pool, "000001", true={"t3", "t77"}, n=99)
    assert first == sampled_columns(pool, "000001", true={"t77", "t3"}, n=99)
    assert {3, 77} <= set(first)
    assert len(set(first)) == 101
    assert first != sampled_columns(pool, "000002", true={"t3", "t77"}, n=99)
    counts = Counter(
        c for i in range(400) for c in sampled_columns(pool, str(i), true={"t3"}, n=99)
    )
    assert counts[3] == 400
    others = [counts[c] for c in range(500) if c != 3]
    assert 40 < min(others) <= max(others) < 130  # 79 expected, sd 8
