"""`gen merge`: shards are needed, and a folder to write."""

from pathlib import Path

from tests.conftest import run_command


def test_shards_and_a_folder_are_needed(rendered: Path, tmp_path: Path) -> None:
    assert "Missing argument 'SHARDS...'" in run_command("gen", "merge", "--out", tmp_path / "whole").stderr
    assert "Missing option '--out'" in run_command("gen", "merge", rendered).stderr


def test_a_whole_dataset_is_no_shard(rendered: Path, tmp_path: Path) -> None:
    done = run_command("gen", "merge", rendered, "--out", tmp_path / "whole")
    assert done.returncode == 2
    assert f"{rendered} is a whole dataset, not a shard" in done.stderr
