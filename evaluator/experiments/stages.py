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
"""Commands that change the folder in their first argument: the stage works on a copy. All others
write `--out`."""
_CODE = {
    "gen": (Path(generator.__path__[0]), resource("scenes"), resource("blender_assets")),
    "score": (Path(evaluator.__path__[0]),),
}
"""The folders with code and declarations of each command, its package first."""
LOG, DONE = "log.txt", "done"
_MAIN = """
import sys
from pathlib import Path
from generator.base.files import locked
from {}.cli.main import main
with locked(Path(sys.argv.pop(1))):
    main(prog_name={!r})
"""
_LINES, _SECONDS, _LOOK = 5, 10, 0.2
_SUFFIXES = (".py", ".toml", ".jinja")
_DIGITS = 16
_NAME = re.compile(rf"\b(?:gen|score)(?:-[a-z]+)+-[0-9a-f]{{{_DIGITS}}}\b")


@dataclass(frozen=True)
class Stage:
    """One command of `gen` or `score`, without `--out`.

    words: of the command; names of other stages stand for their folders. str(stage) is its name, so
        that an f-string
    such as f"score run {world} --model jackalope:{model}" is the command of a stage that reads two
    others.
    """

    words: tuple[str, ...]
    reads: tuple["Stage", ...]
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def command(self) -> str:
        """The name of the command, such as "gen render" or "score train scratch"."""
        return _command(self.words)

    @property
    def amended(self) -> "Stage | None":
        """The stage whose folder this stage copies and changes; None for other commands."""
        return self.reads[0] if self.command in _AMENDING else None

    def out(self, root: Path) -> Path:
        """The folder or file that the stage writes. root: the folder of all stages."""
        return root / self.name / ("out.json" if self.command == "score audit" else "out")

    def arguments(self, root: Path) -> list[str]:
        """The words of the command with stage names replaced by folders, from "gen" or "score"
        on."""
        folders = {stage.name: str(stage.out(root)) for stage in self.reads}
        if self.amended:
            folders[self.amended.name] = str(self.out(root))
        words = [_NAME.sub(lambda found: folders[found[0]], word) for word in self.words]
        return words if self.amended else [*words, "--out", str(self.out(root))]


class Stages:
    """The stages of an experiment, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Stage] = {}

    def add(self, command: str | Sequence[str]) -> Stage:
        """The stage of a command, given as a shell line or as words.

        The stage's name contains a digest of the command, of the stages that it reads, of the files
        that it names, and of the code of its package.
        """
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
        named = (name for word in words for name in _NAME.findall(word))
        reads = [self._by_name[name] for name in named if name in self._by_name]
        contents = [digest for word in words for digest in _contents(word)]
        about = [_code_digest(words[0]), words, contents]
        digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:_DIGITS]
        name = f"{_command(words).replace(' ', '-')}-{digest}"
        return self._by_name.setdefault(name, Stage(words, tuple(dict.fromkeys(reads)), name))


def in_order(stages: Iterable[Stage]) -> list[Stage]:
    """The stages and all stages that they read, without duplicates; each after the stages that it
    reads."""
    found: dict[str, Stage] = {}

    def add(stage: Stage) -> None:
        if stage.name not in found:
            for each in stage.reads:
                add(each)
            found[stage.name] = stage

    for stage in stages:
        add(stage)
    return list(found.values())


@cache
def _code_digest(command: str) -> str:
    """A digest of the code and declarations of "gen" or "score"."""
    files = [
        path
        for root in _CODE[command]
        for path in sorted(root.rglob("*"))
        if path.suffix in _SUFFIXES
    ]
    return hashlib.sha256(
        "".join(f"{path.name} {sha256(path)}\n" for path in files).encode()
    ).hexdigest()


def _command(words: Sequence[str]) -> str:
    return " ".join(words[: 3 if tuple(words[:2]) == ("score", "train") else 2])


def _contents(word: str) -> Iterator[str]:
    """The digests of the files and folders that a word names, as FILE, NAME=FILE,
    FAMILY:FILE,ARGUMENT=VALUE or NAME@FILE. A name without "/" and "." counts only after ":"."""
    for start in (0, *(mark.end() for mark in re.finditer("[=:@]", word))):
        name = re.split(r",(?=\w+=)", word[start:])[0]
        if ("/" in name or "." in name or word[start - 1 : start] == ":") and os.path.exists(name):
            path = Path(name)
            files = (
                (path,)
                if path.is_file()
                else tuple(sorted(each for each in path.rglob("*") if each.is_file()))
            )
            yield _digest(path, files, tuple(each.stat().st_mtime_ns for each in files))


@cache
def _digest(path: Path, files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    lines = [f"{each.relative_to(path)} {sha256(each)}\n" for each in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True)
class Failure:
    """A stage whose command failed, with its exit code and its log."""

    stage: Stage
    code: int
    log: Path

    @property
    def said(self) -> str:
        """The last lines of its log."""
        lines = (
            self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LINES:]
        )
        return "\n".join(lines) or "Its log is empty."


def run_stages(
    stages: Sequence[Stage],
    root: Path,
    tell: Callable[[Stage, int], object] = lambda stage, number: None,
    place: "Place | None" = None,
) -> dict[str, Failure]:
    """Run the unfinished stages; `tell` is called before each, with its number in `stages` from 1.

    stages: each after the stages that it reads. Independent stages run in parallel, as many as
        `place` allows. Returns
    failures by stage name: of the stage itself, or of a stage that it reads.
    """
    place = place or Place()
    room = BoundedSemaphore(len(stages) or 1 if place.slurm else place.workers)
    ended: dict[str, Future[Failure | None]] = {}

    def end(number: int, stage: Stage) -> Failure | None:
        if is_done(stage, root):
            return None
        for read in stage.reads:
            if read.name in ended and (cause := ended[read.name].result()):
                return cause
        with room:
            if place.stopped.is_set():
                return None
            tell(stage, number)
            return run_stage(stage, root, place)

    threads = ThreadPoolExecutor(max(1, len(stages)))
    try:
        for number, stage in enumerate(stages, 1):
            ended[stage.name] = threads.submit(end, number, stage)
        return {name: failure for name, each in ended.items() if (failure := each.result())}
    except BaseException:
        place.stopped.set()
        raise
    finally:
        threads.shutdown(wait=not place.slurm, cancel_futures=True)


@dataclass(frozen=True)
class Place:
    """Where stages run: here, `workers` at the same time, sharing the cores; or as jobs of Slurm,
    without a limit.

    stopped: if set, no further stage begins and local processes are ended.
    """

    workers: int = 1
    slurm: "Slurm | None" = None
    stopped: Event = field(default_factory=Event)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of a local stage process."""
        threads = {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // self.workers))}
        return {**(threads if self.workers > 1 else {}), **os.environ, "PYTHONUNBUFFERED": "1"}


def is_done(stage: Stage, root: Path) -> bool:
    """Whether a stage has finished. root: the folder of all stages."""
    return (root / stage.name / DONE).is_file()


def run_stage(stage: Stage, root: Path, place: Place | None = None) -> Failure | None:
    """Run or resume a stage; returns None if it finishes, else its failure. Waits for other
    processes that run it.

    The stage's folder has its output in `log.txt`, and the empty file `done` once the stage has
    finished.
    """
    folder = root / stage.name
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / ".lock", stage):
        with _locked(folder / ".command.lock", stage):
            pass  # a command continues after its parent process is killed
        if is_done(stage, root):
            return None
        trained = (stage.out(root) / RECORD).exists()  # the stage was killed before it wrote `done`
        if stage.amended:
            shutil.rmtree(stage.out(root), ignore_errors=True)
            copy_dataset(stage.amended.out(root), stage.out(root))
        if not trained and (code := _run(stage, root, place or Place())):
            return Failure(stage, code, folder / LOG)
        (folder / DONE).touch()
    return None


@contextmanager
def _locked(path: Path, stage: Stage) -> Iterator[None]:
    try:
        with locked(path, "busy"):
            pass
    except UserError:
        logger.info(f"Another command works on {stage.name}; waiting until it ends.")
    with locked(path):
        yield


def _run(stage: Stage, root: Path, place: Place) -> int:
    words = stage.arguments(root)
    main = _MAIN.format(_CODE[words[0]][0].name, words[0])
    arguments = ["-c", main, str(root / stage.name / ".command.lock"), *words[1:]]
    if place.slurm:
        from generator.base.slurm import run_job

        return run_job(arguments, root / stage.name / LOG, place.slurm)
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
                return process.wait(_LOOK)
        _stop(process)
        return process.returncode


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Wait up to _SECONDS for a process to end, else kill it. Ctrl-C in a terminal has reached it
    too."""
    try:
        process.wait(_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
