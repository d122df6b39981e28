"""Image quality against render time: PSNR against 4096 samples, over scenes of clevr-original.

Each image is rendered by one thread, as in the workers of `gen render`. The settings take turns
scene by scene, because the speed of a machine varies.

A reference takes some minutes. References are cached in $JACKALOPE_BENCH, or else in the user's
cache, so a stopped run continues: `python -m bench.quality` renders the missing ones.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from PIL import Image
from platformdirs import user_cache_path

from bench.figures import Figure
from bench.render_settings import FAMILY, HEIGHT, WIDTH, Point, TimedImage
from generator.base.commands import say
from generator.base.streams import Stream
from generator.placement.scenes import place_scene
from generator.render.settings import Quality, qualities, read_quality
from generator.scene.planned import Planned
from generator.scene.scene import Scene

SCENES = 20
"""Number of scenes as CLEVR draws them."""
CROWDED = 7
"""Number of scenes of many objects."""
Objects = Iterable[tuple[str, str, str, str]]
"""Shape, color, material and size of each object."""
CLEVR = read_quality("reference")
"""CLEVR's own settings."""
REFERENCE = {"samples": 4096, "use_denoising": False}
"""What a reference is rendered with; part of its name in the cache."""


def _like(samples: int, bounces: int = 8, denoise: str = "fast", noise: float = 0.0) -> Quality:
    """CLEVR's quality with some settings changed."""
    return CLEVR.model_copy(
        update={"samples": samples, "bounces": bounces, "denoise": denoise, "noise": noise}
    )


OURS = {name: Point(quality) for name, quality in qualities().items() if name != "reference"}
"""Our qualities that are compared."""
BASE = "512 samples, CLEVR's own"
SHORT = {
    BASE: Point(CLEVR),
    **OURS,
    **{f"{n} samples, denoised fast": Point(_like(n, bounces=4)) for n in (16, 8, 4, 2)},
}
"""The ways to render CLEVR's scenes; CLEVR's own comes first."""
CURVE = {
    **SHORT,
    "128 samples, denoised well": Point(_like(128), well=True),
    "1024 samples, adaptive 0.01, denoised well": Point(
        _like(1024, noise=0.01), well=True, settings={"adaptive_min_samples": 0}
    ),
    **{f"{n} samples, denoised well": Point(_like(n, bounces=4), well=True) for n in (16, 8, 4, 2)},
}
"""The ways to render crowded scenes."""


def figures() -> list[Figure]:
    """For each point PSNR and seconds of every scene; for our own qualities also how many times
    faster than CLEVR's they are."""
    return [*_measured("", scenes(), SHORT), *_measured("crowded: ", crowded(), CURVE)]


def _measured(what: str, drawn: list[Scene], points: Mapping[str, Point]) -> list[Figure]:
    """PSNR and seconds of each way to render some scenes; `what` begins the names of figures."""
    # References first, so that a stopped run has cached what takes longest.
    references = [render_reference(scene) for scene in drawn]
    # The first scene twice, since the first image of a process takes longer.
    rendered = _in_turn([drawn[0], *drawn], points)
    base, *_ = points
    base_seconds = [seconds for _, seconds in rendered[base][1:]]

    figures = []
    for name, shots in rendered.items():
        ratios = []
        seconds_of_scenes = []
        for (image, seconds), reference in zip(shots[1:], references, strict=True):
            ratios.append(psnr(image, reference))
            seconds_of_scenes.append(seconds)
        figures.append(Figure(what + name, "dB", tuple(ratios)))
        figures.append(Figure(what + name, "s/image", tuple(seconds_of_scenes)))
        if name in OURS:
            times = [a / b for a, b in zip(base_seconds, seconds_of_scenes, strict=True)]
            title = f"{what}{name}, CLEVR's own time over its"
            figures.append(Figure(title, "times", tuple(times)))
    return figures


def _in_turn(drawn: list[Scene], points: Mapping[str, Point]) -> dict[str, list[TimedImage]]:
    """The image of each scene with each setting; every setting has its own process."""
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(
                ProcessPoolExecutor(1, get_context("spawn"), _begin, (point, 1))
            )
            for name, point in points.items()
        }
        shots: dict[str, list[TimedImage]] = {name: [] for name in points}
        for scene in drawn:
            for name, process in processes.items():
                shots[name].append(process.submit(_render, scene).result())
    return shots


def scenes() -> list[Scene]:
    """Scenes as CLEVR draws them: three to ten objects, every attribute uniform."""
    return [_scene("natural", i, 3 + i % 8, _uniform) for i in range(SCENES)]


def crowded() -> list[Scene]:
    """Scenes of seven to ten objects, three of four of them metal."""
    return [_scene("quality", i, 7 + i % 4, _shiny) for i in range(CROWDED)]


def _uniform(stream: Stream, n: int) -> Objects:
    """Values drawn independently for each attribute of each object."""
    shapes, colors, materials, sizes = (
        [choices[stream.below(len(choices))] for _ in range(n)]
        for choices in (
            list(FAMILY.objects),
            FAMILY.values("color"),
            FAMILY.values("material"),
            FAMILY.values("size"),
        )
    )
    return zip(shapes, colors, materials, sizes, strict=True)


def _shiny(stream: Stream, n: int) -> Objects:
    """Values as equally frequent as can be, but three of four objects of metal."""
    materials = stream.shuffled([("metal", "metal", "metal", "rubber")[i % 4] for i in range(n)])
    shapes = stream.balanced(list(FAMILY.objects), n)
    colors = stream.balanced(FAMILY.values("color"), n)
    sizes = stream.balanced(FAMILY.values("size"), n)
    return zip(shapes, colors, materials, sizes, strict=True)


def _scene(key: str, index: int, n: int, draw: Callable[[Stream, int], Objects]) -> Scene:
    stream = Stream(key, index)
    objects = tuple(
        (shape, {"color": color, "material": material, "size": size})
        for shape, color, material, size in draw(stream, n)
    )
    planned = Planned(
        f"{index:06d}",
        "",
        objects,
        tuple(stream.shuffled(range(n))),
        next(iter(FAMILY.environments)),
        (None,) * n,
        (0,) * n,
    )
    return place_scene(planned, FAMILY, 0, 0, WIDTH, HEIGHT)


def render_reference(scene: Scene) -> np.ndarray:
    """The image of a scene with many samples, cached."""
    # Named after everything that decides the image.
    record = json.loads(scene.to_json())
    described = [record[part] for part in ("objects", "camera", "lamps")]
    look = FAMILY.model_dump(
        include={"attributes", "floor", "caustics", "sky"}, exclude_defaults=True
    )
    what = json.dumps([described, look, REFERENCE, WIDTH, HEIGHT])
    path = _folder() / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.png"
    if not path.exists():
        point = Point(_like(REFERENCE["samples"], denoise=""))
        threads = os.cpu_count() or 1
        with ProcessPoolExecutor(1, get_context("spawn"), _begin, (point, threads)) as process:
            image, _ = process.submit(_render, scene).result()
        # It gets its name only when it is whole.
        draft = path.with_suffix(".part")
        Image.fromarray(image).save(draft, "PNG")
        os.replace(draft, path)
    return np.asarray(Image.open(path))


def _folder() -> Path:
    folder = Path(os.environ.get("JACKALOPE_BENCH") or user_cache_path("jackalope") / "bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _begin(point: Point, threads: int) -> None:
    # Imported here, since Blender spoils the import path of the processes that follow.
    import_module("bench.blender_process").begin(point, threads)


def _render(scene: Scene) -> TimedImage:
    image: TimedImage = import_module("bench.blender_process").render(scene)
    return image


def psnr(image: np.ndarray, reference: np.ndarray) -> float:
    """Peak signal-to-noise ratio of an 8-bit image, dB; 99 for equal images."""
    error = float(((image.astype(np.float64) - reference) ** 2).mean())
    return 10 * math.log10(255**2 / error) if error else 99.0


if __name__ == "__main__":
    every = [*scenes(), *crowded()]
    for number, scene in enumerate(every, start=1):
        render_reference(scene)
        say(f"{number} of {len(every)} references")
