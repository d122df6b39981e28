"""The command `gen`: every subcommand is there and refuses what is no dataset."""

from pathlib import Path

import pytest

from tests.conftest import run_command


@pytest.mark.parametrize("command", ["verify", "preview", "split"])
def test_what_is_no_dataset_is_refused(tmp_path: Path, command: str) -> None:
    done = run_command("gen", command, tmp_path / "nowhere")
    assert done.returncode == 2
    assert "is no dataset" in done.stderr
