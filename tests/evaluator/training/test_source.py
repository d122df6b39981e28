"""What a training's record says of its data."""

import json
from pathlib import Path

import pytest

from evaluator.training.recipe import Recipe
from evaluator.training.source import benchmark_source, describe
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World


def _certify(root: Path, status: str) -> Dataset:
    opened = Dataset.open(root)
    benchmark = opened.benchmark()
    certificate = {"status": status, "benchmark": benchmark.digest, "world": opened.world.digest}
    benchmark.path("verify.json").write_text(json.dumps(certificate))
    return opened


def test_a_certificate_that_failed_is_refused_and_others_are_recorded(drawn_copy: Path) -> None:
    opened = _certify(drawn_copy, "as declared")
    assert describe(opened.world, opened.benchmark())["certificate"] == "as declared, by the certificate in the folder"
    opened = _certify(drawn_copy, "failed")
    with pytest.raises(UserError, match="is not trained on: its certificate says that it failed; `gen verify"):
        benchmark_source(opened.world, opened.benchmark(), Recipe())


def test_a_benchmark_is_named_with_its_digests(world: World, benchmark: Benchmark) -> None:
    source = benchmark_source(world, benchmark, Recipe())
    assert source.record == {
        "name": benchmark.name,
        "benchmark": benchmark.digest,
        "world": world.digest,
        "certificate": "not verified",
    }
    exposure = source.exposure(source.data)
    assert exposure is not None
    assert exposure.complete
    assert len(exposure.scenes) >= 96
