"""Which scores protocols need, what is sampled or left out, and what is said before a run."""

from dataclasses import replace
from typing import Any

import pytest

from evaluator.scoring.needs import (
    SAMPLE,
    Needs,
    collect_needs,
    text_groups,
    within_limit,
    without_pools,
)
from evaluator.scoring.score import describe_cost, describe_limits
from generator.dataset.reader import Benchmark
from tests.evaluator.needs import needs_of, pair_ids, pool_ids
from tests.evaluator.scorers import Reader, TorchBag


@pytest.fixture(scope="module")
def needs(benchmark: Benchmark) -> Needs:
    return collect_needs(benchmark, ["binary", "retrieval"])


def test_needs_are_the_evaluation_items_and_no_more(benchmark: Benchmark, needs: Needs) -> None:
    split = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    protocol = {row["item_id"]: row["protocol"] for row in benchmark.items.to_pylist()}
    rows = benchmark.candidates.to_pylist()
    binary = {(r["scene_id"], r["text_id"]) for r in rows if protocol[r["item_id"]] == "binary"}
    retrieval_scenes = {r["scene_id"] for r in rows if protocol[r["item_id"]] == "retrieval"}
    assert pair_ids(needs) == sorted(binary)
    assert list(needs.pools) == ["grid"]
    assert pool_ids(needs, "grid") == (
        sorted(retrieval_scenes),
        benchmark.pools["text_id"].to_pylist(),
    )
    assert {split[scene] for scene in needs.images.to_pylist()} == {
        "val",
        "seen",
        "partial",
        "unseen",
    }
    assert len(needs.images) == 40
    assert set(needs.texts.to_pylist()) == set(benchmark.pools["text_id"].to_pylist()) | {
        t for _, t in binary
    }
    assert collect_needs(benchmark, ["binary"]).pools == {}
    assert pair_ids(collect_needs(benchmark, ["retrieval"])) == []


def test_groups_hold_whole_clusters_and_every_text_that_is_asked_of_them(
    benchmark: Benchmark,
) -> None:
    needs = without_pools(collect_needs(benchmark, ("binary", "retrieval")))
    assert not needs.pools
    assert not needs.folds
    groups = text_groups(needs, benchmark)
    images = [image for group in groups for image in group.images]
    assert sorted(images) == sorted({image for image, _ in pair_ids(needs)})
    group_of = {image: i for i, group in enumerate(groups) for image in group.images}
    cluster_of = {
        row["item_id"]: row["cluster_id"]
        for row in benchmark.items.to_pylist()
        if row["protocol"] == "binary"
    }
    clusters: dict[str, set[int]] = {}
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in cluster_of:
            clusters.setdefault(cluster_of[row["item_id"]], set()).add(group_of[row["scene_id"]])
            assert benchmark.text_of[row["text_id"]] in groups[group_of[row["scene_id"]]].texts
    assert all(len(cluster_items) == 1 for cluster_items in clusters.values())
    assert len(groups) == len(clusters)


NEEDS = needs_of([("a", "s"), ("a", "t")], {"grid": (["a", "b"], ["t", "u"])})


def test_passes_are_counted_by_kind_of_model() -> None:
    bag: Any = TorchBag()
    assert describe_cost(Reader(), NEEDS).startswith(
        "5 pairs of image and text to score, 3 forward passes each (15 forward passes,"
    )
    assert describe_cost(bag, NEEDS).startswith(
        "2 images and 3 texts to encode, each once (5 forward passes,"
    )


def test_pools_that_are_not_scored_are_named_with_their_option() -> None:
    assert describe_limits(NEEDS) == []
    sampled, left_out = describe_limits(
        replace(NEEDS, sampled={"grid": 99}, left_out=("systematicity",))
    )
    assert "'grid' is sampled" in sampled
    assert "'systematicity' is left out" in left_out
    assert all("--full-pools" in sentences for sentences in (sampled, left_out))


def test_a_trial_samples_pools_that_a_run_would_ask_whole(benchmark: Benchmark) -> None:
    """`--limit 10` on a cross encoder took 73,932 passes, `--limit 20` 2,051: a smaller pool was
    asked whole."""
    needs = collect_needs(benchmark, ["retrieval"])
    assert within_limit(needs, benchmark, passes=1).sampled == {}
    assert within_limit(needs, benchmark, passes=1, most=0).sampled == {"grid": SAMPLE}
