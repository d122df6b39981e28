"""`gen info`: a damaged dataset is an error, and only a line in `gen list`."""

from pathlib import Path

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
