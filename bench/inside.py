"""Where a worker's time goes for one image: run as a process of its own, it prints the seconds of each part as JSON.

Blender notes in each PNG how long Cycles traced and denoised; all else is what Jackalope and Blender add to it.
"""

import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from generator.blender import worker
from generator.render import Job, prepare, worker_setup

IMAGES, WARM_UP = 24, 4
_TRACED = re.compile(rb"cycles\.[^\0]*\.render_time\0((?:[0-9]+:)+[0-9]{2}\.[0-9]{2})")


def main() -> None:
    """Render some images of 320x240 on one core and print {part: [seconds, ...]}."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Blender talks
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    prepared = prepare(
        Job(
            "clevr",
            "3x3",
            {"train": IMAGES, "val": 1, "seen": 1, "partial": 1, "unseen": 1},
            320,
            240,
            "standard",
            0,
            0,
        )
    )
    spent: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        renderer = worker.Renderer({**worker_setup(prepared, Path(folder)), "cores": [0]})
        _watch(renderer, spent)
        for planned in list(prepared.planned)[:IMAGES]:
            start = time.perf_counter()
            renderer.render(planned)
            spent["image"].append(time.perf_counter() - start)
    spent["outside"] = [image - traced for image, traced in zip(spent["image"], spent["traced"], strict=True)]
    json.dump({part: seconds[WARM_UP:] for part, seconds in spent.items()}, answers)
    answers.close()


def _watch(renderer: Any, spent: dict[str, list[float]]) -> None:
    """Have the parts of a renderer note their time."""
    strip = worker.without_metadata

    def noted(png: bytes) -> bytes:
        found = _TRACED.search(png)
        assert found is not None
        seconds = 0.0
        for part in found[1].split(b":"):
            seconds = 60 * seconds + float(part)
        spent["traced"].append(seconds)
        return strip(png)

    worker.without_metadata = noted
    renderer._place = _timed(renderer._place, spent["place"])
    renderer._stage.pose = _timed(renderer._stage.pose, spent["pose"])
    renderer._stage.render = _timed(renderer._stage.render, spent["render"])


def _timed(action: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        start = time.perf_counter()
        result = action(*arguments)
        seconds.append(time.perf_counter() - start)
        return result

    return timed


if __name__ == "__main__":
    sys.exit(main())
