"""A farm gives every part once, whatever its size, and reads no more ahead than it must."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.audits.familiarity.corpora import PHRASES, Part
from evaluator.audits.familiarity.counting import Farm
from evaluator.audits.familiarity.reading import DEFAULT

PARTS = [Part(Path("x"), start, PHRASES, ["red car"] * (start + 1)) for start in range(9)]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_part_is_counted_once(workers: int) -> None:
    found = {part.start: table["perfect_count"].to_pylist() for part, table, _ in Farm(workers).count(PARTS, DEFAULT)}
    assert found == {start: [start + 1] for start in range(9)}


def test_few_parts_are_read_ahead() -> None:
    read: list[int] = []

    def parts() -> Iterator[Part]:
        for part in PARTS:
            read.append(part.start)
            yield part

    found = Farm(2).count(parts(), DEFAULT)
    next(found)
    assert len(read) == 5
    found.close()  # type: ignore[attr-defined]


KILLED = """
import os, sys
from itertools import count
from pathlib import Path
from evaluator.audits.familiarity.corpora import Part
from evaluator.audits.familiarity.corpora import PHRASES
from evaluator.audits.familiarity.counting import Farm
from evaluator.audits.familiarity.reading import DEFAULT
if __name__ == "__main__":
    for _ in Farm(2).count((Part(Path("x"), i, PHRASES, ["red car"]) for i in count()), DEFAULT):
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
        print(children, flush=True)
        sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes as Linux does")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    command = [sys.executable, tmp_path / "killed.py"]
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    ) as parent:
        assert parent.stdout
        children = parent.stdout.readline().split()
        parent.kill()
    assert len(children) >= 3  # two workers, and multiprocessing's tracker of resources
    for _ in range(200):
        if not any(map(_runs, children)):
            return
        time.sleep(0.05)
    for child in filter(_runs, children):
        os.kill(int(child), signal.SIGKILL)
    pytest.fail("processes outlive their parent")


def _runs(process: str) -> bool:
    """Whether there is the process, other than as one that ended and that nobody has waited for."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
