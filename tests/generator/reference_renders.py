"""Renders scenes of CLEVR's own again, in a process that may import bpy: python -m
tests.generator.reference_renders OUT SAMPLES NAME...

For each scene OUT/NAME.npz holds `image` (height, width, 3), `mask` (height, width; 0 the floor, i
+ 1 object i), and
`without` (objects, height, width, 3): what the camera would see if it saw through object i, with
all shadows and
reflections as they are; only near the object, black elsewhere.
"""

import math
import sys
from pathlib import Path

import bpy
import numpy as np

from generator.render.blender.rays import RayCaster, trace_objects
from generator.render.blender.stage import Stage
from generator.render.settings import read_quality
from generator.scene.scene import Camera, Lamp, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary
from tests.generator.fidelity import HEIGHT, NEAR, WIDTH, records

VOCABULARY = read_vocabulary("clevr-original")


def scene_of(record: dict) -> Scene:
    """A scene of the reference in this project's terms: camera and lamps without jitter."""
    objects = tuple(
        SceneObject(
            o["shape"],
            {kind: o[kind] for kind in ("color", "material", "size")},
            (o["x"], o["y"], 0.0),
            math.radians(o["rotation_degrees"]),
        )
        for o in record["objects"]
    )
    camera, lamps = VOCABULARY.camera, VOCABULARY.lamps
    return Scene(
        objects,
        Camera(camera.position, camera.target, camera.lens, camera.sensor),
        {
            name: Lamp(lamp.type, lamp.energy, lamp.size, lamp.color, lamp.position)
            for name, lamp in lamps.items()
        },
        next(iter(VOCABULARY.environments)),
    )


def render(stage: Stage, path: Path) -> np.ndarray:
    return np.asarray(stage.render(str(path)))


def main(out: Path, samples: int, names: list[str]) -> None:
    quality = read_quality("reference").model_copy(update={"samples": samples, "denoise": "fast"})
    stage = Stage(VOCABULARY, quality, width=WIDTH, height=HEIGHT, threads=2)
    caster = RayCaster(
        VOCABULARY,
        meshes=stage.meshes,
        find_ground=stage.ground,
        width=WIDTH,
        height=HEIGHT,
    )
    draft, settings = out / "draft.png", bpy.context.scene.render
    for name in names:
        scene = scene_of(records()[name])
        stage.pose(scene)
        image = render(stage, draft)
        mask = trace_objects(scene, caster).mask
        without = np.zeros((len(scene.objects), HEIGHT, WIDTH, 3), np.uint8)
        settings.use_border = True
        for i in range(len(scene.objects)):
            rows, columns = np.nonzero(mask == i + 1)
            top, bottom = max(0, rows.min() - NEAR), min(HEIGHT, rows.max() + NEAR + 1)
            left, right = max(0, columns.min() - NEAR), min(WIDTH, columns.max() + NEAR + 1)
            settings.border_min_x, settings.border_max_x = left / WIDTH, right / WIDTH
            settings.border_min_y, settings.border_max_y = 1 - bottom / HEIGHT, 1 - top / HEIGHT
            obj = bpy.data.objects[f"object{i}"]
            obj.visible_camera = False
            without[i] = render(stage, draft)
            obj.visible_camera = True
        settings.use_border = False
        np.savez(out / f"{name}.npz", image=image, mask=mask, without=without)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
