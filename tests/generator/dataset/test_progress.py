"""Progress of long work: every row is followed, and nothing is shown unless asked for."""

from collections.abc import Iterator
from contextlib import contextmanager

from generator.dataset.progress import SILENT, Advance, Progress


class Noted(Progress):
    """Notes each call."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        self.calls.append((name, total, done))
        yield lambda steps=1, note="": self.calls.append(steps)


def test_rows_are_yielded_and_counted_in_groups() -> None:
    noted = Noted()
    assert list(noted.each("abcde", "reading", 5, every=2)) == list("abcde")
    assert noted.calls == [("reading", 5, 0), 2, 2, 1]
    assert sum(each for each in noted.calls if isinstance(each, int)) == 5


def test_the_silent_one_does_nothing() -> None:
    assert list(SILENT.each([1, 2], "reading", 2)) == [1, 2]
    with SILENT.track("work", None) as advance:
        advance(3, "a note")
