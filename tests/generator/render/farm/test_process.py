"""A worker process as its parent sees it; the workers here are scripts that speak the protocol, without Blender."""

import ast
import sys
import time
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.render.farm import process
from generator.render.farm.process import WorkerProcess
from generator.scene.planned import Planned
from tests.hostile_folder import make_hostile
from tests.paths import CHECKOUT

ECHO = """
import json, sys
sys.stdin.readline()
print(json.dumps({"ready": {}}), flush=True)
for line in sys.stdin:
    print(json.dumps({"scene": {"scene_id": json.loads(line)["scene_id"]}}), flush=True)
"""


def worker(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float = 30) -> WorkerProcess:
    script = tmp_path / "worker.py"
    script.write_text(code)
    start = process.subprocess.Popen
    monkeypatch.setattr(
        process.subprocess, "Popen", lambda command, **more: start([sys.executable, str(script)], **more)
    )
    return WorkerProcess({}, [0], timeout)


def heard(each: WorkerProcess) -> list[dict]:
    """The next answers; a line may come in several pieces."""
    while (answers := each.answers()) is not None:
        if found := list(answers):
            return found
    return []


def test_a_worker_gets_scenes_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = worker(ECHO, tmp_path, monkeypatch)
    assert heard(started) == [{"ready": {}}]
    started.give(Planned("000007", "a|b", (), (), "studio"))
    assert heard(started) == [{"scene": {"scene_id": "000007"}}]
    started.dismiss()
    assert started.answers() is None
    assert started.end()[0] is False


def test_a_broken_worker_ends_everything_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = worker('print(\'{"broken": "The disk is full"}\', flush=True)', tmp_path, monkeypatch)
    with pytest.raises(UserError, match=r"The disk is full\. Finished images are kept"):
        heard(started)
    started.kill()


def test_the_last_words_of_a_crash_are_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = worker("import sys; sys.exit('segfault')", tmp_path, monkeypatch)
    assert started.answers() is None
    killed, reason = started.end()
    assert not killed
    assert "code 1 (segfault)" in reason


def test_a_worker_that_is_killed_from_outside_is_told_from_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = worker("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path, monkeypatch)
    assert started.answers() is None
    assert started.end()[0] is True


def test_a_worker_that_is_overdue_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = worker("import time; time.sleep(600)", tmp_path, monkeypatch)
    started.deadline = time.monotonic()
    assert started.seconds_left() == 0
    started.kill_if_overdue()
    assert started.answers() is None
    killed, reason = started.end()
    assert not killed
    assert "gave no answer" in reason


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The card of a dataset tells people to run commands in its folder."""
    trace = make_hostile(tmp_path)
    monkeypatch.chdir(tmp_path)
    each = WorkerProcess({"nonsense": True}, [0], 30)  # it ends over its settings, before it loads Blender
    while each.answers() is not None:
        pass
    assert "generator/render/blender/worker.py" in _errors(each)
    each.end()
    assert not trace.exists()


def _errors(each: WorkerProcess) -> str:
    each._errors.seek(0)
    return each._errors.read().decode()


def test_every_process_of_ours_leaves_the_working_directory_out() -> None:
    started = [
        ast.unparse(node)
        for package in ("generator", "evaluator")
        for path in (CHECKOUT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List) and "sys.executable" in ast.unparse(node)
    ]
    assert len(started) == 5
    assert all(each.startswith("[sys.executable, '-P', ") for each in started)
