"""How long a render takes and how much space it needs."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.dataset.outputs import bytes_a_pixel
from generator.render.settings import read_quality
from generator.vocabulary.schema import parse_vocabulary

_BYTES_A_PIXEL = 1.2
_SECONDS_A_SCENE, _SECONDS_AN_OBJECT = 0.05, 0.003  # at any image size
_LANDSCAPE = 2.2  # times the seconds of a pixel on a bare floor
_MICROSECONDS_A_RAY = 2.0  # a pixel of masks, depth, normals and boxes together
_START_UP = 5.0  # seconds that Blender takes to load


def seconds_a_scene(request: Mapping[str, Any]) -> float:
    """About how many seconds a scene of a world takes on one core; `request` is that of the world's manifest."""
    places = parse_vocabulary(request["vocabulary"], "vocabulary.toml").environments.values()
    harder = sum(1 if place.ground is None else _LANDSCAPE for place in places) / len(places)
    rays = _MICROSECONDS_A_RAY if request["outputs"] else 0
    pixels = request["width"] * request["height"]
    seconds = pixels * (read_quality(request["quality"]["name"]).microseconds * harder + rays) / 1e6
    return seconds + _SECONDS_A_SCENE + sum(request["objects"]) / 2 * _SECONDS_AN_OBJECT


def render_seconds(scenes: int, seconds_each: float, workers: int) -> float:
    """About how many seconds `scenes` take on as many cores as `workers`, each `seconds_each` on one core."""
    return scenes * seconds_each / workers + _START_UP


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
            f"{root} has {free / 1e6:,.0f} MB free and the files need about {needed / 1e6:,.0f} MB: free some space, "
            "choose "
            f"another --out, or render fewer or smaller scenes."
        )
