"""Items in another split than their scene, and items that ask nothing, are named."""

from pathlib import Path

from tests.generator.judge.datasets import Rows, edit, judged, said


def test_a_training_item_over_an_evaluation_scene(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        item = next(row for row in rows if row["protocol"] == "binary" and row["split"] == "seen")
        item.update(protocol="train", split="train")

    edit(benchmark, "items", plant)
    assert "is in train, its scene" in said(judged(copied), "wrong split")


def test_items_that_ask_nothing(copied: Path, benchmark: Path) -> None:
    def plant(rows: Rows) -> None:
        binary = [row for row in rows if row["item_id"].startswith("binary-")]
        rows.remove(binary[0])
        rows.remove(binary[3])

    edit(benchmark, "candidates", plant)
    found = said(judged(copied), "missing row")
    assert "has no true text" in found
    assert "has neither a false text nor a pool" in found
