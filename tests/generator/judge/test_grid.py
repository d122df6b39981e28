"""The pool of retrieval is the whole grid."""

from itertools import permutations
from pathlib import Path

from tests.generator.judge.datasets import Rows, ask, judged, said

GRID: Rows = [
    {"text": f"a {value} {one} and a {other} {two}"}
    for one, two in permutations(("cube", "sphere", "cone"), 2)
    for value, other in permutations(("red", "blue", "green"), 2)
]
TRUE = {"c": [("a red cube and a green cone", True), ("a green cone and a red cube", True),
              ("a red sphere and a green cone", True), ("a green cone and a red sphere", True)]}  # fmt: skip


def told(root: Path, pool: Rows) -> str:
    return said(
        judged(ask(root, "partial", TRUE, pool, protocol="retrieval", kind="grid", pool_id="pool")), "wrong pool"
    )


def test_the_pool_of_retrieval_is_called_grid(tmp_path: Path) -> None:
    assert "item i is asked against the pool pool, not grid" in told(tmp_path / "a", GRID)


def test_a_grid_lacks_nothing_and_has_nothing_else(tmp_path: Path, copied: Path) -> None:
    assert "wrong pool" not in judged(copied)["faults"]
    assert "the pool grid has 0 captions of the grid, which has 36" in told(tmp_path / "a", GRID)
