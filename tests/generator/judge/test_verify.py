"""Certificates: status, sentence, counts, and what makes a dataset unjudgeable."""

from pathlib import Path

from tests.generator.judge.datasets import judged, seal


def test_a_clean_dataset_is_clean(copied: Path) -> None:
    certificate = judged(copied)
    assert certificate["status"] == "clean"
    assert certificate["findings"] == []
    assert "have no leak; every positive is true, every negative false" in certificate["sentence"]
    assert certificate["counts"]["scenes"] == 174


def test_a_benchmark_without_its_block_is_not_clean(copied: Path, benchmark: Path) -> None:
    (benchmark / "holdout.json").unlink()
    seal(benchmark)
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert set(certificate["faults"]) == {"missing holdout"}
