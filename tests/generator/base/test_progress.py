"""Long work reports its steps to whoever follows it, and to nobody by default."""

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from generator.base.progress import SILENT, Advance, AutoBar, Callback, Progress


class Recorder(Progress):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, str]] = []
        self.started: list[tuple[str, int | None, int]] = []

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        self.started.append((name, total, done))
        yield lambda steps=1, note="": self.steps.append((steps, note))


def test_rows_are_counted_when_they_are_done() -> None:
    recorder = Recorder()
    rows = recorder.follow("abcde", "letters", total=5, every=2)
    assert [next(rows), next(rows)] == ["a", "b"]
    assert recorder.steps == []
    assert list(rows) == ["c", "d", "e"]
    assert recorder.started == [("letters", 5, 0)]
    assert recorder.steps == [(2, ""), (2, ""), (1, "")]


def test_the_default_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with SILENT.track("work", 3, 1) as advance:
        advance()
        advance(2, "a note")
    assert list(SILENT.follow([1, 2], "numbers", total=2)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_callback_gets_name_done_and_total() -> None:
    seen: list[tuple[str, int, int | None]] = []
    with Callback(lambda *step: seen.append(step)).track("images", 9, 2) as advance:
        advance()
        advance(4, "3/s")
    assert seen == [("images", 3, 9), ("images", 7, 9)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stderr", "is_terminal"), [(Terminal, True), (io.StringIO, False)])
def test_a_script_shows_a_bar_that_moves_on_a_terminal_and_is_a_few_lines_in_a_file(
    stderr: type[io.StringIO],
    is_terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", stderr())
    with AutoBar().track("images", 50) as advance:
        for _ in range(50):
            time.sleep(0.01)
            advance()
    states = sys.stderr.getvalue().split("\r")[1:]  # type: ignore[attr-defined]
    assert "0/50" in states[0]
    assert "50/50" in states[-1]
    assert (len(states) > 3) is is_terminal
    assert all(state.startswith("images") for state in states)
    assert capsys.readouterr().out == ""
