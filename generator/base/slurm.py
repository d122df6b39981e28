"""Jobs on a Slurm cluster, through submitit."""

import shlex
import shutil
import subprocess
import sys
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import submitit
from submitit.slurm.slurm import (
    _convert_mem,
    _make_sbatch_string,
)  # the only functions that need no Slurm

from generator.base.declarations import parse_size, parse_time
from generator.base.errors import UserError

_POLL = 2.0  # seconds
_JOB = "jackalope"
_SETUP = ("export PYTHONSAFEPATH=1",)
"""Nothing is imported from the folder of the command."""
_UNKNOWN = "UNKNOWN"  # submitit's state of a job that Slurm no longer knows


@dataclass(frozen=True)
class Slurm:
    """Resources of a job on a Slurm cluster: `cores`, `gpus`, time and memory (`minutes`,
    `gigabytes`).

    `partition`, `account`: None takes the cluster's default. `cluster`: an executor of submitit;
    None takes Slurm.
    """

    cores: int = 8
    gpus: int = 0
    partition: str | None = None
    account: str | None = None
    minutes: int = 24 * 60
    gigabytes: float | None = None
    cluster: str | None = None

    def check(self) -> None:
        """Raise UserError if this machine cannot submit jobs. For use before anything is
        written."""
        for command in ("sbatch", "srun") if self.cluster is None else ():
            if shutil.which(command) is None:
                raise UserError(
                    f"--farm slurm needs the command {command}: run it on a login node of the "
                    f"cluster, or add "
                    "--dry-run to see the scripts."
                )

    def script(self, logs: Path, tasks: int = 1) -> str:
        """Return the script that sbatch would get, as submitit writes it.

        Args:
            logs: The folder of the jobs' logs.
            tasks: The number of jobs of the array; 1 for a single job.
        """
        memory = {} if self.gigabytes is None else {"mem": _convert_mem(self.gigabytes)}
        named = {"partition": self.partition, "account": self.account}
        return _make_sbatch_string(
            command=(
                f"{shlex.quote(sys.executable)} -u -m submitit.core._submit "
                f"{shlex.quote(str(logs))}"
            ),
            folder=logs,
            job_name=_JOB,
            time=self.minutes,
            cpus_per_task=self.cores,
            gpus_per_node=self.gpus,
            setup=[*_SETUP],
            map_count=tasks if tasks > 1 else None,
            **memory,
            **{name: value for name, value in named.items() if value is not None},
        )

    def executor(self, logs: Path) -> submitit.AutoExecutor:
        """Return the executor that submits the jobs.

        Raises: UserError: `sbatch` or `srun` is missing, or the path of `logs` has a "%", which
            Slurm would replace: "%j" becomes the number of the job.
        """
        if "%" in str(logs.resolve()):
            raise UserError(
                f"Slurm replaces '%' in {logs.resolve()}, the folder of its logs; choose a path "
                f"without '%'."
            )
        self.check()
        executor = submitit.AutoExecutor(logs, cluster=self.cluster or "slurm")
        own = {
            "slurm_partition": self.partition,
            "slurm_account": self.account,
            "mem_gb": self.gigabytes,
        }
        executor.update_parameters(
            name=_JOB,
            timeout_min=self.minutes,
            cpus_per_task=self.cores,
            gpus_per_node=self.gpus,
            slurm_setup=[*_SETUP],
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
    cores: int,
    gpus: int,
    partition: str | None,
    account: str | None,
    time: str | None,
    memory: str | None,
) -> Slurm:
    """The Slurm of a command's options: `time` such as "2:00:00", `memory` such as "16GB". Raises
    UserError."""
    minutes = parse_time(time) if time else Slurm.minutes
    return Slurm(
        cores, gpus, partition, account, minutes, parse_size(memory) / 1e9 if memory else None
    )


class _Command:
    """Runs Python with `arguments` on a node, in the folder where this object was made; appends its
    output to `log`.

    `printed`: the file for its standard output; None takes `log`. A job that is preempted or runs
    out of time is
    requeued, and runs the command again.
    """

    def __init__(self, arguments: Sequence[str], log: Path, printed: Path | None):
        self._arguments, self._log, self._printed = (
            list(arguments),
            log.resolve(),
            (printed or log).resolve(),
        )
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
        """Returns the job that submitit requeues."""
        return submitit.helpers.DelayedSubmission(self)


def run_job(arguments: Sequence[str], log: Path, slurm: Slurm, printed: Path | None = None) -> int:
    """Run Python with `arguments` in a job and wait; returns its exit code, or 1 if the job failed.

    Its stderr is appended to `log`, its stdout to `printed` (None: `log`). If a job for the same
    log is already queued or running, waits for that job instead. Interrupting this function does
    not stop the job.
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
