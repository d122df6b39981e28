"""Rendering through the worker processes that `gen render` uses."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figure
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, prepare
from generator.render.farm import Farm
from generator.render.run import Rendering, worker_setup

RUNS = 3
EARLY, LATE = 50, 1000


def figures() -> list[Figure]:
    """Images a second once the workers are under way, seconds to the first image, where the time
    goes, and memory."""
    return [*_rates(), *_parts(), *_memory()]


def _rates() -> list[Figure]:
    figures, cores = [], len(os.sched_getaffinity(0))
    for width, height, quality, images in ((64, 64, "draft", 60), (320, 240, "standard", 12)):
        for workers in sorted({1, cores}):
            threads = cores // workers
            many = ("s" * (workers > 1), "s" * (threads > 1))
            what = (
                f"{width}x{height} {quality}, {workers} worker{many[0]} x {threads} thread{many[1]}"
            )
            runs = [_render(width, height, quality, images, workers) for _ in range(RUNS)]
            figures.append(Figure(what, "images/s", tuple(run.rate for run in runs)))
            if workers == 1:
                figures.append(
                    Figure(f"{what}, first image", "s", tuple(run.first for run in runs))
                )
                figures.append(
                    Figure(f"{what}, an image", "user s", tuple(run.used for run in runs))
                )
    return figures


class _Run(NamedTuple):
    """The speed of one rendering."""

    rate: float
    """Images a second between the first and the last answer."""
    first: float
    """Seconds to the first answer, with the start of the process."""
    used: float
    """User seconds an image, start included."""


def _render(width: int, height: int, quality: str, images: int, workers: int) -> _Run:
    prepared = _prepared(images, width, height)
    with tempfile.TemporaryDirectory() as folder:
        setup = worker_setup({**prepared.request, **Rendering(quality).request}, Path(folder))
        planned = prepared.planned
        start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        answered = [
            time.perf_counter()
            for answer in Farm(workers).render(planned, images, setup)
            if "scene" in answer
        ]
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
    return _Run(
        (len(answered) - 1) / (answered[-1] - answered[0]), answered[0] - start, used / images
    )


def _prepared(images: int, width: int, height: int) -> Prepared:
    scenes = {"train": images - 4, "val": 1, "seen": 1, "partial": 1, "unseen": 1}
    return prepare(
        WorldOptions(family="clevr", holdout="3x3", scenes=scenes, resolution=f"{width}x{height}")
    )


def _parts() -> list[Figure]:
    return [
        *_parts_of("2 objects", "clevr", "2", "2"),
        *_parts_of("3 to 10", "clevr-original", "3", "10"),
    ]


def _parts_of(what: str, *arguments: str) -> list[Figure]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.inside", *arguments],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"bench.inside ended with code {done.returncode}: {done.stderr[-2000:]}")
    spent = json.loads(done.stdout)
    names = {
        "image": f"320x240 standard on one core, an image of {what}",
        "outside": "of it outside path tracing and denoising",
        "place": "of that placing and asking what is seen (rays)",
        "pose": "of that updating the scene",
    }
    return [
        Figure(name, "ms", tuple(1e3 * seconds for seconds in spent[part]))
        for part, name in names.items()
    ]


def _memory() -> list[Figure]:
    early, late = _resident()
    return [
        Figure(f"memory at scene {EARLY} (64x64)", "MB", (early,)),
        Figure(f"memory at scene {LATE:,}", "MB", (late,)),
        Figure("growth", "%", (100 * (late / early - 1),)),
    ]


def _resident() -> tuple[float, float]:
    """Resident megabytes of the worker that gave the 50th and the 1,000th answer."""
    prepared, at = _prepared(LATE, 64, 64), {}
    with tempfile.TemporaryDirectory() as folder:
        setup = worker_setup({**prepared.request, **Rendering("draft").request}, Path(folder))
        for number, _ in enumerate(Farm(1).render(prepared.planned, LATE, setup), 1):
            if number in (EARLY, LATE):
                at[number] = max(_megabytes(child) for child in _children())
    return at[EARLY], at[LATE]


def _children() -> list[str]:
    tasks = Path("/proc/self/task").glob("*/children")  # a thread of its own starts each worker
    return [child for task in tasks for child in task.read_text().split()]


def _megabytes(process: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS")), 0.0)
