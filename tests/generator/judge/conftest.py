"""A rendered dataset that tests of the judge may damage."""

from pathlib import Path

import pytest

from tests.generator.judge.datasets import (
    BENCHMARK,
)


@pytest.fixture
def benchmark(copied: Path) -> Path:
    return copied / "benchmarks" / BENCHMARK
