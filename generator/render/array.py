"""Renders the shards of a plan as an array of jobs on a Slurm cluster, and merges them."""

import logging
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

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

_NOTES = "jobs.json"
_LOGS = "logs"
_POLL = 2.0  # seconds

_Job: TypeAlias = submitit.Job[str | None]
"""A submitted job; its result is the reason of a failure, None on success."""


class _ShardTask:
    """Renders a shard on a node.

    A job that is preempted or out of time is queued again and continues.
    """

    def __init__(
        self, plan: Path, request: Mapping[str, Any], *, folder: Path, max_workers: int
    ) -> None:
        self._plan = plan
        self._request = request
        self._folder = folder
        self._max_workers = max_workers

    def __call__(self) -> str | None:
        """Render the shard.

        Returns:
            The reason of a failure; None on success.
        """
        try:
            work = work_of(StoredPlan(self._plan), self._request)
            workers = min(self._max_workers, len(os.sched_getaffinity(0)))
            farm = Farm(workers, gpus=find_gpus(self._request["device"]))
            render_work(work, self._plan, root=self._folder, farm=farm)
        except UserError as error:
            return error.message
        return None

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """Return the task that submitit queues again."""
        return submitit.helpers.DelayedSubmission(self)


class Array:
    """Renders a plan with several jobs, one per shard, and merges the shards.

    Shards are rendered in folders of `root`.shards. Another Array for the same plan takes over the
    jobs that still run.
    """

    def __init__(
        self, plan: StoredPlan, rendering: Mapping[str, Any], *, root: Path, jobs: int, slurm: Slurm
    ):
        """Submit a job for each shard that is unfinished and not running.

        Args:
            plan: The plan of the world.
            rendering: The request of a `Rendering`.
            root: The folder of the dataset to write.
            jobs: The number of jobs; fewer if there are fewer scenes.
            slurm: The settings of each job.

        Raises:
            UserError: An earlier Array for `root` had another number of jobs.
        """
        self._plan = plan
        self._rendering = rendering
        self._root = root
        self._slurm = slurm
        self._folder = root.resolve().with_name(f"{root.resolve().name}.shards")
        self._n = min(jobs, len(plan))
        if self._is_finished:
            return

        self._folder.mkdir(parents=True, exist_ok=True)
        notes_path = self._folder / _NOTES
        notes = read_json(notes_path) if notes_path.is_file() else {"jobs": {}}
        n_before = notes.get("shards", self._n)
        if n_before != self._n:
            raise UserError(
                f"{root} was begun with --jobs {n_before}, not {self._n}; give that number, "
                f"or remove {self._folder}."
            )
        self._jobs = self._submit(notes["jobs"])
        job_ids = {str(i): job.job_id for i, job in self._jobs}
        write_json(notes_path, {"shards": self._n, "jobs": job_ids})

    def finish(self, progress: Progress = SILENT) -> None:
        """Wait for the jobs, show their progress, and merge the shards.

        If this is interrupted, the jobs keep running.

        Args:
            progress: Where progress is reported.

        Raises:
            UserError: A shard did not finish.
        """
        if self._is_finished:
            return
        self._wait(progress)
        self._check_all_finished()
        shards = [self._shard_folder(i) for i in self._shard_numbers]
        merge_worlds(shards, self._root, progress)
        shutil.rmtree(self._folder)

    @property
    def _is_finished(self) -> bool:
        return (self._root / "world" / "manifest.json").is_file()

    @property
    def _shard_numbers(self) -> range:
        return range(1, self._n + 1)

    def _wait(self, progress: Progress) -> None:
        n_images = self._count_images()
        with progress.track("rendering", len(self._plan), n_images) as advance:
            while True:
                # Asked before the images are counted, so that the last images are counted too.
                all_done = all(job.done() for _, job in self._jobs)
                n_now = self._count_images()
                advance(n_now - n_images)
                n_images = n_now
                if all_done:
                    break
                time.sleep(_POLL)

    def _check_all_finished(self) -> None:
        unfinished = self._unfinished()
        if not unfinished:
            return
        reasons = {}
        for i, job in self._jobs:
            if i in unfinished:
                reasons[i] = _failure_reason(job)
        first = min(reasons)
        raise UserError(
            f"{len(unfinished)} of {self._n} shards did not finish; shard {first}: "
            f"{reasons[first]}. Finished "
            f"images are kept: run the same command again to render the rest."
        )

    def _submit(self, known_ids: Mapping[str, str]) -> list[tuple[int, _Job]]:
        """Find or submit the job of each unfinished shard. New jobs are submitted as one array.

        Args:
            known_ids: The jobs' Slurm numbers of an earlier run, by shard.

        Returns:
            Shard numbers with their jobs: running jobs first.
        """
        logs = self._folder / _LOGS
        executor = self._slurm.executor(logs)
        running = []
        new_shards = []
        for i in self._unfinished():
            job = self._slurm.running(logs, known_ids.get(str(i)))
            if job:
                running.append((i, job))
            else:
                new_shards.append(i)
        tasks = [self._task(i) for i in new_shards]
        submitted = executor.submit_array(tasks) if tasks else []
        if running:
            logger.info(f"{len(running)} jobs of this folder still run.")
        if submitted:
            logger.info(
                f"Submitted {len(submitted)} jobs ({submitted[0].job_id.partition('_')[0]}), logs "
                f"in {logs}. "
                f"They keep running if you stop waiting; run the same command again to resume."
            )
        return [*running, *zip(new_shards, submitted, strict=True)]

    def _task(self, i: int) -> _ShardTask:
        return _ShardTask(
            self._plan.root.resolve(),
            {**self._rendering, "shard": (i, self._n)},
            folder=self._shard_folder(i),
            max_workers=self._slurm.cores,
        )

    def _shard_folder(self, i: int) -> Path:
        return self._folder / str(i)

    def _unfinished(self) -> list[int]:
        """The numbers of the shards whose world is not finished."""
        unfinished = []
        for i in self._shard_numbers:
            manifest = self._shard_folder(i) / "world" / "manifest.json"
            if not manifest.is_file():
                unfinished.append(i)
        return unfinished

    def _count_images(self) -> int:
        return sum(1 for _ in self._folder.glob("*/world/images/[!.]*"))


def _failure_reason(job: _Job) -> str:
    """Why a job did not finish its shard."""
    error = job.exception()
    if error is not None:
        return str(error).strip().splitlines()[-1]
    return (job.result() or "its files are missing").removesuffix(".")
