"""Shared parts of the command lines `gen` and `score`: parameter types, help, errors, output and
progress bars.

Library code does not import this: it logs, raises UserError and takes a Progress (progress.py).
"""

import errno
import json
import logging
import math
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Timer
from typing import Any

import click
from click.shell_completion import get_completion_class
from platformdirs import user_cache_path

from generator.base.errors import UserError, reason_of, visible
from generator.base.extras import extras_named
from generator.base.files import check_output
from generator.base.progress import Advance, Progress
from generator.base.store import is_url, local_folder, staging

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)

WORDS = "generator.words"
"""Key of the command's arguments, as typed, in `click.Context.meta`."""


class LocalFolder(click.Path):
    """A folder of this machine. A name with a colon, such as exp:1, is made absolute: readers of
    tables would take it for a URL."""

    def __init__(self, written: bool = False) -> None:
        """Make the type.

        Args:
            written: Whether the command writes the folder. Then a value raises UserError if
                nothing can be written there.
        """
        super().__init__(path_type=Path, file_okay=False)
        self._written = written

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The folder."""
        if str(value) == "":
            self.fail("it is empty; give a folder.", param, ctx)
        path = Path(str(super().convert(value, param, ctx)))
        if self._written:
            check_output(path)
        return path.absolute() if ":" in str(path) else path


class DatasetFolder(LocalFolder):
    """The folder of a dataset. A URL becomes its local folder; to read, `example` becomes the
    shipped dataset.

    Raises UserError if a URL cannot be reached, if a URL to read has no dataset, and if the name of
    a folder to write begins like a URL, such as s3:/bucket or exp:1.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The folder."""
        if self._written and is_url(str(value)):
            return staging(value)
        if self._written and _SCHEME.match(str(value)):
            scheme, _, rest = str(value).partition(":")
            raise UserError(
                f"Expected a folder or a URL such as s3://bucket/name, got '{value}', which begins "
                f"like a URL; write "
                f"'{scheme}://{rest.lstrip('/')}' for a URL, or './{value}' for a folder."
            )
        return super().convert(value if self._written else local_folder(str(value)), param, ctx)


class OutFile(click.Path):
    """A file to write. A value raises UserError if it cannot be written."""

    def __init__(self, suffix: str = "") -> None:
        """Make the type.

        Args:
            suffix: End that the name must have, such as `.png`; empty for any name.
        """
        super().__init__(path_type=Path, dir_okay=False)
        self._suffix = suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The file."""
        if str(value) == "":
            self.fail("it is empty; give a file.", param, ctx)
        path = Path(str(super().convert(value, param, ctx)))
        if self._suffix and path.suffix.lower() != self._suffix:
            self.fail(f"expected a name that ends in {self._suffix}, got '{value}'.", param, ctx)
        check_output(path)
        return path


class Number(click.FloatRange):
    """A number in a range. NaN is refused, which click would allow."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class Command(click.Command):
    """A command whose help lists common options first and ends with examples."""

    def __init__(
        self, *args: Any, common: Sequence[str] = (), examples: Sequence[str] = (), **more: Any
    ) -> None:
        """Make the command.

        Args:
            *args: As of click.Command.
            common: Names of the parameters to list first.
            examples: Command lines without the name of the program.
            **more: As of click.Command.
        """
        super().__init__(*args, **more)
        self.common = common
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the arguments as typed under WORDS, for commands that run themselves as a job.

        Raises UserError for an argument that is not UTF-8, as names in old archives are: manifests
        and tables, which are UTF-8, could not name such a path.
        """
        for argument in args:
            _check_utf8(argument)
        ctx.meta[WORDS] = [*args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; in two sections if some are common."""
        common_rows: list[tuple[str, str]] = []
        other_rows: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):
                continue
            row = parameter.get_help_record(ctx)
            # A hidden option has no row.
            if row:
                (common_rows if parameter.name in self.common else other_rows).append(row)
        other_title = "More options" if self.common else "Options"
        for title, rows in (("Common options", common_rows), (other_title, other_rows)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            program = ctx.find_root().info_name
            with formatter.section("Examples"):
                # `write_text` would wrap a long command line.
                indent = " " * formatter.current_indent
                for example in self.examples:
                    formatter.write(f"{indent}{program} {example}\n")


class Commands(click.Group):
    """A group of commands that prints log messages of the library, and reports expected errors in
    one sentence.

    Exit code: 2 after a user's mistake, if a file cannot be read or written, and if memory is
    short; 130 after Ctrl-C. Its help lists the commands in the order in which they were added.
    """

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with the first sentence of its help."""
        with formatter.section("Commands"):
            # Help lists whole first sentences, which have fewer than a thousand characters.
            rows = [
                (name, command.get_short_help_str(1_000)) for name, command in self.commands.items()
            ]
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Unforeseen errors keep their traceback."""
        with nullcontext() if ctx.parent else _logs_shown():
            try:
                with extras_named():
                    return super().invoke(ctx)
            except KeyboardInterrupt:
                say("Stopped. Finished work is kept: run the same command again to continue.")
                ctx.exit(130)
            except UserError as error:
                raise _Mistake(visible(error.message)) from error
            except click.ClickException as error:
                # Not as an attribute, which type checkers see as final.
                vars(error)["message"] = visible(error.message)
                raise
            except UnicodeEncodeError as error:
                # A path that no argument names, such as the working folder.
                _check_utf8(error.object)
                raise
            except RuntimeError as error:
                if "home directory" not in str(error):
                    raise
                raise _Mistake(
                    "There is no home folder for caches and assets, as for a user without an entry "
                    "in passwd: set HOME or XDG_CACHE_HOME to a folder."
                ) from error
            except MemoryError as error:
                raise _Mistake(
                    "There is not enough memory; end other programs, or ask for less at a time. "
                    "Finished work is kept: run the same command again to continue."
                ) from error
            except OSError as error:
                is_full = error.errno in _FULL_DISK
                # Other errors without a file are not about files, and keep their traceback.
                if not is_full and (error.errno is None or error.filename is None):
                    raise
                what = "write" if is_full else "use"
                where = visible(str(error.filename or _written_folders()))
                raise _Mistake(
                    f"Cannot {what} {where}: {reason_of(error)}. Finished work is kept: fix this "
                    f"and run the same command again."
                ) from error


def _check_utf8(text: str) -> None:
    # Python keeps each byte that is not UTF-8 as a lone surrogate.
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _Mistake(
            f"Expected names in UTF-8, got '{visible(text)}'; rename the file or the folder."
        )


def _written_folders() -> str:
    """The places that a command writes to, for an error that names no file."""
    return (
        f"a file in the output folder, the cache {user_cache_path('jackalope')} or "
        f"{tempfile.gettempdir()}"
    )


@click.command(cls=Command, examples=["completion bash >> ~/.bashrc", "completion zsh >> ~/.zshrc"])
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands and options."""
    root = context.find_root()
    program = str(root.info_name)
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(root.command, {}, program, f"_{program.upper()}_COMPLETE").source())


class _Mistake(click.ClickException):
    """A mistake of the user."""

    exit_code = 2


@contextmanager
def _logs_shown() -> Iterator[None]:
    """Context in which log messages of the packages from level INFO on go to stderr, without a
    prefix."""
    handler = _Stderr()
    loggers = [logging.getLogger(name) for name in ("generator", "evaluator")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        # Libraries that set up the root logger would print every line again.
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
            logger.propagate = True


class _Stderr(logging.Handler):
    """Prints log messages as `say` does."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


DRY_RUN = click.option(
    "--dry-run",
    is_flag=True,
    help="Slurm: print the scripts and the cost; submit and write nothing.",
)


def slurm_options(command: Any) -> Any:
    """Add the options for the resources of Slurm jobs (generator.base.slurm).

    Args:
        command: The command, or its function.

    Returns:
        The same with the options --memory, --time, --account and --partition.
    """
    # click lists the option that is added last first.
    for name, text in {
        "--memory": "Slurm: memory of a job, such as 16GB.",
        "--time": (
            "Slurm: time of a job, such as 2:00:00; a longer job is requeued and continues.  "
            "[default: a day]"
        ),
        "--account": "Slurm: account of the jobs.",
        "--partition": "Slurm: partition of the jobs.",
    }.items():
        command = click.option(name, help=text)(command)
    return command


def say(message: str) -> None:
    """Print a message for the user (stderr).

    Args:
        message: The message; control characters are printed as escapes.
    """
    click.echo(visible(message), err=True)


def result(data: dict[str, Any], as_json: bool, line: str) -> None:
    """Print the result of a command (stdout).

    Args:
        data: The result for programs.
        as_json: Whether to print `data` as JSON instead of `line`.
        line: The result for people.
    """
    click.echo(json.dumps(data, sort_keys=True) if as_json else visible(line))


_PATIENCE = 2.0
"""Seconds after which a terminal says what a command is doing."""


@contextmanager
def say_if_slow(message: str) -> Iterator[None]:
    """Say a message on a terminal if the work takes longer than two seconds, such as the import of
    torch. Logs of jobs get no such line: nobody waits for them.

    Args:
        message: The message.

    Returns:
        A context for the work.
    """
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(_PATIENCE, say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Bar(Progress):
    """Shows progress as a bar on stderr with the remaining time; shows nothing if stderr is not a
    terminal."""

    @contextmanager
    def track(self, name: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """As Progress.track."""
        # Most commands end before a bar is needed, and rich takes long to import.
        from rich import progress
        from rich.console import Console

        console = Console(file=sys.stderr)
        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[note]}", markup=False),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(*columns, console=console, disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(visible(name), total=total, completed=done, note="")

            def advance(steps: int = 1, note: str = "") -> None:
                if note:
                    bar.update(task, note=visible(note))
                bar.advance(task, steps)

            yield advance
