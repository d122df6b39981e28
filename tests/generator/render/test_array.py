"""An array of jobs on a Slurm cluster gives the files that rendering here gives."""

import os
import signal
import time
from pathlib import Path

import pytest

from generator.base.declarations import parse_time
from generator.base.errors import UserError
from generator.base.slurm import Slurm
from generator.dataset.reader import Dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import plan_world, prepare
from generator.render.array import Array
from generator.render.farm import Farm
from generator.render.run import Rendering, render_work, work_of
from tests.conftest import FEW, refuse, render_arguments, run_process, succeed
from tests.generator.render.digests import files

JOB = WorldOptions(
    family="clevr",
    holdout="3x3",
    scenes={"train": 6, "val": 1, "seen": 1, "partial": 1, "unseen": 1},
    resolution="64x64",
)
DRAFT = Rendering("draft")


def on_slurm(out: Path, *more: str) -> list[str | Path]:
    return render_arguments(out, *FEW, "--farm", "slurm", "--jobs", "2", *more)


@pytest.mark.full
def test_a_killed_array_is_continued_to_the_same_bytes(
    slurm: Path, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "there"
    first = run_process(
        *on_slurm(out, "--no-wait", "--partition", "long", "--time", "2:00:00", "--memory", "4GB")
    )
    assert first.returncode == 0, first.stderr
    assert "Submitted 2 jobs (100)" in first.stderr
    script = (slurm / "script-100").read_text()
    for line in (
        "--array=0-1%2",
        "--partition=long",
        "--time=120",
        "--mem=4GB",
        "--cpus-per-task=1",
    ):
        assert f"#SBATCH {line}" in script
    while not list(tmp_path.glob("there.shards/*/world/images/[!.]*.png")):
        time.sleep(0.02)
    jobs = [int(pid.read_text()) for pid in slurm.glob("pid-100_*")]
    for job in jobs:
        os.killpg(job, signal.SIGSTOP)
    resumed = run_process(*on_slurm(out, "--no-wait"))
    assert "2 jobs of this folder still run" in resumed.stderr
    for job in jobs:
        os.killpg(job, signal.SIGKILL)
    refuse("was begun with --jobs 2, not 3", *on_slurm(out, "--jobs", "3"))
    whole = run_process(*on_slurm(out))
    assert whole.returncode == 0, whole.stderr
    assert sorted(script.name for script in slurm.glob("script-*")) == ["script-100", "script-101"]
    assert files(out) == files(undisturbed)
    assert not (tmp_path / "there.shards").exists()
    succeed(*on_slurm(out))
    assert not (slurm / "script-102").exists()


@pytest.mark.full
@pytest.mark.parametrize("executor", ["local", "debug"])
def test_the_executors_of_submitit_give_the_same_files(executor: str, tmp_path: Path) -> None:
    here, there = (plan_world(prepare(JOB), tmp_path / name) for name in ("here", "there"))
    render_work(work_of(here, DRAFT.request), here.root, root=here.root, farm=Farm(1))
    Array(there, DRAFT.request, root=there.root, jobs=3, slurm=Slurm(1, cluster=executor)).finish()
    assert files(there.root) == files(here.root)
    assert Dataset.open(there.root).world.manifest["scenes"] == 10


@pytest.mark.full
def test_a_job_that_cannot_render_says_why(tmp_path: Path) -> None:
    plan = plan_world(prepare(JOB), tmp_path / "world")
    broken = {**DRAFT.request, "device": "optix"}
    with pytest.raises(
        UserError, match="2 of 2 shards did not finish; shard 1: Blender finds no optix device"
    ):
        Array(plan, broken, root=plan.root, jobs=2, slurm=Slurm(1, cluster="debug")).finish()


def test_without_slurm_it_says_where_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refuse("needs the command sbatch: run it on a login node", *on_slurm(tmp_path / "there"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "sbatch").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "sbatch").chmod(0o755)
    refuse("needs the command srun: run it on a login node", *on_slurm(tmp_path / "there"))


def test_a_dry_run_prints_the_script_and_the_cost_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    more = ("--dry-run", "--partition", "long", "--time", "2:00:00", "--memory", "4GB")
    done = succeed(*on_slurm(tmp_path / "there", *more))
    for line in (
        "--partition=long",
        "--time=120",
        "--mem=4GB",
        "--array=0-1%2",
        "--cpus-per-task=1",
    ):
        assert f"#SBATCH {line}" in done.stdout
    assert "export PYTHONSAFEPATH=1" in done.stdout
    assert "images on 2 jobs of 1 core: about" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spec", ["", "0", "1:2", "2h", "1:60:00", "-5"])
def test_times_that_are_none_are_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --time"):
        parse_time(spec)
