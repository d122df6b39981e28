"""Pools with unlisted true texts or undecided ones are named."""

from pathlib import Path

from tests.generator.judge.datasets import Rows, ask, edit, judged, said


def test_an_incomplete_pool_truth(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        rows.remove(next(row for row in rows if row["item_id"].startswith("retrieval-")))

    edit(benchmark, "candidates", plant)
    assert "2 texts of the pool are true, 1 are listed" in said(judged(copied), "wrong pool truth")


def test_a_pool_with_relations(tmp_path: Path) -> None:
    pairs = [
        (first, second)
        for first in ("cube", "sphere", "cone")
        for second in ("cube", "sphere", "cone")
        if first != second
    ]
    pool = [{"text": f"a {first} that is to the left of a {second}"} for first, second in pairs]
    true = [
        "a cube that is to the left of a cone",
        "a cube that is to the left of a sphere",
        "a cone that is to the left of a sphere",
    ]
    listed = [(text, True) for text in true]
    assert judged(ask(tmp_path / "a", "partial", {"c": listed}, pool))["status"] == "clean"
    certificate = judged(ask(tmp_path / "b", "partial", {"c": listed[:2]}, pool))
    assert "3 texts of the pool are true, 2 are listed" in said(certificate, "wrong pool truth")
    pool.append({"text": "two cubes and a red object"})
    certificate = judged(ask(tmp_path / "c", "unseen", {"c": [("a cube that is to the left of a sphere", True),
                                                             ("a sphere that is to the left of a cube", True)]}, pool))  # fmt: skip
    assert certificate["faults"] == {"undecided text": 1}
