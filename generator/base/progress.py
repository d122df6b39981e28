"""Progress of long work. Nothing is shown unless the caller passes a Progress that shows it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

T = TypeVar("T")


class Advance(Protocol):
    """Call it after each step, or each few steps."""

    def __call__(self, steps: int = 1, note: str = "") -> None:
        """Report finished steps.

        Args:
            steps: Their number.
            note: What to show beside the progress, such as a loss; it replaces the previous note.
        """


class Progress:
    """Follows long work. This one shows nothing; a subclass that overrides `track` can show a
    bar."""

    def track(self, name: str, total: int | None, done: int = 0) -> AbstractContextManager[Advance]:
        """Follow a piece of work.

        Args:
            name: What to call it.
            total: Number of its steps; None if it is not known.
            done: Number of steps that are finished already.

        Returns:
            A context for the work, which yields what reports steps.
        """
        return nullcontext(_ignore)

    def follow(self, rows: Iterable[T], name: str, *, total: int, every: int = 1) -> Iterator[T]:
        """Follow the reading of rows.

        Args:
            rows: The rows.
            name: What to call the work.
            total: Number of rows.
            every: Progress is reported after so many rows.

        Returns:
            An iterator over the rows.
        """
        with self.track(name, total) as advance:
            n_rows = 0
            for n_rows, row in enumerate(rows, 1):
                yield row
                if n_rows % every == 0:
                    advance(every)
            # The rows after the last full batch.
            advance(n_rows % every)


class Callback(Progress):
    """Calls a function of the user after each step."""

    def __init__(self, call: Callable[[str, int, int | None], object]):
        """Make the progress.

        Args:
            call: Gets the name of the work, the number of finished steps, and that of all steps,
                None if it is not known.
        """
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


_SECONDS_IN_FILES = 30
"""Seconds between two lines of a bar that is written to a file, such as a log of Slurm."""


class AutoBar(Progress):
    """Shows a bar of tqdm: in notebooks and terminals a moving one, elsewhere, such as in a log, a
    line on stderr at the beginning, every half a minute, and at the end."""

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """As Progress.track."""
        from tqdm.auto import tqdm

        # A notebook is not a terminal, and shows moving bars all the same.
        moves = "ipykernel" in sys.modules or sys.stderr.isatty()
        seconds = 0.1 if moves else _SECONDS_IN_FILES
        with tqdm(total=total, initial=done, desc=name, mininterval=seconds) as bar:

            def advance(steps: int = 1, note: str = "") -> None:
                bar.set_postfix_str(note, refresh=False)
                bar.update(steps)

            yield advance


def _ignore(steps: int = 1, note: str = "") -> None:
    pass


SILENT = Progress()
"""Shows nothing."""
