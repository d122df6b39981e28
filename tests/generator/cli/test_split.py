"""`gen split`: benchmarks over images that exist."""

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import MODULES, run_command


def contents(root: Path) -> dict[str, bytes]:
    """The bytes of every file of a dataset."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_benchmark_is_added_and_named(copied: Path) -> None:
    done = run_command("gen", "split", copied, "--name", "mine", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["benchmark"] == "mine"
    assert set(data["scenes"]) == {"train", "val", "seen", "partial", "unseen"}
    assert "Held out: color" in done.stderr
    assert f"Next: gen verify {copied} --benchmark mine" in done.stderr
    assert run_command("gen", "split", copied, "--replace").stdout == "color-shape-3x3-b0\n"


def test_several_benchmarks_cannot_share_a_name(copied: Path) -> None:
    done = run_command("gen", "split", copied, "--block-seed", "0..1", "--name", "mine")
    assert done.returncode == 2
    assert done.stderr == "Error: --name mine: this makes 2 benchmarks and each needs its own name; leave --name out.\n"
    assert not (copied / "benchmarks/mine").exists()


def test_a_benchmark_that_is_there_is_kept_unless_it_is_to_be_replaced(copied: Path) -> None:
    assert run_command("gen", "verify", copied).returncode == 0
    before = contents(copied)
    refused = run_command("gen", "split", copied, "--name", "color-shape-3x3-b0")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"Error: {copied} has another benchmark color-shape-3x3-b0: its splits differ; choose another --name, or add "
        f"--replace, "
        "which removes that one and its certificate.\n"
    )
    assert contents(copied) == before
    replaced = run_command("gen", "split", copied, "--replace")
    assert replaced.returncode == 0
    assert not (copied / "benchmarks/color-shape-3x3-b0/verify.json").exists()


def test_the_same_request_again_changes_nothing_and_says_so(copied: Path) -> None:
    command = ["gen", "split", copied, "--block-seed", "1", "--name", "mine"]
    first = run_command(*command, "--json")
    assert run_command("gen", "verify", copied, "--benchmark", "mine").returncode == 0
    before = contents(copied)
    again = run_command(*command, "--json")
    assert again.returncode == 0
    assert "The benchmark mine is there already, made by the same request; nothing is written." in again.stderr
    assert again.stdout == first.stdout
    assert contents(copied) == before
    other = run_command("gen", "split", copied, "--block-seed", "2", "--name", "mine")
    assert other.returncode == 2
    assert "another benchmark mine: its holdout differs" in other.stderr
    assert (
        run_command("gen", "split", copied, "--block-seed", "1", "--name", "mine", "--exposed-negatives").returncode
        == 2
    )
    assert contents(copied) == before


def test_a_benchmark_of_an_older_version_is_not_replaced_either(copied: Path) -> None:
    path = copied / "benchmarks/color-shape-3x3-b0/manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["request"]
    path.write_text(json.dumps(manifest))
    refused = run_command("gen", "split", copied)
    assert refused.returncode == 2
    assert "it does not say how it was made; choose another --name, or add --replace" in refused.stderr


def test_two_commands_for_one_name_end_as_one_would(copied: Path) -> None:
    """Once they removed one another's drafts and crashed."""
    code = f"import sys; from {MODULES['gen']} import main; main()"
    command = [sys.executable, "-c", code, "split", str(copied), "--block-seed", "1", "--name", "both"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [each.communicate(timeout=300)[1] for each in running]
    assert 0 in [each.returncode for each in running]
    for each, errors in zip(running, said, strict=True):
        assert each.returncode == 0 or "Another command is writing the benchmark both" in errors, errors
    assert run_command("gen", "verify", copied, "--benchmark", "both").returncode == 0
