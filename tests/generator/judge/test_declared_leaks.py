"""What differs from a clean benchmark has to be declared."""

from pathlib import Path
from typing import Any

import pytest

from generator.dataset.files import read_json, write_json
from tests.generator.judge.datasets import BENCHMARK, CROWDS, judged, make, said


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"exposed_negatives": True}, "training negatives may name what is held out"),
        ({"equal_familiarity": False}, "familiarity may be unequal"),
    ],
)
def test_a_deviation_is_declared_or_named(tmp_path: Path, stated: dict[str, Any], what: str) -> None:
    root = make(tmp_path / "a", CROWDS, {name: name for name in CROWDS})
    path = root / "benchmarks" / BENCHMARK / "manifest.json"
    manifest = read_json(path)
    write_json(path, {**manifest, **stated})
    assert what in said(judged(root), "undeclared leak")
    write_json(path, {**manifest, **stated, "declared_leaks": ["on purpose"]})
    assert judged(root)["status"] == "as declared"
