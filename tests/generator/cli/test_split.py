"""`gen split`: benchmarks over images that exist."""

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import MODULES, refuse, succeed

NAME = "color-shape-3x3-b0"


def contents(root: Path) -> dict[str, bytes]:
    """The bytes of every file of a dataset."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_a_benchmark_is_added_and_named(copied: Path) -> None:
    done = succeed("gen split --name mine --json", copied)
    data = json.loads(done.stdout)
    assert data["benchmark"] == "mine"
    assert set(data["scenes"]) == {"train", "val", "seen", "partial", "unseen"}
    assert "Held out: color" in done.stderr
    assert f"Next: gen verify {copied} --benchmark mine" in done.stderr


def test_a_benchmark_that_is_there_is_kept_unless_it_is_to_be_replaced(copied: Path) -> None:
    succeed("gen verify", copied)
    before = contents(copied)
    refuse(
        f"{copied} has another benchmark {NAME}: its splits differ; choose another --name, or add "
        f"--replace, "
        "which removes that benchmark and its certificate.",
        f"gen split --name {NAME}",
        copied,
    )
    assert contents(copied) == before
    assert succeed("gen split --replace", copied).stdout == f"{NAME}\n"
    assert not (copied / "benchmarks" / NAME / "verify.json").exists()


def test_the_same_request_again_changes_nothing_and_says_so(copied: Path) -> None:
    command = f"gen split {copied} --name mine --holdout 4x6 --block-seed "
    first = succeed(command + "1 --json")
    succeed("gen verify --benchmark mine", copied)
    before = contents(copied)
    second = succeed(command + "1 --json")
    assert (
        "The benchmark mine already exists, made by the same request; nothing is written."
        in second.stderr
    )
    assert second.stdout == first.stdout
    refuse("another benchmark mine: its holdout differs", command + "2")
    refuse("another benchmark mine", command + "1 --exposed-negatives")
    assert contents(copied) == before


def test_a_benchmark_that_does_not_say_how_it_was_made_is_not_replaced_either(copied: Path) -> None:
    path = copied / "benchmarks" / NAME / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["request"]
    path.write_text(json.dumps(manifest))
    refuse(
        "it does not say how it was made; choose another --name, or add --replace",
        "gen split",
        copied,
    )


def test_two_commands_for_one_name_end_as_one_would(copied: Path) -> None:
    """Once they removed one another's drafts and crashed."""
    code = f"import sys; from {MODULES['gen']} import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "split",
        str(copied),
        *["--holdout", "4x6", "--block-seed", "1", "--name", "both"],
    ]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=300)[1] for process in running]
    assert 0 in [process.returncode for process in running]
    for process, errors in zip(running, outputs, strict=True):
        assert (
            process.returncode == 0 or "Another command is writing the benchmark both" in errors
        ), errors
    succeed("gen verify --benchmark both", copied)
