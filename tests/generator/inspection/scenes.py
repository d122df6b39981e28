"""Scenes of one family and flat images of them: each object in one colour on a gray floor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from generator.base.files import read_json, write_json
from generator.dataset.outputs import png
from generator.dataset.reader import Dataset
from generator.inspection.appearance import encoded
from generator.inspection.outlines import outlines
from generator.inspection.pixels import box_of
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, read_vocabulary
from tests.generator.judge.datasets import seal

CLEVR = read_vocabulary("clevr")
SIZE = (160, 120)


def thing(category: str, color: str, x: float, y: float = 0.0, z: float = 0.0) -> SceneObject:
    return SceneObject(category, {"color": color, "material": "rubber", "size": "large"}, (x, y, z), 0.3)


def scene(*objects: SceneObject, vocabulary: Vocabulary = CLEVR) -> Scene:
    spec = vocabulary.camera
    camera = Camera(spec.position, spec.target, spec.lens, spec.sensor)
    lamps = {
        name: Lamp(each.type, each.energy, each.size, each.color, each.position)
        for name, each in vocabulary.lamps.items()
    }
    return Scene(objects, camera, lamps, next(iter(vocabulary.environments)))


def painted(of: Scene, light: float = 0.6, vocabulary: Vocabulary = CLEVR) -> np.ndarray:
    """An image [h, w, 3] in which every object has its colour in that light, with a little noise."""
    image = np.full((*SIZE[::-1], 3), 0.4)
    for each, drawn in zip(of.objects, outlines(of, vocabulary, SIZE), strict=True):
        image[drawn.visible] = encoded(
            light * np.array(vocabulary.attributes["color"][each.attributes["color"]].color) / 255
        )
    noise = np.random.default_rng(0).normal(0, 0.01, image.shape)
    return (255 * np.clip(image + noise, 0, 1)).round().astype(np.uint8)


def boxes(of: Scene, vocabulary: Vocabulary = CLEVR) -> list[Any]:
    return [box_of(drawn.whole) for drawn in outlines(of, vocabulary, SIZE)]


Change = Callable[[np.ndarray, dict[str, Any]], np.ndarray | None]


def repaint(root: Path, *changes: Change) -> None:
    """Change the images of the first scenes, in place or to what a change returns, and compute all digests anew."""
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
