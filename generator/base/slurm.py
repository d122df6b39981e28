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

# Private, but the only functions that make a script without Slurm.
from submitit.slurm.slurm import _convert_mem, _make_sbatch_string

from generator.base.declarations import parse_size, parse_time
from generator.base.errors import UserError

_POLL = 2.0
"""Seconds between looks at a running job."""
_JOB = "jackalope"
"""The name of all jobs."""
_SETUP = ("export PYTHONSAFEPATH=1",)
"""Nothing is imported from the folder of the command."""
_UNKNOWN = "UNKNOWN"
"""submitit's state of a job that Slurm no longer knows."""


@dataclass(frozen=True)
class Slurm:
    """Resources of a job on a Slurm cluster."""

    cores: int = 8
    """Processor cores."""
    gpus: int = 0
    """GPUs."""
    partition: str | None = None
    """Partition of the cluster; None for its default."""
    account: str | None = None
    """Account that pays; None for the user's default."""
    minutes: int = 24 * 60
    """Longest time; a longer job is requeued."""
    gigabytes: float | None = None
    """Memory; None for the cluster's default."""
    cluster: str | None = None
    """Executor of submitit, such as "debug"; None for Slurm."""

    def check(self) -> None:
        """Check that this machine can submit jobs. For use before anything is written.

        Raises:
            UserError: It cannot.
        """
        # submitit's other executors run without Slurm.
        for command in ("sbatch", "srun") if self.cluster is None else ():
            if shutil.which(command) is None:
                raise UserError(
                    f"--farm slurm needs the command {command}: run it on a login node of the "
                    f"cluster, or add "
                    "--dry-run to see the scripts."
                )

    def script(self, logs: Path, tasks: int = 1) -> str:
        """Compose the script that sbatch would get.

        Args:
            logs: The folder of the jobs' logs.
            tasks: The number of jobs of the array; 1 for a single job.

        Returns:
            The script, as submitit writes it.
        """
        optional: dict[str, Any] = {"partition": self.partition, "account": self.account}
        if self.gigabytes is not None:
            optional["mem"] = _convert_mem(self.gigabytes)
        return _make_sbatch_string(
            command=(
                # What submitit's own scripts run: it loads the job from the folder of logs.
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
            **{name: value for name, value in optional.items() if value is not None},
        )

    def executor(self, logs: Path) -> submitit.AutoExecutor:
        """Make the executor that submits the jobs.

        Args:
            logs: The folder of the jobs' logs.

        Returns:
            submitit's executor with these resources.

        Raises:
            UserError: `sbatch` or `srun` is missing, or the path of `logs` has a "%", which Slurm
                would replace: "%j" becomes the number of the job.
        """
        if "%" in str(logs.resolve()):
            raise UserError(
                f"Slurm replaces '%' in {logs.resolve()}, the folder of its logs; choose a path "
                f"without '%'."
            )
        self.check()
        executor = submitit.AutoExecutor(logs, cluster=self.cluster or "slurm")
        optional = {
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
            **{name: value for name, value in optional.items() if value is not None},
        )
        return executor

    def running(self, logs: Path, known: str | None) -> "submitit.Job[Any] | None":
        """Find the job of an earlier command.

        Args:
            logs: The folder of its logs.
            known: Its id; None if there was no such command.

        Returns:
            The job if it waits or runs, else None.
        """
        # Only Slurm keeps jobs that a later command can look up by their id.
        if known is None or self.cluster is not None:
            return None
        job: submitit.Job[Any] = submitit.SlurmJob(logs, known)
        # submitit asks Slurm rarely and keeps the answer; this one has to be of now.
        is_over = job.done(force_check=True) or job.state == _UNKNOWN
        return None if is_over else job


def slurm_of(
    *,
    cores: int,
    gpus: int,
    partition: str | None,
    account: str | None,
    time: str | None,
    memory: str | None,
) -> Slurm:
    """Read the resources from a command's options.

    Args:
        cores: Processor cores.
        gpus: GPUs.
        partition: Partition of the cluster; None for its default.
        account: Account that pays; None for the user's default.
        time: Longest time, such as "2:00:00"; None for a day.
        memory: Such as "16GB"; None for the cluster's default.

    Returns:
        The resources.

    Raises:
        UserError: `time` or `memory` is malformed.
    """
    return Slurm(
        cores=cores,
        gpus=gpus,
        partition=partition,
        account=account,
        minutes=parse_time(time) if time else Slurm.minutes,
        gigabytes=parse_size(memory) / 1e9 if memory else None,
    )


class _Command:
    """Runs Python on a node, in the folder where this object was made.

    A job that is preempted or runs out of time is requeued, and runs the command again.
    """

    def __init__(self, arguments: Sequence[str], log: Path, printed: Path | None):
        """Make the command.

        Args:
            arguments: Arguments of Python.
            log: File that its stderr is appended to.
            printed: File that its stdout is appended to; None for `log`.
        """
        self._arguments = list(arguments)
        self._log = log.resolve()
        self._printed = (printed or log).resolve()
        self._folder = Path.cwd()

    def __call__(self) -> int:
        """Run the command; returns its exit code."""
        with self._log.open("ab") as log, self._printed.open("ab") as printed:
            return subprocess.run(
                # -P: the folder may be an untrusted dataset, and nothing is imported from there.
                [sys.executable, "-P", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=log,
                cwd=self._folder,
                check=False,
            ).returncode

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """Say what submitit shall requeue.

        Returns:
            The same command.
        """
        return submitit.helpers.DelayedSubmission(self)


def run_job(
    arguments: Sequence[str], *, log: Path, slurm: Slurm, printed: Path | None = None
) -> int:
    """Run Python in a job and wait.

    If a job for the same log is already queued or running, waits for that job instead. Interrupting
    this function does not stop the job.

    Args:
        arguments: Arguments of Python.
        log: File that its stderr is appended to. Beside it are `job`, the id of the job, and
            `jobs`, the folder of submitit's logs.
        slurm: Resources of the job.
        printed: File that its stdout is appended to; None for `log`.

    Returns:
        The exit code, or 1 if the job failed.

    Raises:
        UserError: This machine cannot submit jobs.
    """
    id_file, logs = log.with_name("job"), log.with_name("jobs")
    known_id = id_file.read_text(encoding="utf-8") if id_file.is_file() else None
    job = slurm.running(logs, known_id)
    if job is None:
        job = slurm.executor(logs).submit(_Command(arguments, log, printed))
        id_file.write_text(job.job_id, encoding="utf-8")
    while not job.done():
        clock.sleep(_POLL)
    error = job.exception()
    if error is not None:
        with log.open("a", encoding="utf-8") as file:
            # submitit's error is a whole traceback; its last line says what went wrong.
            file.write(f"Job {job.job_id}: {str(error).strip().splitlines()[-1]}\n")
        return 1
    return int(job.result())
