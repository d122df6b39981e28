"""Stages of an experiment and their runner. A stage is one command, with the stages that it reads
and a folder.

Each stage runs in its own process, or as a job of Slurm, after the stages that it reads. Finished
stages are skipped; a failure stops only the stages that read the failed one.
"""

import hashlib
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import TYPE_CHECKING

import evaluator
import generator
from evaluator.provenance.exposure import RECORD
from generator.base.errors import UserError
from generator.base.files import locked, sha256
from generator.base.listed import copy_dataset
from generator.base.registry import resource

if TYPE_CHECKING:
    from generator.base.slurm import Slurm

logger = logging.getLogger(__name__)
_AMENDING = ("gen split", "gen describe", "gen verify")
"""Commands that change the folder in their first argument: the stage works on a copy, so that the
folder of the stage before stays what its name says. All others write `--out`."""
_CODE = {
    "gen": (Path(generator.__path__[0]), resource("scenes"), resource("blender_assets")),
    "score": (Path(evaluator.__path__[0]),),
}
"""The folders with code and declarations of each program, its package first."""
_CODE_SUFFIXES = (".py", ".toml", ".jinja")
"""Suffixes of the files in these folders that can change what a command does."""
LOG, DONE = "log.txt", "done"
"""Files in the folder of a stage: the output of its command, and an empty file once it has
finished."""
_LOCKED_MAIN = """
import sys
from pathlib import Path
from generator.base.files import locked
from {}.cli.main import main
with locked(Path(sys.argv.pop(1))):
    main(prog_name={!r})
"""
"""The program of a stage's process: takes the lock of its first argument, then runs the command.
The lock outlives a parent process that is killed, so no second process starts the same command."""
_LOG_LINES = 5
"""Lines of a log that describe a failure."""
_SECONDS_TO_END = 10
"""How long a process may take to end after it was interrupted."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""How often the runner looks whether it was stopped while a command runs."""
_DIGEST_DIGITS = 16
_STAGE_NAME = re.compile(rf"\b(?:gen|score)(?:-[a-z]+)+-[0-9a-f]{{{_DIGEST_DIGITS}}}\b")
"""Matches the names of stages within the words of a command."""


@dataclass(frozen=True)
class Stage:
    """One command of `gen` or `score`, without `--out`.

    str(stage) is its name, so that an f-string such as
    f"score run {world} --model jackalope:{model}" is the command of a stage that reads two others.
    """

    words: tuple[str, ...]
    """The words of the command, "gen" or "score" first. Names of other stages stand for their
    folders."""
    reads: tuple["Stage", ...]
    """The stages whose folders the command reads, in the order of its words."""
    name: str
    """The command and a digest of all that it depends on (see `Stages.add`)."""

    def __str__(self) -> str:
        return self.name

    @property
    def command(self) -> str:
        """The name of the command, such as "gen render" or "score train scratch"."""
        return _command_name(self.words)

    @property
    def amended(self) -> "Stage | None":
        """The stage whose folder this stage copies and changes; None for other commands."""
        return self.reads[0] if self.command in _AMENDING else None

    def out(self, root: Path) -> Path:
        """The folder or file that the stage writes.

        Args:
            root: the folder of all stages.
        """
        return root / self.name / ("out.json" if self.command == "score audit" else "out")

    def arguments(self, root: Path) -> list[str]:
        """The words of the command, from "gen" or "score" on, with stage names replaced by folders.

        Args:
            root: the folder of all stages.
        """
        folders = {stage.name: str(stage.out(root)) for stage in self.reads}
        if self.amended:
            folders[self.amended.name] = str(self.out(root))
        words = []
        for word in self.words:
            words.append(_STAGE_NAME.sub(lambda match: folders[match[0]], word))
        if self.amended:
            return words
        return [*words, "--out", str(self.out(root))]


class Stages:
    """The stages of an experiment, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Stage] = {}

    def add(self, command: str | Sequence[str]) -> Stage:
        """The stage of a command.

        The stage's name contains a digest of the command, of the stages that it reads, of the files
        that it names, and of the code of its package: a finished stage of that name needs no second
        run. Stages that it reads are in the digest by their names, which are words of the command.

        Args:
            command: a shell line, or words.
        """
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
        reads: dict[Stage, None] = {}
        file_digests: list[str] = []
        for word in words:
            for name in _STAGE_NAME.findall(word):
                if name in self._by_name:
                    reads[self._by_name[name]] = None
            file_digests += _digests_of_named_files(word)
        depends_on = [_code_digest(words[0]), words, file_digests]
        digest = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:_DIGEST_DIGITS]
        name = f"{_command_name(words).replace(' ', '-')}-{digest}"
        return self._by_name.setdefault(name, Stage(words, tuple(reads), name))


def in_order(stages: Iterable[Stage]) -> list[Stage]:
    """The stages and all stages that they read, without duplicates; each after the stages that it
    reads."""
    ordered: dict[str, Stage] = {}

    def add(stage: Stage) -> None:
        if stage.name not in ordered:
            for read in stage.reads:
                add(read)
            ordered[stage.name] = stage

    for stage in stages:
        add(stage)
    return list(ordered.values())


@cache
def _code_digest(program: str) -> str:
    """A digest of the code and declarations of "gen" or "score"."""
    lines = []
    for folder in _CODE[program]:
        for path in sorted(folder.rglob("*")):
            if path.suffix in _CODE_SUFFIXES:
                lines.append(f"{path.name} {sha256(path)}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _command_name(words: Sequence[str]) -> str:
    """The first words of a command, up to its arguments: `score train` has subcommands."""
    has_subcommand = tuple(words[:2]) == ("score", "train")
    return " ".join(words[: 3 if has_subcommand else 2])


def _digests_of_named_files(word: str) -> Iterator[str]:
    """Yields a digest for each file or folder that a word of a command names.

    A word may be FILE, NAME=FILE, FAMILY:FILE,ARGUMENT=VALUE or NAME@FILE, so a name can begin at
    the start and after each of = : @, and ends before ",ARGUMENT=". A name without "/" and "." is
    taken for a file only after ":" (jackalope:model): elsewhere it is an option's value, even if a
    file of that name happens to lie here.
    """
    starts = [0] + [mark.end() for mark in re.finditer("[=:@]", word)]
    for start in starts:
        name = re.split(r",(?=\w+=)", word[start:])[0]
        looks_like_a_path = "/" in name or "." in name or word[start - 1 : start] == ":"
        if not (looks_like_a_path and os.path.exists(name)):
            continue
        path = Path(name)
        if path.is_file():
            files: tuple[Path, ...] = (path,)
        else:
            files = tuple(sorted(inside for inside in path.rglob("*") if inside.is_file()))
        # Times of change are part of the cache's key: a large file is read once until it changes.
        yield _digest_of_files(path, files, tuple(file.stat().st_mtime_ns for file in files))


@cache
def _digest_of_files(path: Path, files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    """A digest of the contents of files, with their names within `path`. changed: when each was
    changed last, in ns."""
    lines = [f"{file.relative_to(path)} {sha256(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class Failure:
    """A stage whose command failed."""

    stage: Stage
    code: int
    """The exit code of the command."""
    log: Path
    """The file with the output of the command."""

    @property
    def end_of_log(self) -> str:
        """The last lines of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        lines = text.strip().splitlines()[-_LOG_LINES:]
        return "\n".join(lines) or "Its log is empty."


def run_stages(
    stages: Sequence[Stage],
    root: Path,
    tell: Callable[[Stage, int], object] = lambda stage, number: None,
    place: "Place | None" = None,
) -> dict[str, Failure]:
    """Run the unfinished stages, independent ones at the same time, as many as `place` allows.

    Each stage has a thread that waits for the stages that it reads, then for room.

    Args:
        stages: each after the stages that it reads.
        root: the folder of all stages.
        tell: called before a stage runs, with its number in `stages`, from 1.
        place: where stages run; here, one at a time, if None.

    Returns: Failures by stage name: of the stage itself, or of a stage that it reads.
    """
    place = place or Place()
    room = BoundedSemaphore(len(stages) or 1 if place.slurm else place.workers)
    ended: dict[str, Future[Failure | None]] = {}

    def run_after_its_inputs(number: int, stage: Stage) -> Failure | None:
        if is_done(stage, root):
            return None
        for read in stage.reads:
            cause = ended[read.name].result() if read.name in ended else None
            if cause:
                return cause
        with room:
            if place.stopped.is_set():
                return None
            tell(stage, number)
            return run_stage(stage, root, place)

    threads = ThreadPoolExecutor(max(1, len(stages)))
    try:
        for number, stage in enumerate(stages, 1):
            ended[stage.name] = threads.submit(run_after_its_inputs, number, stage)
        failures = {}
        for name, result in ended.items():
            failure = result.result()
            if failure:
                failures[name] = failure
        return failures
    except BaseException:
        place.stopped.set()
        raise
    finally:
        threads.shutdown(wait=not place.slurm, cancel_futures=True)


@dataclass(frozen=True)
class Place:
    """Where stages run: here, or as jobs of Slurm."""

    workers: int = 1
    """How many stages run here at the same time, sharing the cores."""
    slurm: "Slurm | None" = None
    """The cluster, which limits the number of jobs itself; None to run here."""
    stopped: Event = field(default_factory=Event)
    """If set, no further stage begins, and local processes are ended."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of a local stage process."""
        variables = {}
        if self.workers > 1:
            # Each process would otherwise start a thread for every core.
            cores = len(os.sched_getaffinity(0)) // self.workers
            variables["OMP_NUM_THREADS"] = str(max(1, cores))
        return {**variables, **os.environ, "PYTHONUNBUFFERED": "1"}


def is_done(stage: Stage, root: Path) -> bool:
    """Whether a stage has finished. root: the folder of all stages."""
    return (root / stage.name / DONE).is_file()


def run_stage(stage: Stage, root: Path, place: Place | None = None) -> Failure | None:
    """Run or resume a stage, after other processes that run it.

    Returns: None if it finishes, else its failure.
    """
    folder = root / stage.name
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / ".lock", stage):
        # A command continues after its parent process is killed: wait for it too.
        with _locked(folder / ".command.lock", stage):
            pass
        if is_done(stage, root):
            return None
        # A training writes the record of its model last. If there is one, an earlier run of this
        # stage was killed between its training and DONE, and there is nothing left to do.
        is_trained = (stage.out(root) / RECORD).exists()
        if stage.amended:
            # A command that was stopped may have changed its copy already.
            shutil.rmtree(stage.out(root), ignore_errors=True)
            copy_dataset(stage.amended.out(root), stage.out(root))
        code = 0 if is_trained else _run(stage, root, place or Place())
        if code:
            return Failure(stage, code, folder / LOG)
        (folder / DONE).touch()
    return None


@contextmanager
def _locked(path: Path, stage: Stage) -> Iterator[None]:
    """Holds the lock of a file; says so first if another process holds it."""
    try:
        with locked(path, "busy"):
            pass
    except UserError:
        logger.info(f"Another command works on {stage.name}; waiting until it ends.")
    with locked(path):
        yield


def _run(stage: Stage, root: Path, place: Place) -> int:
    """Run the command of a stage in a process or a job; returns its exit code."""
    words = stage.arguments(root)
    main = _LOCKED_MAIN.format(_CODE[words[0]][0].name, words[0])
    arguments = ["-c", main, str(root / stage.name / ".command.lock"), *words[1:]]
    if place.slurm:
        from generator.base.slurm import run_job

        return run_job(arguments, log=root / stage.name / LOG, slurm=place.slurm)
    with (root / stage.name / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=place.environment,
        )
        while not place.stopped.is_set():
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_SECONDS_BETWEEN_LOOKS)
        _stop(process)
        return process.returncode


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Wait up to _SECONDS_TO_END for a process to end, else kill it. Ctrl-C in a terminal has
    reached it too."""
    try:
        process.wait(_SECONDS_TO_END)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
