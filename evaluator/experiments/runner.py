"""Runs the stages of an experiment, each in its own process or as a job of Slurm, after its inputs.

Finished stages are skipped; a failure stops only the stages that need the failed one.
"""

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import TYPE_CHECKING

from evaluator.experiments.stages import Stage
from evaluator.provenance.exposure import RECORD
from generator.base.errors import UserError
from generator.base.files import locked
from generator.base.listed import copy_dataset

if TYPE_CHECKING:
    from generator.base.slurm import Slurm

logger = logging.getLogger(__name__)
LOG, DONE = "log.txt", "done"
"""Files in the folder of a stage: the output of its command, and an empty file once it has
finished."""
_PACKAGES = {"gen": "generator", "score": "evaluator"}
"""By program, the package that holds it."""
_LOCKED_MAIN = """
import sys
from pathlib import Path
from generator.base.files import locked
from {package}.cli.main import main
with locked(Path(sys.argv.pop(1))):
    main(prog_name={program!r})
"""
"""The program of a stage's process: takes the lock of its first argument, then runs the command.
The lock outlives a parent process that is killed, so no second process starts the same command."""
_LOG_LINES = 5
"""Lines of a log that describe a failure."""
_SECONDS_TO_END = 10
"""How long a process may take to end after it was interrupted."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""How often the runner looks whether it was stopped while a command runs."""


@dataclass(frozen=True)
class Failure:
    """A stage whose command failed."""

    stage: Stage
    """The stage that failed."""
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

    Returns:
        Failures by stage name: of the stage itself, or of a stage that it reads.
    """
    place = place or Place()
    # Slurm queues jobs itself, so all are submitted at once.
    room = BoundedSemaphore(len(stages) or 1 if place.slurm else place.workers)
    ended: dict[str, Future[Failure | None]] = {}

    def run_after_its_inputs(number: int, stage: Stage) -> Failure | None:
        if is_done(stage, root):
            return None
        for needed in stage.inputs:
            # An input that is not among these stages was finished before.
            cause = ended[needed.name].result() if needed.name in ended else None
            if cause:
                return cause
        with room:
            if place.stopped.is_set():
                return None
            tell(stage, number)
            return run_stage(stage, root, place)

    # A thread for each stage: one that waits for its inputs must not take the place of one that
    # could run.
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
        # Jobs go on without this process, local commands do not.
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
    """Check whether a stage has finished.

    Args:
        stage: The stage.
        root: The folder of all stages.

    Returns:
        Whether its command ended well. A stage that was only started is not done.
    """
    return (root / stage.name / DONE).is_file()


def run_stage(stage: Stage, root: Path, place: Place | None = None) -> Failure | None:
    """Run or resume a stage, after other processes that run it.

    Args:
        stage: The stage, whose inputs are done.
        root: The folder of all stages.
        place: Where it runs; None: here.

    Returns:
        None if it finishes, else its failure.
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
    program, *words = stage.words(root)
    main = _LOCKED_MAIN.format(package=_PACKAGES[program], program=program)
    arguments = ["-c", main, str(root / stage.name / ".command.lock"), *words]
    if place.slurm:
        from generator.base.slurm import run_job

        return run_job(arguments, log=root / stage.name / LOG, slurm=place.slurm)
    with (root / stage.name / LOG).open("ab") as log:
        process = subprocess.Popen(
            # -P: a file of the working folder must not stand for a module of that name.
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
