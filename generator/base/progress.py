"""Progress of long work. Nothing is shown unless the caller passes a Progress that shows it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

T = TypeVar("T")


class Advance(Protocol):
    """Call it after each step, or each few steps. A `note`, such as a loss, replaces the previous
    note."""

    def __call__(self, steps: int = 1, note: str = "") -> None: ...


class Progress:
    """Follows long work. This one shows nothing; a subclass that overrides `track` can show a
    bar."""

    def track(self, name: str, total: int | None, done: int = 0) -> AbstractContextManager[Advance]:
        """A context for work called `name` of `total` steps (None: not known), of which `done` are
        finished."""
        return nullcontext(_ignore)

    def each(self, rows: Iterable[T], name: str, total: int, every: int = 1) -> Iterator[T]:
        """Yield the rows and report progress after every `every` rows."""
        with self.track(name, total) as advance:
            n = 0
            for n, row in enumerate(rows, 1):
                yield row
                if n % every == 0:
                    advance(every)
            advance(n % every)


class Callback(Progress):
    """Calls `call(name, done, total)` after each step; total is None if unknown."""

    def __init__(self, call: Callable[[str, int, int | None], object]):
        self._call = call

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """As Progress.track."""
        finished = done

        def advance(steps: int = 1, note: str = "") -> None:
            nonlocal finished
            finished += steps
            self._call(name, finished, total)

        yield advance


class AutoBar(Progress):
    """Shows a bar of tqdm in a notebook, and in a script on stderr if it is a terminal."""

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """As Progress.track."""
        from tqdm.auto import tqdm

        # A notebook is no terminal, and shows bars all the same.
        hidden = "ipykernel" not in sys.modules and not sys.stderr.isatty()
        with tqdm(total=total, initial=done, desc=name, disable=hidden) as bar:

            def advance(steps: int = 1, note: str = "") -> None:
                bar.set_postfix_str(note, refresh=False)
                bar.update(steps)

            yield advance


def _ignore(steps: int = 1, note: str = "") -> None:
    pass


SILENT = Progress()
