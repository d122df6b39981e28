"""Scenes of one family and flat images of them: each object in one colour on a gray floor."""

import numpy as np

from generator.inspection.appearance import encoded
from generator.inspection.outlines import outlines
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, read_vocabulary

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


def boxes(of: Scene, vocabulary: Vocabulary = CLEVR) -> list[tuple[int, int, int, int]]:
    found = []
    for drawn in outlines(of, vocabulary, SIZE):
        rows, columns = np.nonzero(drawn.whole)
        found.append((int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1))
    return found
