"""What a night of rendering meets: kills at any moment, a full disk, a missing file.

The finished files are always the same.
"""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep

import pytest

from tests.conftest import FEW, FEWEST, refuse, render_arguments, run_command, run_process, succeed
from tests.generator.render.digests import files
from tests.generator.render.test_run import start
from tests.paths import CHECKOUT as ROOT

MORE = ["--scenes", "train=44,val=4,seen=4,partial=4,unseen=4", "--workers", "2"]


def children(process: int) -> list[int]:
    """The child processes of all its threads."""
    pids: list[int] = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            pids += map(int, listed.read_text().split())
    return pids


def render_with_kills(
    root: Path, arguments: list[str], rng: random.Random, kills: int, pause: float
) -> int:
    """Render, killing a worker or the parent at random moments, so many times at most; returns how
    many times it did.
    """
    killed = 0
    while True:
        process = start(*render_arguments(root, *arguments))
        while killed < kills:
            try:
                process.wait(timeout=rng.uniform(0, pause))
                break
            except subprocess.TimeoutExpired:
                target = rng.choice([process.pid, *children(process.pid) * 2])
                try:
                    os.kill(target, rng.choice([signal.SIGKILL, signal.SIGTERM]))
                    killed += 1
                except ProcessLookupError:
                    continue
        _, errors = process.communicate(timeout=300)
        if process.returncode == 0:
            return killed
        assert process.returncode in (-signal.SIGKILL, -signal.SIGTERM), errors


@pytest.mark.full
def test_workers_end_with_a_killed_parent_while_an_image_is_rendered(tmp_path: Path) -> None:
    """A frame of 1600x1200 takes far longer than the ten seconds in which the processes have to be
    gone."""
    slow = [*FEWEST, "--resolution", "1600x1200", "--quality", "reference"]
    process = start(*render_arguments(tmp_path / "d", *slow))
    while not (workers := [pid for pid in children(process.pid) if processor_seconds(pid) > 3]):
        assert process.poll() is None
        sleep(0.2)
    process.kill()
    process.communicate()
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            return
        sleep(0.1)
    pytest.fail(f"{workers} run on")


def processor_seconds(process: int) -> float:
    """Seconds of processor time that a process has used."""
    try:
        user = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11]
    except OSError:
        return 0
    return int(user) / os.sysconf("SC_CLK_TCK")


@pytest.mark.full
@pytest.mark.parametrize("more", [[], ["--shards", "60KB"]])
def test_twenty_kills_at_random_moments_leave_no_trace(tmp_path: Path, more: list[str]) -> None:
    succeed(*render_arguments(tmp_path / "undisturbed", *MORE, *more))
    expected = files(tmp_path / "undisturbed")
    rng, killed, runs = random.Random(1), 0, 0
    while killed < 20:
        runs += 1
        killed += render_with_kills(tmp_path / f"d{runs}", [*MORE, *more], rng, 20 - killed, 4)
        assert files(tmp_path / f"d{runs}") == expected
    assert killed == 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_disk_that_cannot_hold_the_images_is_told_beforehand(disk: Path) -> None:
    refuse("free some space", *render_arguments(disk / "d", "--scenes", "400"))
    assert list(disk.iterdir()) == []


# the disk is full while images, tables and texts are written
@pytest.mark.parametrize("left", [200_000, 260_000, 420_000, 560_000])
@pytest.mark.full
def test_a_disk_that_fills_ends_in_one_sentence_and_can_be_continued(
    undisturbed: Path, disk: Path, left: int
) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(b"0" * ((1 << 20) - left))
    done = run_command(*render_arguments(disk / "d", *FEW))
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert "pace" in last
    assert "run the same command again" in last
    assert "Traceback" not in done.stderr
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
    succeed(*render_arguments(disk / "d", *FEW))
    assert files(disk / "d") == files(undisturbed)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (
            "blender_assets/quality.toml",
            "quality.toml is missing, so this installation is not whole; install Jackalope again.",
        ),
        pytest.param("scenes/clevr.toml", "Unknown family 'clevr'", marks=pytest.mark.full),
        pytest.param(
            "generator/render/blender/meshes.py",
            "No module named 'generator.render.blender.meshes'",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_missing_file_ends_in_one_sentence_and_can_be_continued(
    tmp_path: Path, missing: str, message: str
) -> None:
    package = tmp_path / "package"
    for part in ("generator", "scenes", "blender_assets"):
        shutil.copytree(ROOT / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    away = (package / missing).rename(tmp_path / "away")
    arguments = render_arguments(tmp_path / "d", *FEWEST)
    env = {**os.environ, "PYTHONPATH": str(package)}
    done = run_process(*arguments, env=env, cwd=package)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith(("Error: ", "Unknown"))
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    away.rename(package / missing)
    done = run_process(*arguments, env=env, cwd=package)
    assert done.returncode == 0, done.stderr
