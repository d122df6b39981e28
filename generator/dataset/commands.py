"""What the commands `gen` and `score` share: how mistakes, full disks and Ctrl-C end, and where talk goes."""

import errno
import json
import sys
from pathlib import Path
from typing import Any

import click

from generator.dataset.errors import UserError

_STORAGE = {errno.ENOSPC: "no space is left there", errno.EDQUOT: "your quota there is used up",
            errno.EROFS: "it is read-only", errno.EACCES: "you may not write there",
            errno.ENOTDIR: "a part of that path is a file, not a folder"}  # fmt: skip
_FOLDER = click.Path(path_type=Path, file_okay=False)


class DatasetFolder(click.ParamType):
    """A dataset's folder; for one at a URL, the folder that stands for it."""

    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The folder. Raises UserError when a URL cannot be reached, or has no dataset where one is to be read."""
        if isinstance(value, str) and ":" in value:
            from generator.dataset.store import is_url

            if is_url(value):
                return self._at(value)
        return Path(_FOLDER.convert(value, param, ctx))

    def _at(self, url: str) -> Path:
        from generator.dataset.store import mirror

        return mirror(url)


class OutFolder(DatasetFolder):
    """A folder to make a dataset in; for a URL, the folder from which it is copied there."""

    def _at(self, url: str) -> Path:
        from generator.dataset.store import staging

        return staging(url)


class Commands(click.Group):
    """A group of commands whose foreseeable failures end in one sentence: exit code 2, or 130 after Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; unforeseen errors keep their traceback."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("Stopped. What is finished is kept: run the same command again to continue.")
            ctx.exit(130)
        except OSError as error:
            if error.errno not in _STORAGE:
                raise
            where = error.filename or "the output folder"
            raise UserError(
                f"Cannot write {where}: {_STORAGE[error.errno]}. What is finished is kept: mend this and run the same command again."
            ) from error


def say(message: str) -> None:
    """Tell the person at the terminal something (stderr)."""
    click.echo(message, err=True)


def result(data: dict[str, Any], as_json: bool, line: str) -> None:
    """Give the result of a command (stdout): JSON for machines, or a line."""
    click.echo(json.dumps(data, sort_keys=True) if as_json else line)


def progress() -> Any:
    """A progress bar on stderr with rate and remaining time; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)
