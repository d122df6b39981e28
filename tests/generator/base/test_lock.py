"""Lock files: one process at a time, whoever removes the file meanwhile."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.lock import Lock

BUSY = "Another command is here; wait for it."
# adds one to a number in a file, slowly, as often as it is told
COUNT = """
import sys, time
from pathlib import Path
from generator.base.lock import Lock
folder = Path(sys.argv[1])
for _ in range(40):
    with Lock(folder / ".lock"):
        n = int((folder / "n").read_text())
        time.sleep(0.001)
        (folder / "n").write_text(str(n + 1))
"""


def test_processes_take_turns_though_each_removes_the_file(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(3)]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    assert (tmp_path / "n").read_text() == "120"
    assert [path.name for path in tmp_path.iterdir()] == ["n"]


def test_a_lock_that_is_held_is_refused_in_one_sentence_and_is_free_afterwards(tmp_path: Path) -> None:
    with Lock(tmp_path / ".lock", BUSY), pytest.raises(UserError, match=BUSY), Lock(tmp_path / ".lock", BUSY):
        pass
    with Lock(tmp_path / ".lock", BUSY) as lock:
        assert lock.held
    assert not lock.held
    assert list(tmp_path.iterdir()) == []


def test_a_kill_frees_the_lock(tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from generator.base.lock import Lock\n" \
           "with Lock(Path(sys.argv[1])): print(flush=True); time.sleep(600)"  # fmt: skip
    path = tmp_path / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(UserError), Lock(path, BUSY):
            pass
        other.kill()
        other.wait()
    with Lock(path, BUSY) as lock:
        assert lock.held


def test_who_waited_for_a_file_that_is_gone_takes_the_new_one(tmp_path: Path) -> None:
    """Without the comparison both would be in: one holds the removed file, the other a new one of its name."""
    path = tmp_path / ".lock"
    first = Lock(path)
    first.__enter__()
    code = "import sys; from pathlib import Path; from generator.base.lock import Lock\n" \
           "with Lock(Path(sys.argv[1])) as lock: print(lock.held, flush=True); sys.stdin.read()"  # fmt: skip
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as waiting:
        time.sleep(1)  # it waits for the first file
        first.__exit__(None, None, None)
        assert waiting.stdout
        assert waiting.stdout.readline() == "True\n"
        with pytest.raises(UserError), Lock(path, BUSY):
            pass
        waiting.communicate("")
    assert not path.exists()


def test_a_lock_whose_file_is_removed_says_so_and_leaves_the_next_one_alone(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with Lock(path) as first:
        path.unlink()
        assert not first.held
        with Lock(path, BUSY) as second:
            assert second.held
            first.__exit__(None, None, None)
            assert second.held


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), Lock(tmp_path / ".lock", BUSY):  # noqa: PT011
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_process_that_inherits_the_file_holds_the_lock_too(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    code = "import subprocess, sys; from pathlib import Path; from generator.base.lock import Lock\n" \
           "lock = Lock(Path(sys.argv[1])).__enter__()\n" \
           "child = subprocess.Popen([sys.executable, '-c', 'input()'], pass_fds=[lock.fileno()], stdin=0)\n" \
           "print(child.pid, flush=True); import os; os._exit(0)"  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdin
        other.stdout.readline()
        other.wait()
        with pytest.raises(UserError, match=BUSY), Lock(path, BUSY):
            pass
        other.stdin.write(b"\n")
        other.stdin.close()
    with Lock(path) as lock:
        assert lock.held
    with pytest.raises(ValueError, match="is not locked"):
        lock.fileno()
