"""Rendering on a Ray cluster gives the files that rendering here gives."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import generator
from generator.dataset.reader import Dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.render.farm import Farm
from generator.render.run import Rendering, worker_setup
from tests.conftest import render_arguments, run_process, succeed
from tests.hostile_folder import make_hostile

ray = pytest.importorskip("ray")

JOB = WorldOptions(
    family="clevr",
    holdout="3x3",
    scenes={"train": 6, "val": 1, "seen": 1, "partial": 1, "unseen": 1},
    resolution="64x64",
)
FEW = ["--scenes", "train=6,val=1,seen=1,partial=1,unseen=1"]


@pytest.mark.full
def test_a_cluster_gives_the_same_files(cluster: str, tmp_path: Path) -> None:
    succeed(*render_arguments(tmp_path / "here", *FEW))
    there = run_process(
        *render_arguments(tmp_path / "there", *FEW, "--workers", "2", "--with", "masks"),
        *("--farm", "ray", "--address", cluster),
    )
    assert there.returncode == 0, there.stderr
    one, other = (Dataset.open(tmp_path / name).world for name in ("here", "there"))
    assert {
        path: digest for path, digest in other.sums.items() if not path.startswith("masks/")
    } == one.sums
    assert len(list((tmp_path / "there/world/masks").iterdir())) == 10


@pytest.mark.full
def test_a_killed_worker_process_costs_no_scene(cluster: str, tmp_path: Path) -> None:
    prepared = prepare(JOB)
    setup = worker_setup({**prepared.request, **Rendering("draft").request}, tmp_path)
    answers = []
    for answer in Farm(2, ray=True).render(prepared.planned, 10, setup):
        if len(answers) in (1, 4):
            os.kill(_workers()[0], signal.SIGKILL)
        answers.append(answer)
    assert {answer["scene"]["scene_id"] for answer in answers} == {
        planned_scene.scene_id for planned_scene in prepared.planned
    }
    for answer in answers:
        for path, digest in answer["scene"]["files"].items():
            assert hashlib.sha256((tmp_path / path).read_bytes()).hexdigest() == digest


def _workers() -> list[int]:
    """Render workers that belong to actors of this test's cluster."""
    pids = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes()
                parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
                actor = (Path("/proc") / parent / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if b"generator.render.blender.worker" in command and actor.startswith(
                b"ray::_NodeWorker"
            ):
                pids.append(int(process.name))
    return pids


@pytest.mark.full
def test_workers_import_nothing_from_the_working_directory(tmp_path: Path) -> None:
    trace = make_hostile(tmp_path)
    code = (
        "import ray\nfrom generator.base.extras import connecting\nwith connecting(None):\n    "
        "ray.init(log_to_driver=False)\n"
        "remote = ray.remote(num_cpus=1)(lambda: "
        "__import__('generator').__file__)\nprint(ray.get(remote.remote()))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip().endswith(str(Path(generator.__file__))), done.stderr
    assert not trace.exists()
