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
"""How often each speed is measured."""
EARLY = 50
"""Scenes after which the memory of a worker is measured first."""
LATE = 1000
"""Scenes after which it is measured again."""


def figures() -> list[Figure]:
    """Images a second once the workers are under way, seconds to the first image, where the time
    goes, and memory."""
    return [*_rates(), *_parts(), *_memory()]


def _rates() -> list[Figure]:
    figures = []
    cores = len(os.sched_getaffinity(0))
    for width, height, quality, images in ((64, 64, "draft", 60), (320, 240, "standard", 12)):
        for workers in sorted({1, cores}):
            threads = cores // workers
            what = (
                f"{width}x{height} {quality}, {workers} worker{'s' * (workers > 1)} x {threads} "
                f"thread{'s' * (threads > 1)}"
            )
            runs = [_render(width, height, quality, images, workers) for _ in range(RUNS)]
            rates = tuple(run.rate for run in runs)
            figures.append(Figure(what, "images/s", rates))
            if workers == 1:
                first_seconds = tuple(run.first for run in runs)
                user_seconds = tuple(run.used for run in runs)
                figures.append(Figure(f"{what}, first image", "s", first_seconds))
                figures.append(Figure(f"{what}, an image", "user s", user_seconds))
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
        start = time.perf_counter()
        used_before = _user_seconds()
        answer_times = []
        for answer in Farm(workers).render(prepared.planned, images, setup):
            if "scene" in answer:
                answer_times.append(time.perf_counter())
    used = _user_seconds() - used_before
    first, last = answer_times[0], answer_times[-1]
    # Without the start of the processes, which a large world does not notice.
    rate = (len(answer_times) - 1) / (last - first)
    return _Run(rate, first=first - start, used=used / images)


def _user_seconds() -> float:
    """User time of the processes that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


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
    prepared = _prepared(LATE, 64, 64)
    megabytes_at: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        setup = worker_setup({**prepared.request, **Rendering("draft").request}, Path(folder))
        for number, _ in enumerate(Farm(1).render(prepared.planned, LATE, setup), 1):
            if number in (EARLY, LATE):
                megabytes_at[number] = max(_megabytes(child) for child in _children())
    return megabytes_at[EARLY], megabytes_at[LATE]


def _children() -> list[str]:
    """The processes that this one has started. A thread of its own starts each worker."""
    children = []
    for path in Path("/proc/self/task").glob("*/children"):
        children += path.read_text().split()
    return children


def _megabytes(process: str) -> float:
    """Resident memory of a process; 0 of one that has ended."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            kilobytes = int(line.split()[1])
            return kilobytes / 1e3
    return 0.0
