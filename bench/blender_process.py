"""Renders scenes with the settings of one point, in a process with Blender, and times each."""

import tempfile
import time
from pathlib import Path

import bpy
import numpy as np

from bench.render_settings import FAMILY, HEIGHT, WIDTH, Point, TimedImage
from generator.dataset.outputs import png
from generator.render.blender.stage import Stage, material_inputs
from generator.render.blender.visibility import Eye
from generator.scene.scene import Scene

_stage: Stage
_eye: Eye


def begin(point: Point, threads: int) -> None:
    """Build the stage of a process."""
    global _stage, _eye
    _stage = Stage(FAMILY, point.quality, WIDTH, HEIGHT, threads, point.drive)
    for name, value in point.settings.items():
        setattr(bpy.context.scene.cycles, name, value)
    if point.well:
        node = next(node for node in bpy.context.scene.node_tree.nodes if node.bl_idname == "CompositorNodeDenoise")
        node.quality, node.prefilter = "HIGH", "ACCURATE"
    _eye = Eye(_stage.meshes, WIDTH, HEIGHT)


def render(scene: Scene) -> TimedImage:
    """The image of a scene and the seconds that it took; placing and posing are not counted."""
    boxes = [view.box for view in _eye.look(scene, [material_inputs(o, FAMILY)["scale"] for o in scene.objects])]
    _stage.pose(scene)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        image = _stage.render(str(Path(folder) / "draft.png"), boxes)
        png(image)
        return np.asarray(image), time.perf_counter() - start
