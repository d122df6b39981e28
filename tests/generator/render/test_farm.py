"""Who renders what when workers crash, hang or are killed; the worker here is a few lines of Python
instead of Blender.
"""

import ast
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Semaphore, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from generator.base.errors import UserError
from generator.base.process import AnsweringProcess, ProcessEndError
from generator.render.farm import Farm
from generator.scene.planned import Planned
from tests.hostile_folder import make_hostile
from tests.paths import CHECKOUT

WORKER = """
import json, os, signal, sys, time
setup = json.loads(sys.stdin.readline())
log = open(setup["log"], "a", buffering=1)
if "die early" in setup:
    os.abort()
print(json.dumps({"ready": {}}), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    scene_id, what = job["scene_id"], job["environment"]
    log.write(f"{scene_id} {os.getpid()}\\n")
    first = open(setup["log"]).read().count(scene_id + " ") == 1
    what, once = what.removesuffix(" once"), what.endswith(" once")
    if first or not once:
        if what == "crash":
            os.abort()
        if what == "hang":
            time.sleep(1000)
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "fail":
            print(json.dumps({"failed": "no luck"}), flush=True)
            continue
        if what == "broken":
            print(json.dumps({"broken": "The disk is full"}), flush=True)
            continue
        if what == "final":
            print(json.dumps({"failed": "no room", "final": True}), flush=True)
            continue
    time.sleep(setup.get("pause", 0))
    print(json.dumps({"scene": {"scene_id": scene_id}, "worn": what == "worn"}), flush=True)
"""


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets the farm start the worker above; returns the log of (scene, process)."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "python").write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path / 'worker.py'}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path / "log"


def jobs(*what: str) -> list[Planned]:
    return [Planned(f"{i:03d}", f"cluster {i}", (), (), name) for i, name in enumerate(what)]


def run(
    log: Path, *what: str, workers: int = 2, timeout: float = 60.0, **more: Any
) -> dict[str, str | None]:
    """The reason of failure of every scene, None for a rendered one."""
    answers = list(
        Farm(workers).render(iter(jobs(*what)), len(what), {"log": str(log), **more}, timeout)
    )
    reasons = {
        a["scene"]["scene_id"] if "scene" in a else a["scene_id"]: a.get("failed") for a in answers
    }
    assert len(reasons) == len(answers) == len(what)
    return reasons


def processes(log: Path) -> dict[str, list[str]]:
    """The processes that each scene was given to."""
    process_names: dict[str, list[str]] = {}
    for line in log.read_text().splitlines():
        scene, process = line.split()
        process_names.setdefault(scene, []).append(process)
    return process_names


@pytest.mark.parametrize("workers", [1, 3])
def test_a_worker_that_fails_once_costs_nothing(farm: Path, workers: int) -> None:
    reasons = run(
        farm,
        "crash once",
        "",
        "fail once",
        "hang once",
        "",
        "killed once",
        workers=workers,
        timeout=1.0,
    )
    assert set(reasons.values()) == {None}
    tried = processes(farm)
    assert [len(tried[f"{i:03d}"]) for i in range(6)] == [2, 1, 2, 2, 1, 2]
    assert all(
        len(set(process_names)) == len(process_names) for process_names in tried.values()
    )  # always another process


def test_a_worker_that_fails_twice_costs_one_scene(farm: Path) -> None:
    reasons = run(farm, "", "crash", "fail", "hang", "final", "", timeout=0.5)
    assert reasons == {
        "000": None,
        "001": f"the render worker ended with code {-signal.SIGABRT}",
        "002": "no luck",
        "003": "the render worker gave no answer in 0 s",
        "004": "no room",
        "005": None,
    }
    tried = processes(farm)
    assert [len(tried[f"{i:03d}"]) for i in range(6)] == [1, 2, 2, 2, 1, 1]
    assert all(len(set(process_names)) == len(process_names) for process_names in tried.values())


def test_a_scene_whose_workers_are_always_killed_ends(farm: Path) -> None:
    reasons = run(farm, "killed", "", workers=1)
    assert reasons["001"] is None
    assert "is there enough memory?" in str(reasons["000"])
    assert len(processes(farm)["000"]) == 20


def test_a_worn_process_is_replaced_without_loss(farm: Path) -> None:
    reasons = run(farm, "", "worn", "", "", "worn", "", workers=1)
    assert set(reasons.values()) == {None}
    tried = processes(farm)
    assert all(len(process_names) == 1 for process_names in tried.values())
    (a,), (b,), (c,), (d,), (e,), (f,) = (tried[f"{i:03d}"] for i in range(6))
    assert a == b != c == d == e != f


def test_workers_that_never_start_end_it(farm: Path) -> None:
    with pytest.raises(
        UserError, match="Rendering cannot start: the render worker ended with code -6"
    ):
        run(farm, "", "", **{"die early": True})


def test_a_broken_disk_ends_everything_in_one_sentence(farm: Path) -> None:
    with pytest.raises(UserError, match=r"The disk is full\. Finished images are kept"):
        run(farm, "", "broken", "")


def test_scenes_that_fail_on_a_full_disk_are_not_given_up(
    farm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven scenes were recorded as failed, and not rendered again when there was room."""
    sizes = {"free": 1 << 30}
    monkeypatch.setattr(
        "generator.render.process.shutil.disk_usage",
        lambda folder: SimpleNamespace(total=1 << 40, used=0, free=sizes["free"]),
    )
    assert run(farm, "fail", "", folder=str(tmp_path))["000"] == "no luck"
    sizes["free"] = 100 << 10
    with pytest.raises(
        UserError, match=r"has 100 KiB free, .*no luck.* run the same command again"
    ):
        run(farm, "fail", "", folder=str(tmp_path))
    assert run(farm, "final", "", folder=str(tmp_path))["000"] == "no room"


def test_no_worker_outlives_the_farm(farm: Path) -> None:
    rendering = Farm(2).render(iter(jobs(*[""] * 50)), 50, {"log": str(farm)})
    next(rendering)
    rendering.close()
    for process in {name for tried in processes(farm).values() for name in tried}:
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


@pytest.mark.parametrize("module", ["worker", "system"])
def test_nothing_is_imported_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """The card of a dataset tells people to run commands in its folder."""
    trace = make_hostile(tmp_path)
    monkeypatch.chdir(tmp_path)
    with (
        AnsweringProcess(f"generator.render.blender.{module}") as process,
        suppress(ProcessEndError),
    ):
        process.ask({"nonsense": True}, 60)  # it ends over its settings, or prints the devices
    assert not trace.exists()


def test_two_threads_that_end_a_process_do_so_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A farm ends its worker while the worker's own thread drops it."""
    process = AnsweringProcess("this")
    wait, inside, most = process._process.wait, Semaphore(1), []

    def slow(timeout: float | None = None) -> int:
        most.append(inside.acquire(blocking=False))
        time.sleep(0.2)
        inside.release()
        return wait(timeout)

    monkeypatch.setattr(process._process, "wait", slow)
    process._busy = False
    threads = [Thread(target=process.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [True, True]


def test_every_process_of_ours_leaves_the_working_directory_out() -> None:
    started = [
        ast.unparse(node)
        for package in ("generator", "evaluator")
        for path in (CHECKOUT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List) and "sys.executable" in ast.unparse(node)
    ]
    assert len(started) == 5
    assert all(line.startswith("[sys.executable, '-P', ") for line in started)
