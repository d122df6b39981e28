"""Commands of stages in real processes."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.experiments.commands import KINDS
from evaluator.experiments.process import DONE, LOG, done, run_stage
from evaluator.experiments.stages import Stage
from generator.base.files import read_json
from generator.base.lock import Lock

FEW = ("--scenes", "train=12,val=1,seen=2,partial=2,unseen=2", "--resolution", "32x32")
PLAN = Stage(KINDS["gen plan"], FEW, outline="gen plan")
RENDERED = Stage(KINDS["gen render"], (PLAN.mark, "--quality", "draft", "--workers", "1"), (PLAN,), "gen render {plan}")
RUNNER = """
import sys
from pathlib import Path
from evaluator.experiments.process import run_stage
from tests.evaluator.experiments.test_process import PLAN, RENDERED
for stage in (PLAN, RENDERED):
    run_stage(stage, Path(sys.argv[1]))
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stage_writes_its_folder_its_log_and_what_it_took(tmp_path: Path) -> None:
    assert not done(PLAN, tmp_path)
    assert run_stage(PLAN, tmp_path) is None
    assert done(PLAN, tmp_path)
    folder = tmp_path / PLAN.name
    assert (folder / "out" / "world" / "plan.parquet").exists()
    assert "Scenes: train 12" in (folder / LOG).read_text()
    assert 0 < read_json(folder / DONE)["seconds"] < 600
    assert sorted(path.name for path in folder.iterdir()) == [DONE, LOG, "out"]


def test_what_has_ended_is_not_run_again(tmp_path: Path) -> None:
    run_stage(PLAN, tmp_path)
    before = (tmp_path / PLAN.name / LOG).read_bytes()
    assert run_stage(PLAN, tmp_path) is None
    assert (tmp_path / PLAN.name / LOG).read_bytes() == before


def test_a_failure_has_the_exit_code_and_the_last_lines_and_may_be_tried_again(tmp_path: Path) -> None:
    wrong = Stage(KINDS["gen plan"], ("--family", "clevrr"))
    failure = run_stage(wrong, tmp_path)
    assert failure is not None
    assert failure.code == 2
    assert "clevrr" in failure.said
    assert not done(wrong, tmp_path)
    assert run_stage(wrong, tmp_path) is not None


def test_a_stage_that_was_stopped_has_no_time(tmp_path: Path) -> None:
    (tmp_path / PLAN.name).mkdir()
    (tmp_path / PLAN.name / LOG).write_text("begun\n")
    assert run_stage(PLAN, tmp_path) is None
    assert read_json(tmp_path / PLAN.name / DONE)["seconds"] is None
    assert (tmp_path / PLAN.name / LOG).read_text().startswith("begun\n")


def test_what_ended_just_before_a_kill_counts(tmp_path: Path) -> None:
    kind = KINDS["score train scratch"]
    stage = Stage(kind, ("nowhere",))
    stage.out(tmp_path).mkdir(parents=True)
    (stage.out(tmp_path) / kind.finished).write_text("{}")
    assert run_stage(stage, tmp_path) is None
    assert done(stage, tmp_path)


def test_a_stage_waits_for_another_command_that_makes_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    code = "import sys, time; from pathlib import Path; from generator.base.lock import Lock\n" \
           "with Lock(Path(sys.argv[1])): print(flush=True); time.sleep(1)"  # fmt: skip
    lock = tmp_path / PLAN.name / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        run_stage(PLAN, tmp_path)
        assert other.poll() == 0
    assert "Another command works on gen-plan" in caplog.text
    assert done(PLAN, tmp_path)


@pytest.mark.full
def test_what_is_amended_is_a_copy_and_the_same_after_a_kill(tmp_path: Path) -> None:
    for stage in (PLAN, RENDERED):
        assert run_stage(stage, tmp_path) is None
    rendered = contents(RENDERED.out(tmp_path))
    verified = Stage(KINDS["gen verify"], (RENDERED.mark,), (RENDERED,))
    assert run_stage(verified, tmp_path) is None
    assert contents(RENDERED.out(tmp_path)) == rendered
    first = contents(verified.out(tmp_path))
    assert set(first) > set(rendered)
    (tmp_path / verified.name / DONE).unlink()  # killed before it was noted
    assert run_stage(verified, tmp_path) is None
    assert contents(verified.out(tmp_path)) == first


@pytest.mark.full
def test_a_killed_render_is_continued_to_the_same_bytes(tmp_path: Path) -> None:
    for stage in (PLAN, RENDERED):
        assert run_stage(stage, tmp_path / "whole") is None
    root = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", RUNNER, str(root)]) as runner:
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(RENDERED.out(root).glob("world/images/*.png")):
            time.sleep(0.05)
        runner.kill()
    assert not done(RENDERED, root)
    with pytest.raises(Exception, match="busy"), Lock(root / RENDERED.name / ".lock", "busy"):
        pass  # the command goes on without the process that started it, and keeps its lock
    assert run_stage(RENDERED, root) is None
    assert contents(RENDERED.out(root)) == contents(RENDERED.out(tmp_path / "whole"))
