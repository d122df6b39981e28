"""Scenes of one object under a family's camera and lamps, and their images."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from generator.base.errors import UserError
from generator.render.farm import Farm
from generator.render.settings import read_quality
from generator.scene.planned import Recorded
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

_ROOM = 1.45  # half the width of a close view, radii of the largest object


def single_scene(
    vocabulary: Vocabulary, name: str, attributes: Mapping[str, str], environment: str, close: bool = True
) -> Scene:
    """An object at the origin at the middle of its headings; camera and lamps without jitter.

    `close`: whether the largest object would fill the view; else the view is that of the family's scenes.
    """
    spec, size = vocabulary.camera, max(vocabulary.scales)
    camera = Camera(spec.position, spec.target, spec.lens, spec.sensor)
    if close:
        target = (0.0, 0.0, 0.85 * size)
        lens = spec.sensor * math.dist(spec.position, target) / (2 * _ROOM * size)
        camera = Camera(spec.position, target, lens, spec.sensor)
    lamps = {
        name: Lamp(lamp.type, lamp.energy, lamp.size, lamp.color, lamp.position)
        for name, lamp in {**vocabulary.lamps, **vocabulary.environments[environment].lamps}.items()
    }
    heading = vocabulary.facing(name, spec.position)
    return Scene((SceneObject(name, dict(attributes), (0.0, 0.0, 0.0), heading),), camera, lamps, environment)


def rendered(
    scenes: Sequence[Scene], vocabulary: Vocabulary, workers: int, side: int = 128, quality: str = "standard"
) -> Iterator[Image.Image]:
    """The images of scenes, `side` pixels wide and high, rendered by the same worker processes as a world.

    Raises UserError if Blender cannot render one.
    """
    jobs = [Recorded(f"{i:06d}", scene.to_json()) for i, scene in enumerate(scenes)]
    with TemporaryDirectory() as folder:
        setup = {
            "vocabulary": vocabulary.toml(),
            "quality": read_quality(quality).model_dump(),
            "width": side,
            "height": side,
            "seed": 0,
            "folder": folder,
            "outputs": [],
            "device": "cpu",
        }
        for answer in Farm(workers).render(jobs, len(jobs), setup):
            if "failed" in answer:
                raise UserError(f"An image of '{vocabulary.name}' could not be rendered: {answer['failed']}")
        for job in jobs:
            with Image.open(Path(folder) / "images" / f"{job.scene_id}.png") as image:
                yield image.convert("RGB")
