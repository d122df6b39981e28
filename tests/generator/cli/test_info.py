"""`gen info`: a damaged dataset is an error, and only a line in `gen list`."""

from pathlib import Path

import pytest

from tests.conftest import refuse, succeed
from tests.generator.unrendered import write_world


def test_a_damaged_dataset_is_an_error(tmp_path: Path) -> None:
    root = tmp_path / "world"
    write_world(root, {"train": 6, "val": 1, "seen": 1, "partial": 1, "unseen": 1})
    assert "10 images of 64x48" in succeed("gen info", root).stdout
    sums = root / "world" / "SHA256SUMS"
    sums.write_text(sums.read_text() + "0\n")
    refuse("SHA256SUMS is damaged", "gen info", root)
    assert "cannot be used" in succeed("gen list datasets", cwd=tmp_path).stdout


@pytest.mark.parametrize("damage", ["world/images/000000.png", "world/scenes.parquet"])
def test_a_missing_image_or_a_cut_table_is_an_error(damage: str, tmp_path: Path) -> None:
    root = tmp_path / "world"
    write_world(root, {"train": 6, "val": 1, "seen": 1, "partial": 1, "unseen": 1})
    path = root / damage
    if path.suffix == ".png":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    refuse(f"{damage} is missing or damaged", "gen info", root)
    (root / "world" / "plan.parquet").unlink()
    refuse("is missing or damaged (2 of ", "gen info", root)
