from pathlib import Path

from bench.worlds import write_planned
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.plan.job import Job, prepare


def test_a_world_of_two_blocks_has_a_benchmark_of_each_with_scenes_of_its_own(tmp_path: Path) -> None:
    job = Job("clevr", "2x2", {"train": 6, "val": 2, "seen": 4, "partial": 4, "unseen": 4}, 64, 48, block_seed=(0, 1))
    write_planned(tmp_path, prepare(job))
    done = write_benchmarks(tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False)
    dataset = Dataset.open(tmp_path)
    assert list(done) == dataset.benchmark_names()
    assert len(done) == 2
    used = [
        {row["scene_id"] for row in dataset.benchmark(name).splits.to_pylist() if row["split"] is not None}
        for name in done
    ]
    assert used[0].isdisjoint(used[1])
    assert all(dataset.benchmark(name).manifest["with_world"] for name in done)
    assert all(sum(summary.scenes.values()) == len(scenes) for summary, scenes in zip(done.values(), used, strict=True))
