"""Which scores protocols need, and what is sampled or left out."""

from collections import Counter

import pytest

from evaluator.scoring.needs import Needs, collect_needs, sampled_columns
from generator.dataset.reader import Benchmark


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, ["binary", "retrieval"])


def test_needs_are_the_evaluation_items_and_no_more(benchmark: Benchmark, needs: Needs) -> None:
    split = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    protocol = {row["item_id"]: row["protocol"] for row in benchmark.items.to_pylist()}
    rows = benchmark.candidates.to_pylist()
    binary = {(r["scene_id"], r["text_id"]) for r in rows if protocol[r["item_id"]] == "binary"}
    asked = {r["scene_id"] for r in rows if protocol[r["item_id"]] == "retrieval"}
    assert needs.pairs == sorted(binary)
    assert list(needs.pools) == ["grid"]
    assert needs.pools["grid"] == (sorted(asked), benchmark.pools["text_id"].to_pylist())
    assert {split[scene] for scene in needs.images} == {"val", "seen", "partial", "unseen"}
    assert len(needs.images) == 40
    assert set(needs.texts) == set(benchmark.pools["text_id"].to_pylist()) | {t for _, t in binary}
    assert collect_needs(benchmark, ["binary"]).pools == {}
    assert collect_needs(benchmark, ["retrieval"]).pairs == []


def test_samples_do_not_depend_on_the_order_of_anything_but_the_pool() -> None:
    texts = [f"t{i}" for i in range(500)]
    first = sampled_columns(texts, {"t3", "t77"}, "grid", "000001", 99)
    assert first == sampled_columns(texts, {"t77", "t3"}, "grid", "000001", 99)
    assert {3, 77} <= set(first)
    assert len(set(first)) == 101
    assert first != sampled_columns(texts, {"t3", "t77"}, "grid", "000002", 99)
    counts = Counter(c for i in range(400) for c in sampled_columns(texts, {"t3"}, "grid", str(i), 99))
    assert counts[3] == 400
    others = [counts[c] for c in range(500) if c != 3]
    assert 40 < min(others) <= max(others) < 130  # 79 expected, sd 8
