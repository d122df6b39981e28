"""What differs from a clean benchmark has to be declared."""

from pathlib import Path
from typing import Any

import pytest

from tests.generator.judge.datasets import CROWDS, SPLITS, judged, make, restate, said


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"exposed_negatives": True}, "training negatives may name what is held out"),
        ({"equal_familiarity": False}, "familiarity may be unequal"),
    ],
)
def test_a_deviation_is_declared_or_named(tmp_path: Path, stated: dict[str, Any], what: str) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    restate(root, **stated)
    assert what in said(judged(root), "undeclared leak")
    restate(root, **stated, declared_leaks=["on purpose"])
    assert judged(root)["status"] == "as declared"
