"""The process that reads files of strangers: what it may take, see and reach, and when it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.base.bounded import Bounds, read_bounded
from generator.base.errors import UserError
from tests.paths import CHECKOUT

BOUNDS = Bounds(64 << 20, 60.0)
HERE = f"{__name__}:"


def lines(path: Path) -> Iterator[str]:
    yield from path.read_text().splitlines()


def fill(path: Path) -> Iterator[int]:
    yield len(bytearray(int(path.read_text())))


def stall(path: Path) -> Iterator[int]:
    while True:
        sum(range(1000))
    yield 0


def crash(path: Path) -> Iterator[int]:
    yield 1
    os.abort()


def reach(path: Path, other: str) -> Iterator[str]:
    """What becomes of reading, writing, listing and connecting."""
    for attempt in (
        lambda: Path(other).read_text(),
        lambda: Path(other).write_text("x"),
        lambda: os.listdir(Path(other).parent),
        lambda: Path("/etc/passwd").read_text(),
        lambda: Path("/proc/self/environ").read_text(),
        lambda: socket.create_connection(("127.0.0.1", int(path.read_text()))),
        path.read_text,
    ):
        try:
            attempt()
            yield "done"
        except OSError as error:
            yield type(error).__name__


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    path = tmp_path / "given" / "file"
    path.write_text("a\nb\n")
    return path


def read_all(name: str, file: Path, bounds: Bounds = BOUNDS, **arguments: str) -> list[object]:
    return [
        item
        for _, item in read_bounded(
            HERE + name, [file], sees=[file.parent], bounds=bounds, **arguments
        )
    ]


def test_files_are_read_in_order(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("c\n")
    read = list(
        read_bounded(f"{HERE}lines", [file, other, file], sees=[file.parent], bounds=BOUNDS)
    )
    assert read == [(file, "a"), (file, "b"), (other, "c"), (file, "a"), (file, "b")]


def test_files_that_take_too_much_memory_are_refused(file: Path) -> None:
    file.write_text(str(32 << 20))
    assert read_all("fill", file) == [32 << 20]
    file.write_text(str(1 << 30))
    with pytest.raises(UserError, match="takes more than 64 MiB of memory"):
        read_all("fill", file)


def test_read_that_never_ends_is_killed(file: Path) -> None:
    with pytest.raises(UserError, match="took more processor time than it may"):
        read_all("stall", file, Bounds(64 << 20, 0.5))


def abort_as_rust(path: Path) -> Iterator[int]:
    sys.stderr.write("memory allocation of 41 bytes failed\nnote: a backtrace can be displayed\n")
    sys.stderr.flush()
    os.abort()
    yield 0


def test_a_library_in_rust_that_has_no_memory_left_is_named_as_such(file: Path) -> None:
    with pytest.raises(UserError, match="the process that reads it needed more memory than it may"):
        read_all("abort_as_rust", file)


def test_a_crash_is_one_sentence(file: Path) -> None:
    with pytest.raises(
        UserError, match="cannot be read: the process that reads it ended with code -6"
    ):
        read_all("crash", file)


def test_nothing_but_the_given_folder_is_reached(file: Path) -> None:
    other = file.parent.parent / "secret"
    other.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        file.write_text(str(server.getsockname()[1]))
        assert read_all("reach", file, other=str(other)) == ["PermissionError"] * 6 + ["done"]
    assert other.read_text() == "secret"


def wait(path: Path) -> Iterator[int]:
    """Compute in one call that gives no other thread of Python a turn, as Cycles does while it
    renders."""
    yield os.getpid()
    sys.setswitchinterval(1000)
    while True:
        pass


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_with_a_parent_that_is_killed_or_interrupted(
    file: Path, stop: signal.Signals
) -> None:
    code = (
        "import sys; from pathlib import Path; from generator.base.bounded import *; from "
        "tests.generator.base "
        "import test_bounded as t; file = Path(sys.argv[1])\n"
        "for _, pid in read_bounded(t.HERE + 'wait', [file], sees=[file.parent], bounds=t.BOUNDS): print(pid, "
        "flush=True)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(stop)
    parent.wait(60)
    parent.stdout.close()
    for _ in range(600):
        if not is_running(child):
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("it still runs")


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
