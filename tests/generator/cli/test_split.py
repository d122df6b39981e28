"""`gen split`: benchmarks over images that exist."""

import json
from pathlib import Path

from tests.conftest import run_command


def test_a_benchmark_is_added_and_named(copied: Path) -> None:
    done = run_command("gen", "split", copied, "--name", "mine", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["benchmark"] == "mine"
    assert set(data["scenes"]) == {"train", "val", "seen", "partial", "unseen"}
    assert "Held out: color" in done.stderr
    assert f"Next: gen verify {copied} --benchmark mine" in done.stderr
    assert run_command("gen", "split", copied).stdout == "color-shape-3x3-b0\n"


def test_several_benchmarks_cannot_share_a_name(copied: Path) -> None:
    done = run_command("gen", "split", copied, "--block-seed", "0..1", "--name", "mine")
    assert done.returncode == 2
    assert done.stderr == "Error: --name mine: this makes 2 benchmarks and each needs its own name; leave --name out.\n"
    assert not (copied / "benchmarks/mine").exists()
