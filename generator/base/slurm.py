"""Jobs on a Slurm cluster, through submitit."""

import shutil
import subprocess
import sys
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import submitit

from generator.base.declarations import parse_size, parse_time
from generator.base.errors import UserError

_POLL = 2.0  # seconds
_UNKNOWN = "UNKNOWN"  # what submitit says of a job that Slurm has forgotten


@dataclass(frozen=True)
class Slurm:
    """What a job of a Slurm cluster takes: `cores`, `gpus`, time and memory (`minutes`, `gigabytes`).

    `partition`, `account`: None takes the cluster's own. `cluster`: an executor of submitit; None takes Slurm.
    """

    cores: int = 8
    gpus: int = 0
    partition: str | None = None
    account: str | None = None
    minutes: int = 24 * 60
    gigabytes: float | None = None
    cluster: str | None = None

    def executor(self, logs: Path) -> submitit.AutoExecutor:
        """What submits the jobs. Raises UserError where the programs of Slurm are missing."""
        if self.cluster is None and shutil.which("sbatch") is None:
            raise UserError("--farm slurm needs the command sbatch: run it on a login node of the cluster.")
        executor = submitit.AutoExecutor(logs, cluster=self.cluster or "slurm")
        own = {"slurm_partition": self.partition, "slurm_account": self.account, "mem_gb": self.gigabytes}
        executor.update_parameters(
            name="jackalope",
            timeout_min=self.minutes,
            cpus_per_task=self.cores,
            gpus_per_node=self.gpus,
            slurm_setup=["export PYTHONSAFEPATH=1"],  # nothing is imported from the folder of the command
            **{name: value for name, value in own.items() if value is not None},
        )
        return executor

    def running(self, logs: Path, known: str | None) -> "submitit.Job[Any] | None":
        """The job of an earlier command with the id `known`, if it waits or runs."""
        if known is None or self.cluster is not None:
            return None
        job: submitit.Job[Any] = submitit.SlurmJob(logs, known)
        return None if job.done(force_check=True) or job.state == _UNKNOWN else job


def slurm_of(
    cores: int, gpus: int, partition: str | None, account: str | None, time: str | None, memory: str | None
) -> Slurm:
    """What the options of a command say: `time` such as "2:00:00", `memory` such as "16GB". Raises UserError."""
    minutes = parse_time(time) if time else Slurm.minutes
    return Slurm(cores, gpus, partition, account, minutes, parse_size(memory) / 1e9 if memory else None)


class _Command:
    """Runs Python with some arguments on a node, in the folder where this was made, and appends what it says to a file.

    `printed`: the file for its standard output; None takes `log`. A job that is preempted or out of time is queued
    again, and the command continues.
    """

    def __init__(self, arguments: Sequence[str], log: Path, printed: Path | None):
        self._arguments, self._log, self._printed = list(arguments), log.resolve(), (printed or log).resolve()
        self._folder = Path.cwd()

    def __call__(self) -> int:
        """Run; returns the exit code."""
        with self._log.open("ab") as log, self._printed.open("ab") as printed:
            return subprocess.run(
                [sys.executable, "-P", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=log,
                cwd=self._folder,
                check=False,
            ).returncode

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """What submitit queues again."""
        return submitit.helpers.DelayedSubmission(self)


def run_job(arguments: Sequence[str], log: Path, slurm: Slurm, printed: Path | None = None) -> int:
    """Run Python with some arguments in a job, and wait; returns its exit code, and 1 for a job that was killed.

    What it says is appended to `log`; its standard output to `printed`, or to `log` if that is None. A job for the same
    log that waits or runs already is waited for instead. It goes on if this is interrupted.
    """
    note, logs = log.with_name("job"), log.with_name("jobs")
    job = slurm.running(logs, note.read_text(encoding="utf-8") if note.is_file() else None)
    if job is None:
        job = slurm.executor(logs).submit(_Command(arguments, log, printed))
        note.write_text(job.job_id, encoding="utf-8")
    while not job.done():
        clock.sleep(_POLL)
    if (error := job.exception()) is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"Job {job.job_id}: {str(error).strip().splitlines()[-1]}\n")
        return 1
    return int(job.result())
