"""Worlds of turn twins without rendering, and the directions of their objects by geometry of the
tests' own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from generator.dataset.reader import Dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, prepare
from tests.generator.unrendered import write_planned

COUNTS = {"train": 30, "val": 2, "seen": 12, "partial": 12, "unseen": 12}


def write_turned_world(
    root: Path,
    family: str = "pug-frames",
    *,
    holdout: str = "3x3",
    scenes: Mapping[str, int] = COUNTS,
    turns: str | None = "90,180",
    **options: Any,
) -> Prepared:
    """Write a world of four viewpoints into `root`; without `turns`, a world without twins."""
    if turns is None:
        options["pairs"] = False
    prepared = prepare(
        WorldOptions(
            family=family,
            holdout=holdout,
            scenes=dict(scenes),
            resolution="64x48",
            viewpoints=4,
            turns=turns,
            **options,
        )
    )
    write_planned(root, prepared)
    return prepared


class Ground(NamedTuple):
    """A scene on the ground plane, as complex numbers x + iy of the world, in metres."""

    places: dict[str, complex]
    """The place of each category."""
    fronts: dict[str, complex]
    """The unit vector to its front, for categories of meshes that look along +x."""
    viewing: complex
    """The unit vector in which the camera looks."""

    def directions(self, subject: str, ground: str, frame: str) -> set[str]:
        """The directions in which an object stands to another by at least 0.2 m."""
        step = self.places[subject] - self.places[ground]
        ahead = self.viewing if frame == "viewer" else self.fronts[ground]
        # Turned so that `ahead` points up: then left is negative.
        turned = step / ahead * 1j
        across, along = turned.real, turned.imag
        if frame == "viewer":
            along = -along  # in front of means nearer to the camera
        names = {"right": across, "left": -across, "front": along, "behind": -along}
        return {name for name, metres in names.items() if metres >= 0.2}

    def angle(self, category: str) -> float:
        """Degrees between a front and the direction to the camera, 0..180."""
        return float(abs(np.degrees(np.angle(self.fronts[category] / -self.viewing))))


def read_grounds(root: Path) -> dict[str, Ground]:
    """The scenes of a world by scene_id, read from their records."""
    scenes = Dataset.open(root).world.scenes
    grounds = {}
    for scene_id, record in zip(
        scenes["scene_id"].to_pylist(), scenes["scene"].to_pylist(), strict=True
    ):
        data = json.loads(record)
        places, fronts = {}, {}
        for obj in data["objects"]:
            places[obj["category"]] = complex(*obj["position"][:2])
            fronts[obj["category"]] = complex(np.exp(1j * obj["heading"]))
        camera = data["camera"]
        viewing = complex(*camera["target"][:2]) - complex(*camera["position"][:2])
        grounds[scene_id] = Ground(places, fronts, viewing / abs(viewing))
    return grounds


def scene_of_image(image: Image.Image) -> str:
    """The scene_id of an image of `write_planned`, which is of one color."""
    pixel = image.getpixel((0, 0))
    assert isinstance(pixel, tuple)
    red, green, blue = pixel[:3]
    return f"{red + 256 * green + 65536 * blue:06d}"
