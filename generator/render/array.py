"""Renders the shards of a plan as an array of jobs on a Slurm cluster, and merges them."""

import logging
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import submitit

from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.base.progress import SILENT, Progress
from generator.base.slurm import Slurm
from generator.plan.store import StoredPlan
from generator.render.farm import Farm
from generator.render.run import render_work, work_of
from generator.render.settings import find_gpus
from generator.render.shards import merge_worlds

logger = logging.getLogger(__name__)
_NOTES, _LOGS = "jobs.json", "logs"
_POLL = 2.0  # seconds


class _Shard:
    """Renders a shard on a node. A job that is preempted or out of time is queued again and
    continues."""

    def __init__(self, plan: Path, request: Mapping[str, Any], folder: Path, workers: int):
        self._plan, self._request, self._folder, self._workers = plan, request, folder, workers

    def __call__(self) -> str | None:
        """Render; returns the reason of a failure, None on success."""
        try:
            work = work_of(StoredPlan(self._plan), self._request)
            workers = min(self._workers, len(os.sched_getaffinity(0)))
            render_work(
                work,
                self._plan,
                self._folder,
                Farm(workers, gpus=find_gpus(self._request["device"])),
            )
        except UserError as error:
            return error.message
        return None

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """The task that submitit queues again."""
        return submitit.helpers.DelayedSubmission(self)


class Array:
    """Renders a plan with up to `jobs` jobs, one per shard, in folders of `root`.shards, and merges
    these into `root`.

    `rendering`: the request of a Rendering. Another Array for the same plan takes over the jobs
    that still run.
    """

    def __init__(
        self, plan: StoredPlan, rendering: Mapping[str, Any], root: Path, jobs: int, slurm: Slurm
    ):
        self._plan, self._rendering, self._root, self._slurm = plan, rendering, root, slurm
        self._folder = root.resolve().with_name(f"{root.resolve().name}.shards")
        self._n = min(jobs, len(plan))
        if self._finished:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        noted = (
            read_json(self._folder / _NOTES) if (self._folder / _NOTES).is_file() else {"jobs": {}}
        )
        if noted.setdefault("shards", self._n) != self._n:
            raise UserError(
                f"{root} was begun with --jobs {noted['shards']}, not {self._n}; give that number, "
                f"or remove {self._folder}."
            )
        self._jobs = self._submit(noted["jobs"])
        write_json(
            self._folder / _NOTES,
            {"shards": self._n, "jobs": {str(i): job.job_id for i, job in self._jobs}},
        )

    def finish(self, progress: Progress = SILENT) -> None:
        """Wait for the jobs, showing their progress, and merge. Raises UserError if a shard did not
        finish.

        If this is interrupted, the jobs keep running.
        """
        if self._finished:
            return
        with progress.track("rendering", len(self._plan), done := self._images()) as advance:
            while True:
                over = all(job.done() for _, job in self._jobs)
                found = self._images()
                advance(found - done)
                done = found
                if over:
                    break
                time.sleep(_POLL)
        if unfinished := self._unfinished():
            reasons = {i: _reason(job) for i, job in self._jobs if i in unfinished}
            first = min(reasons)
            raise UserError(
                f"{len(unfinished)} of {self._n} shards did not finish; shard {first}: "
                f"{reasons[first]}. Finished "
                f"images are kept: run the same command again to render the rest."
            )
        merge_worlds([self._shard(i) for i in range(1, self._n + 1)], self._root, progress)
        shutil.rmtree(self._folder)

    @property
    def _finished(self) -> bool:
        return (self._root / "world" / "manifest.json").is_file()

    def _submit(self, noted: Mapping[str, str]) -> list[tuple[int, submitit.Job[str | None]]]:
        """The job of each unfinished shard: its running job, or a new job. New jobs are submitted
        as one array."""
        logs = self._folder / _LOGS
        executor = self._slurm.executor(logs)
        known = {i: self._slurm.running(logs, noted.get(str(i))) for i in self._unfinished()}
        running = [(i, job) for i, job in known.items() if job]
        new = [i for i, job in known.items() if not job]
        tasks = [
            _Shard(
                self._plan.root.resolve(),
                {**self._rendering, "shard": (i, self._n)},
                self._shard(i),
                self._slurm.cores,
            )
            for i in new
        ]
        submitted = executor.submit_array(tasks) if tasks else []
        if running:
            logger.info(f"{len(running)} jobs of this folder still run.")
        if submitted:
            logger.info(
                f"Submitted {len(submitted)} jobs ({submitted[0].job_id.partition('_')[0]}), logs "
                f"in {logs}. "
                f"They keep running if you stop waiting; run the same command again to resume."
            )
        return [*running, *zip(new, submitted, strict=True)]

    def _shard(self, i: int) -> Path:
        return self._folder / str(i)

    def _unfinished(self) -> list[int]:
        return [
            i
            for i in range(1, self._n + 1)
            if not (self._shard(i) / "world" / "manifest.json").is_file()
        ]

    def _images(self) -> int:
        return sum(1 for _ in self._folder.glob("*/world/images/[!.]*"))


def _reason(job: submitit.Job[str | None]) -> str:
    """Why a job did not finish its shard."""
    error = job.exception()
    if error is not None:
        return str(error).strip().splitlines()[-1]
    return (job.result() or "its files are missing").removesuffix(".")
