"""A long run against an endpoint is killed, and continued without asking anything twice."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.evaluator.chat import Server, serving
from tests.evaluator.scoring.words.rules import Rules, answers_of, captions_of_items, items_of

_CODE = "from evaluator.cli.main import main; main()"
CONCURRENCY = 32


def started(server: Server, benchmark: Path, out: Path) -> subprocess.Popen[bytes]:
    """A process of `score ask`, one order a question."""
    model = server.spec("even", concurrency=CONCURRENCY)
    command = ["ask", f"table:{benchmark}", "--model", model, "--orders", "1", "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-c", _CODE, *command],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def stop_after(
    server: Server, process: subprocess.Popen[bytes], n: int, how: signal.Signals
) -> None:
    """Send a signal when n questions were asked."""
    while server.asked.total() < n:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    process.wait(timeout=60)


@pytest.mark.full
@pytest.mark.parametrize("n", [10_000])
def test_a_killed_run_asks_nothing_twice(n: int, tmp_path: Path) -> None:
    """Ctrl-C lets the questions under way end: none is asked again. After SIGKILL only those are
    that were under way, whose answers never came."""
    benchmark = captions_of_items(tmp_path / "items", n)
    with serving(Rules, wait=0.002) as server:
        stop_after(server, started(server, benchmark, tmp_path / "run"), n // 4, signal.SIGINT)
        assert set(server.asked.values()) == {1}
        stop_after(server, started(server, benchmark, tmp_path / "run"), n // 2, signal.SIGKILL)
        assert started(server, benchmark, tmp_path / "run").wait() == 0
        assert len(server.asked) == n
        assert server.asked.total() - n <= CONCURRENCY
        assert max(server.asked.values()) <= 2
        assert server.handler.at_once["most"] <= CONCURRENCY
    assert len(answers_of(tmp_path / "run")) == n
    items = items_of(tmp_path / "run")
    assert (items["value"] == items["even"]).all()
