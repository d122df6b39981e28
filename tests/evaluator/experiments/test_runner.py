"""Stages in real processes: finished ones are skipped, a failure stops the stages that need it, and
a killed one is continued."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier

import pytest

from evaluator.experiments.runner import DONE, LOG, Place, is_done, run_stage, run_stages
from evaluator.experiments.stages import Stage, in_order, new_stage
from generator.base.files import locked
from generator.base.slurm import Slurm
from tests.conftest import refuse

PLAN = new_stage("gen plan", scenes="train=12,val=1,seen=2,partial=2,unseen=2", resolution="32x32")
RENDERED = new_stage("gen render", PLAN, quality="draft", workers=1)
WRONG = new_stage("gen plan", family="clevrr")
MANY = new_stage(
    "gen plan", scenes="train=1000,val=1,seen=2,partial=2,unseen=2", resolution="32x32"
)
LONG = new_stage("gen render", MANY, quality="draft", workers=1)
RUNNER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from pathlib import Path
from evaluator.experiments.runner import run_stages
from tests.evaluator.experiments import test_runner
run_stages([getattr(test_runner, name) for name in sys.argv[2:]], Path(sys.argv[1]))
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_stage_writes_its_folder_and_its_log_and_is_run_once(tmp_path: Path) -> None:
    started: list[str] = []
    for _ in range(2):
        assert run_stages([PLAN], tmp_path, lambda stage, number: started.append(stage.name)) == {}
    assert started == [PLAN.name]
    folder = tmp_path / PLAN.name
    assert (folder / "out" / "world" / "plan.parquet").exists()
    assert (folder / LOG).read_text().count("Scenes: train 12") == 1
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".lock") == [
        DONE,
        LOG,
        "out",
    ]


def test_a_failure_stops_only_the_stages_that_need_it_and_can_be_retried(
    tmp_path: Path,
) -> None:
    started: list[tuple[str, int]] = []
    reader = new_stage("gen render", WRONG)
    last = new_stage("gen verify", reader)
    failures = run_stages(
        in_order([last, PLAN]), tmp_path, lambda stage, number: started.append((stage.name, number))
    )
    assert {name: failure.stage.name for name, failure in failures.items()} == dict.fromkeys(
        (WRONG.name, reader.name, last.name), WRONG.name
    )
    assert started == [(WRONG.name, 1), (PLAN.name, 4)]
    folders = {path.name for path in tmp_path.iterdir()} - {
        "cache"
    }  # the user's cache of these tests
    assert folders == {WRONG.name, PLAN.name}
    failure = failures[last.name]
    assert failure.code == 2
    assert "clevrr" in failure.end_of_log
    assert run_stage(WRONG, tmp_path) is not None


def test_as_many_stages_run_at_the_same_time_as_there_are_workers(tmp_path: Path) -> None:
    stages = [WRONG, new_stage("gen plan", family="clevrs")]
    both = Barrier(2)  # passed by two that begin before one has ended
    assert len(run_stages(stages, tmp_path, lambda *_: both.wait(60), Place(workers=2))) == 2
    started: list[Stage] = []

    def tell(stage: Stage, number: int) -> None:
        assert all(
            (tmp_path / before.name / LOG).read_text().count("Unknown family") == 2
            for before in started
        )
        started.append(stage)

    assert len(run_stages(stages, tmp_path, tell)) == len(started) == 2


@pytest.mark.full
def test_an_interrupt_ends_the_running_stage(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUNNER, str(tmp_path), "MANY", "LONG"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as runner:
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(LONG.out(tmp_path).glob("world/images/*.png")):
            time.sleep(0.05)
        runner.send_signal(signal.SIGINT)
    assert runner.returncode == -signal.SIGINT
    with locked(tmp_path / LONG.name / ".command.lock", "busy"):
        assert not is_done(LONG, tmp_path)


def test_a_training_that_ended_just_before_a_kill_counts(tmp_path: Path) -> None:
    stage = new_stage("score train scratch", "nowhere")
    stage.out(tmp_path).mkdir(parents=True)
    (stage.out(tmp_path) / "jackalope.json").write_text("{}")
    assert run_stage(stage, tmp_path) is None
    assert is_done(stage, tmp_path)


@pytest.mark.full
def test_a_stage_waits_for_another_command_that_runs_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    code = (
        "import sys, time; from pathlib import Path; from generator.base.files import locked\n"
        "with locked(Path(sys.argv[1])): print(flush=True); time.sleep(1)"
    )
    lock = tmp_path / PLAN.name / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        run_stage(PLAN, tmp_path)
        assert other.poll() == 0
    assert "Another command works on gen-plan" in caplog.text
    assert is_done(PLAN, tmp_path)


@pytest.mark.full
def test_an_amended_folder_is_a_copy_and_the_same_after_a_kill(tmp_path: Path) -> None:
    assert run_stages([PLAN, RENDERED], tmp_path) == {}
    rendered = contents(RENDERED.out(tmp_path))
    verified = new_stage("gen verify", RENDERED)
    assert run_stage(verified, tmp_path) is None
    assert contents(RENDERED.out(tmp_path)) == rendered
    first = contents(verified.out(tmp_path))
    assert set(first) > set(rendered)
    (tmp_path / verified.name / DONE).unlink()  # killed before it was noted
    assert run_stage(verified, tmp_path) is None
    assert contents(verified.out(tmp_path)) == first


@pytest.mark.full
def test_a_killed_render_is_continued_to_the_same_bytes(tmp_path: Path) -> None:
    assert run_stages([PLAN, RENDERED], tmp_path / "whole") == {}
    root = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", RUNNER, str(root), "PLAN", "RENDERED"]) as runner:
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(RENDERED.out(root).glob("world/images/*.png")):
            time.sleep(0.05)
        runner.kill()
    assert not is_done(RENDERED, root)
    with (
        pytest.raises(Exception, match="busy"),
        locked(root / RENDERED.name / ".command.lock", "busy"),
    ):
        pass  # the command goes on without the process that started it, and keeps its lock
    assert run_stage(RENDERED, root) is None
    assert contents(RENDERED.out(root)) == contents(RENDERED.out(tmp_path / "whole"))


@pytest.mark.full
def test_a_stage_is_a_job_of_slurm(slurm: Path, tmp_path: Path) -> None:
    """Those that read nothing of one another are submitted at once; a failure stops what reads
    it."""
    reader, verified = new_stage("gen render", WRONG), new_stage("gen verify", RENDERED)
    here, there = tmp_path / "here", tmp_path / "there"
    run_stages([PLAN, RENDERED], here)
    failures = run_stages(
        [PLAN, RENDERED, verified, WRONG, reader],
        there,
        place=Place(slurm=Slurm(1, gpus=2, partition="long")),
    )
    assert {name: failure.code for name, failure in failures.items()} == {
        WRONG.name: 2,
        reader.name: 2,
    }
    assert contents(RENDERED.out(there)) == contents(RENDERED.out(here))
    scripts = [script.read_text() for script in slurm.glob("script-*")]
    assert len(scripts) == 4
    for line in ("--partition=long", "--gpus-per-node=2", "--cpus-per-task=1"):
        assert all(f"#SBATCH {line}" in script for script in scripts)
    (there / RENDERED.name / DONE).unlink()
    assert run_stages([PLAN, RENDERED], there, place=Place(slurm=Slurm(1))) == {}
    assert len(list(slurm.glob("script-*"))) == 5


def test_an_experiment_writes_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "gen-plan").symlink_to(tmp_path / "private")
    refuse("is a link", "score experiment bindsplit2026 --scale smoke --out", tmp_path / "out")
    assert not any((tmp_path / "private").iterdir())
