"""Scenes of one family, and changes to images and requests of a rendered dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from generator.base.files import read_json, write_json
from generator.dataset.outputs import png
from generator.dataset.reader import Dataset
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.judge.datasets import seal

CLEVR = read_vocabulary("clevr")
SIZE = (160, 120)


def thing(category: str, color: str, x: float, y: float = 0.0, z: float = 0.0) -> SceneObject:
    return SceneObject(
        category, {"color": color, "material": "rubber", "size": "large"}, (x, y, z), 0.3
    )


def scene(*objects: SceneObject, vocabulary: Vocabulary = CLEVR) -> Scene:
    spec = vocabulary.camera
    camera = Camera(spec.position, spec.target, spec.lens, spec.sensor)
    return Scene(objects, camera, {}, next(iter(vocabulary.environments)))


Change = Callable[[np.ndarray, dict[str, Any]], np.ndarray | None]


def repaint(root: Path, *changes: Change) -> None:
    """Change the images of the first scenes, in place or to what a change returns, and compute all
    digests anew."""
    for row, change in zip(Dataset.open(root).world.scenes.to_pylist(), changes, strict=False):
        path = root / "world/images" / f"{row['scene_id']}.png"
        with Image.open(path) as image:
            pixels = np.array(image)
        changed = change(pixels, row)
        path.write_bytes(png(Image.fromarray(pixels if changed is None else changed)))
    seal(root / "world")


def requested(root: Path, **changes: Any) -> None:
    """Change what the manifest of the world says was asked for."""
    path = root / "world/manifest.json"
    manifest = read_json(path)
    manifest["request"] |= changes
    write_json(path, manifest)
