"""Meanings, familiarity and verdicts of a benchmark's texts."""

from pathlib import Path

import pyarrow.parquet as pq

from generator.base.files import read_json
from generator.dataset.records import BENCHMARK_TABLES
from generator.judge.benchmark import FALSE, TRUE, UNREADABLE, Benchmark
from generator.judge.world import World
from tests.generator.judge.datasets import BENCHMARK, ask, edit


def opened(root: Path) -> Benchmark:
    folder = root / "benchmarks" / BENCHMARK
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in BENCHMARK_TABLES}
    return Benchmark(
        World(root / "world"), tables, read_json(folder / "manifest.json"), read_json(folder / "holdout.json")
    )


def test_candidates_are_decided_and_familiarity_is_numbered(tmp_path: Path) -> None:
    root = ask(
        tmp_path / "a", "partial", {"c": [("a red cube", True), ("a green cone", True)], "n": [("a blue cube", False)]}
    )
    benchmark = opened(root)
    words = [benchmark.text(row) for row in range(3)]
    assert dict(zip(words, benchmark.counted.tolist(), strict=True)) == {
        "a red cube": 1,
        "a green cone": 0,
        "a blue cube": 0,
    }
    assert benchmark.familiarity[words.index("a green cone")] == benchmark.familiarity[words.index("a blue cube")] == 0
    assert benchmark.familiarity[words.index("a red cube")] > 0
    assert benchmark.verdicts.tolist() == [TRUE, TRUE, FALSE]
    assert (benchmark.item_id(0), benchmark.scene_id(0)) == ("i", "000001")


def test_a_text_that_cannot_be_read_has_no_meaning(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", {"c": [("a red cube", True)]})
    edit(root / "benchmarks" / BENCHMARK, "texts", lambda rows: rows[0].update(text="green ideas"))
    benchmark = opened(root)
    assert benchmark.meanings == [None]
    assert benchmark.familiarity.tolist() == [-1]
    assert benchmark.verdicts.tolist() == [UNREADABLE]
