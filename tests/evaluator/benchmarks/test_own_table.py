"""A table of one's own."""

from pathlib import Path

import pytest

from evaluator import Dataset
from evaluator.benchmarks.own_table import read_own_table
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_table


def test_splits_and_clusters_are_those_of_the_table(tmp_path: Path) -> None:
    items = Dataset.open(f"table:{write_table(tmp_path / 'files')}").benchmark.items.to_pylist()
    assert {(row["split"], row["cluster_id"]) for row in items} == {("seen", "c0"), ("seen", "c1")}


def test_images_may_lie_in_another_folder(tmp_path: Path) -> None:
    path = write_table(tmp_path / "files")
    moved = path.rename(tmp_path / "mine.csv")
    with pytest.raises(UserError, match=r"Row 1 of .* names the image 'red.png', which is not in"):
        read_own_table(moved, None)
    assert read_own_table(moved, tmp_path / "files").pictures.image("red.png").size == (24, 24)


def test_missing_columns_and_paths_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,protocol,text\n1,binary,x\n")
    with pytest.raises(UserError, match=r"has no column 'image'"):
        read_own_table(tmp_path / "a.csv", None)
    (tmp_path / "a.csv").write_text("item,protocol,text,image\n1,binary,x,../secret.png\n")
    with pytest.raises(UserError, match="is no path within that folder"):
        read_own_table(tmp_path / "a.csv", None)
