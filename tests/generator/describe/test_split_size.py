"""The size of a split over rendered images is that of the benchmark described over them."""

from pathlib import Path

from generator.dataset.reader import Dataset
from generator.describe.scenes import rendered_size
from generator.holdout.holdout import Holdout


def test_the_size_is_that_of_the_benchmark(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    benchmark = dataset.benchmark()
    found = rendered_size(dataset.world, Holdout.from_dict(benchmark.holdout or {}))
    unseen = [row for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    items = [row for row in benchmark.items.to_pylist() if row["split"] == "unseen"]
    assert (found.split, found.scenes, found.objects) == ("unseen", len(unseen), 2.0)
    assert found.clusters == len({row["cluster_id"] for row in items})
    assert found.bindings == len({binding for row in unseen for binding in row["held_out_bindings"]})
