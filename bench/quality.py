"""How good images are for the time they take: PSNR against 4096 samples over crowded, shiny scenes of clevr-original.

References take some minutes each; they are kept in $JACKALOPE_BENCH, or else in the user's cache, and one that is there
is not rendered again, so that a stopped run goes on: `python -m bench.quality` renders those that lack.
"""

import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from PIL import Image
from platformdirs import user_cache_path

from bench.figures import Figure
from generator.blender.stage import Stage
from generator.dataset.commands import say
from generator.quality import read_quality
from generator.sampling import Planned, place_scene
from generator.scene import Scene
from generator.streams import Stream
from generator.vocabulary import read_vocabulary

SCENES, WIDTH, HEIGHT = 20, 320, 240
FAMILY = read_vocabulary("clevr-original")
# Settings of Cycles beyond those of the quality `reference`, which has CLEVR's samples and bounces.
REFERENCE = {"samples": 4096, "use_denoising": False}
_CLEAN = {"use_denoising": True, "max_bounces": 4, "glossy_bounces": 4, "diffuse_bounces": 4}
_FAST = {**_CLEAN, "denoising_quality": "FAST", "denoising_prefilter": "FAST"}
_HIGH = {**_CLEAN, "denoising_quality": "HIGH", "denoising_prefilter": "ACCURATE"}
CURVE: dict[str, dict[str, Any]] = {
    "512 samples, CLEVR's own": {"samples": 512, "use_denoising": False},
    "128 samples, denoised": {"samples": 128, "use_denoising": True},
    "1024 samples, adaptive 0.01, denoised": {
        "samples": 1024, "use_adaptive_sampling": True, "adaptive_threshold": 0.01, "use_denoising": True,
    },
    **{f"{n} samples, denoised well": {**_HIGH, "samples": n} for n in (32, 16, 8, 4, 2)},
    **{f"{n} samples, denoised fast": {**_FAST, "samples": n} for n in (32, 16, 8, 4, 2)},
}  # fmt: skip


def figures() -> list[Figure]:
    """PSNR of every scene, and seconds of an image, for each point of the curve."""
    references = [render_reference(scene) for scene in scenes()]
    found = []
    for name, settings in CURVE.items():
        drawn = [_draw(scene, settings) for scene in scenes()]
        ratios = (psnr(image, reference) for (image, _), reference in zip(drawn, references, strict=True))
        found += [Figure(name, "dB", tuple(ratios)), Figure(name, "s/image", tuple(spent for _, spent in drawn))]
    return found


def scenes() -> list[Scene]:
    """Scenes of seven to ten objects, three of four of them metal."""
    return [_scene(i) for i in range(SCENES)]


def _scene(index: int) -> Scene:
    stream = Stream("quality", index)
    n = 7 + index % 4
    materials = stream.shuffled([("metal", "metal", "metal", "rubber")[i % 4] for i in range(n)])
    shapes, colors = stream.balanced(list(FAMILY.objects), n), stream.balanced(FAMILY.values("color"), n)
    sizes = stream.balanced(FAMILY.values("size"), n)
    objects = tuple(
        (shape, {"color": color, "material": material, "size": size})
        for shape, color, material, size in zip(shapes, colors, materials, sizes, strict=True)
    )
    planned = Planned(
        f"{index:06d}", "", objects, tuple(stream.shuffled(range(n))), next(iter(FAMILY.environments)), (None,) * n, (0,) * n
    )  # fmt: skip
    return place_scene(planned, FAMILY, 0, 0, WIDTH, HEIGHT)


def render_reference(scene: Scene) -> np.ndarray:
    """The image of a scene with many samples, kept for the next time."""
    record = json.loads(scene.to_json())
    look = FAMILY.model_dump(include={"attributes", "floor", "caustics", "sky"}, exclude_defaults=True)
    what = json.dumps([[record[part] for part in ("objects", "camera", "lamps")], look, REFERENCE, WIDTH, HEIGHT])
    path = _folder() / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.png"
    if not path.exists():
        image, spent = _draw(scene, REFERENCE)
        Image.fromarray(image).save(draft := path.with_suffix(".part"), "PNG")
        os.replace(draft, path)
        say(f"{path} took {spent:.0f} s")
    return np.asarray(Image.open(path))


def _folder() -> Path:
    folder = Path(os.environ.get("JACKALOPE_BENCH") or user_cache_path("jackalope") / "bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _draw(scene: Scene, settings: Mapping[str, Any]) -> tuple[np.ndarray, float]:
    """An image and the seconds that it took, everything but the posing included."""
    stage = Stage(FAMILY, read_quality("reference"), WIDTH, HEIGHT, os.cpu_count() or 1)
    for name, value in settings.items():
        setattr(bpy.context.scene.cycles, name, value)
    stage.pose(scene)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.png"
        start = time.perf_counter()
        stage.render(str(path))
        spent = time.perf_counter() - start
        return np.asarray(Image.open(path).convert("RGB")), spent


def psnr(image: np.ndarray, reference: np.ndarray) -> float:
    """Peak signal-to-noise ratio of an 8-bit image, dB; 99 for equal images."""
    error = float(((image.astype(np.float64) - reference) ** 2).mean())
    return 10 * math.log10(255**2 / error) if error else 99.0


if __name__ == "__main__":
    for number, each in enumerate(scenes(), start=1):
        render_reference(each)
        say(f"{number} of {SCENES} references")
