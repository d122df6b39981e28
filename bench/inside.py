"""Where a worker's time goes for one image: run as a separate process with a family and the least
and most objects of a scene, it prints the seconds of each part as JSON.

Blender records in each file how long Cycles traced; the rest is what Jackalope and Blender add. The
denoiser, whose time Blender does not record, is switched off.
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

import bpy
import OpenEXR
from PIL import Image

from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.render.blender import worker
from generator.render.blender.versions import compositor_nodes
from generator.render.run import Rendering, worker_setup

IMAGES, WARM_UP = 24, 4
# seconds that Blender's note of a time lacks in the mean: it cuts off what is below a hundredth
_CUT = 0.005
_TIME = re.compile(r"cycles\..*\.render_time")


def main() -> None:
    """Render some images of 320x240 on one core and print {part: [seconds, ...]}."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Blender talks
    # One core, so that the parts of an image do not overlap.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    family, least, most = sys.argv[1:]
    prepared = prepare(
        WorldOptions(
            family=family,
            holdout="none",
            scenes={"all": IMAGES},
            resolution="320x240",
            objects=(int(least), int(most)),
        )
    )
    spent: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        request = {**prepared.request, **Rendering().request}
        renderer = worker.Renderer({**worker_setup(request, Path(folder)), "cores": [0]})
        _watch(renderer, spent)
        for planned in prepared.planned[:IMAGES]:
            start = time.perf_counter()
            renderer.render(planned)
            spent["image"].append(time.perf_counter() - start)
    spent["outside"] = [
        image - traced for image, traced in zip(spent["image"], spent["traced"], strict=True)
    ]
    json.dump({part: seconds[WARM_UP:] for part, seconds in spent.items()}, answers)
    answers.close()


def _watch(renderer: Any, spent: dict[str, list[float]]) -> None:
    """Have the parts of a renderer note their time; an image is rendered in several parts."""
    stage, traced = renderer._stage, spent["traced"]
    shoot, render = stage._render_border, stage.render
    next(
        node
        for node in compositor_nodes(bpy.context.scene)
        if node.bl_idname == "CompositorNodeDenoise"
    ).mute = True

    def noted(draft: str, part: Any) -> None:
        shoot(draft, part)
        # Blender notes a time as minutes and seconds, with hours where it has any.
        for place, digits in enumerate(reversed(_noted(draft).split(":"))):
            traced[-1] += 60**place * float(digits)
        traced[-1] += _CUT

    def rendered(draft: str, boxes: Any = ()) -> Any:
        traced.append(0.0)
        return render(draft, boxes)

    stage._render_border, stage.render = noted, rendered
    renderer._place = _timed(renderer._place, spent["place"])
    stage.pose = _timed(stage.pose, spent["pose"])


def _noted(path: str) -> str:
    """How long Cycles traced for a file; "0" where it was too short for Blender to note."""
    if OpenEXR.isOpenExrFile(path):
        with OpenEXR.File(path, header_only=True) as file:
            notes = dict(file.header())  # the file empties its own when it closes
    else:
        with Image.open(path) as image:
            notes = image.info
    return next((str(value) for key, value in notes.items() if _TIME.fullmatch(str(key))), "0")


def _timed(action: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        start = time.perf_counter()
        result = action(*arguments)
        seconds.append(time.perf_counter() - start)
        return result

    return timed


if __name__ == "__main__":
    sys.exit(main())
