"""Rendering through the worker processes that `gen render` uses."""

import tempfile
import time
from pathlib import Path

from bench.figures import Figure
from generator.farm.local import render_scenes
from generator.render import Job, prepare, worker_setup

RUNS = 3


def figures() -> list[Figure]:
    """Images a second once the workers are under way, and seconds to the first image."""
    found = []
    for width, height, quality, images in ((64, 64, "draft", 60), (320, 240, "standard", 12)):
        for workers in (1, 2):
            what = f"{width}x{height} {quality}, {workers} worker{'s' * (workers > 1)}"
            runs = [_render(width, height, quality, images, workers) for _ in range(RUNS)]
            found.append(Figure(what, "images/s", tuple(rate for rate, _ in runs)))
            if workers == 1:
                found.append(Figure(f"{what}, first image", "s", tuple(first for _, first in runs)))
    return found


def _render(width: int, height: int, quality: str, images: int, workers: int) -> tuple[float, float]:
    """Images a second between the first and the last answer, and seconds to the first."""
    scenes = {"train": images - 4, "val": 1, "seen": 1, "partial": 1, "unseen": 1}
    prepared = prepare(Job("clevr", "3x3", scenes, width, height, quality, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        setup = worker_setup(prepared, Path(folder))
        start = time.perf_counter()
        answered = [
            time.perf_counter() for answer in render_scenes(prepared.planned, setup, workers) if "scene" in answer
        ]
    return (len(answered) - 1) / (answered[-1] - answered[0]), answered[0] - start
