"""Renders scenes with the settings of one point, in a process with Blender, and times each."""

import tempfile
import time
from pathlib import Path

import bpy
import numpy as np

from bench.render_settings import FAMILY, HEIGHT, WIDTH, Point, TimedImage
from generator.dataset.outputs import png
from generator.render.blender.rays import RayCaster, trace_objects
from generator.render.blender.stage import Stage
from generator.render.blender.versions import compositor_nodes, set_denoiser
from generator.scene.scene import Scene

_stage: Stage
_caster: RayCaster


def begin(point: Point, threads: int) -> None:
    """Build the stage of a process."""
    global _stage, _caster
    _stage = Stage(FAMILY, point.quality, width=WIDTH, height=HEIGHT, threads=threads)
    for name, value in point.settings.items():
        setattr(bpy.context.scene.cycles, name, value)
    if point.well:
        node = next(
            node
            for node in compositor_nodes(bpy.context.scene)
            if node.bl_idname == "CompositorNodeDenoise"
        )
        set_denoiser(node, "HIGH", "ACCURATE")
    _caster = RayCaster(
        FAMILY, meshes=_stage.meshes, find_ground=_stage.ground, width=WIDTH, height=HEIGHT
    )


def render(scene: Scene) -> TimedImage:
    """The image of a scene and the seconds that it took; placing and posing are not counted."""
    # As a worker does: only the parts of an image with objects get many samples.
    boxes = [traced.amodal_box for traced in trace_objects(scene, _caster).boxes]
    _stage.pose(scene)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        image = _stage.render(str(Path(folder) / "draft.png"), boxes)
        # `gen render` encodes each image too.
        png(image)
        return np.asarray(image), time.perf_counter() - start
