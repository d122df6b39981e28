"""How long a render takes and how much space it needs."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.outputs import bytes_a_pixel
from generator.render.quality import Quality
from generator.vocabulary.schema import Vocabulary

_BYTES_A_PIXEL = 1.2
_SECONDS_A_SCENE, _SECONDS_AN_OBJECT = 0.05, 0.003  # at any image size
_LANDSCAPE = 2.2  # times the seconds of a pixel on a bare floor
_MICROSECONDS_A_RAY = 2.0  # a pixel of masks, depth, normals and boxes together
_START_UP = 5.0  # seconds that Blender takes to load


def seconds_a_scene(width: int, height: int, quality: Quality, outputs: Sequence[str], vocabulary: Vocabulary) -> float:
    """About how many seconds a scene takes on one core, its objects not counted."""
    places = vocabulary.environments.values()
    harder = sum(1 if place.ground is None else _LANDSCAPE for place in places) / len(places)
    rays = _MICROSECONDS_A_RAY if outputs else 0
    return width * height * (quality.microseconds * harder + rays) / 1e6 + _SECONDS_A_SCENE


def render_seconds(scenes: int, seconds_each: float, workers: int, objects: int = 0) -> float:
    """About how many seconds `scenes` take on as many cores as `workers`.

    `seconds_each` is what `seconds_a_scene` returns, `objects` the number of objects in all scenes together.
    """
    return (scenes * seconds_each + objects * _SECONDS_AN_OBJECT) / workers + _START_UP


def duration(seconds: float) -> str:
    """A time span for people.

    >>> duration(40), duration(100), duration(4000)
    ('40 s', '2 min', '1.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def check_space(root: Path, scenes: int, request: Mapping[str, Any]) -> None:
    """Raise UserError when the disk of `root` has no room for the images of `scenes` that are not there yet."""
    done = sum(1 for _ in root.glob("world/images/[!.]*"))
    pixels = max(0, scenes - done) * request["width"] * request["height"]
    needed = pixels * (_BYTES_A_PIXEL + bytes_a_pixel(request["outputs"]))
    place = next(folder for folder in (root.absolute(), *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise UserError(
            f"{root} has {free / 1e6:,.0f} MB free and the files need about {needed / 1e6:,.0f} MB: free some space, choose "
            f"another --out, or render fewer or smaller scenes."
        )
