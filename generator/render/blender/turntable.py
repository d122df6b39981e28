"""Renders a mesh from eight sides, to check how it stands; surfaces seen from inside are red."""

import math
import tempfile
from pathlib import Path

import bpy
from PIL import Image

from generator.render.blender.camera import world_from_camera
from generator.render.blender.engine import configure
from generator.render.blender.meshes import build_mesh
from generator.render.device import Backend
from generator.render.quality import read_quality

VIEWS = 8
_CAMERA, _TARGET = (0.0, -5.4, 2.1), (0.0, 0.0, 0.85)


class Turntable:
    """A grey floor, a lamp and a camera, for one mesh after another. `side` is that of its square images, in pixels."""

    def __init__(self, side: int):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        scene = self._scene = bpy.context.scene
        configure(scene, read_quality("draft"), side, side, 2, Backend())
        scene.render.use_persistent_data = False
        bpy.ops.mesh.primitive_plane_add(size=40)
        bpy.context.object.data.materials.append(_floor_material())
        bpy.ops.object.light_add(type="SUN", rotation=(0.7, 0.3, 0.2))
        bpy.context.object.data.energy = 2.5
        camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        camera.matrix_world = world_from_camera(_CAMERA, _TARGET)
        camera.data.lens = 62.0
        scene.collection.objects.link(camera)
        scene.camera = camera
        scene.world = bpy.data.worlds.new("sky")
        scene.world.use_nodes = True
        scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.6, 0.6, 0.6, 1.0)
        self._material = _clay_material()

    def views(self, name: str, assets: str) -> list[Image.Image]:
        """RGB images of a mesh of an asset set: first facing right, then turned counter-clockwise by an eighth each time.

        Raises UserError where the set has no such mesh.
        """
        mesh = build_mesh(name, assets)
        mesh.materials.append(self._material)
        shown = bpy.data.objects.new(name, mesh)
        self._scene.collection.objects.link(shown)
        views = []
        with tempfile.TemporaryDirectory() as folder:
            self._scene.render.filepath = str(Path(folder) / "view.png")
            for view in range(VIEWS):
                shown.rotation_euler = (0.0, 0.0, 2 * math.pi * view / VIEWS)
                bpy.ops.render.render(write_still=True)
                with Image.open(self._scene.render.filepath) as image:
                    views.append(image.convert("RGB"))
        bpy.data.objects.remove(shown)
        return views


def _floor_material() -> bpy.types.Material:
    material = bpy.data.materials.new("floor")
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.25, 0.25, 0.25, 1.0)
    return material


def _clay_material() -> bpy.types.Material:
    material = bpy.data.materials.new("clay")
    material.use_nodes = True
    tree = material.node_tree
    side, mix = tree.nodes.new("ShaderNodeNewGeometry"), tree.nodes.new("ShaderNodeMix")
    mix.data_type = "RGBA"
    mix.inputs["A"].default_value, mix.inputs["B"].default_value = (0.55, 0.45, 0.3, 1.0), (1.0, 0.0, 0.0, 1.0)
    tree.links.new(side.outputs["Backfacing"], mix.inputs["Factor"])
    tree.links.new(mix.outputs["Result"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material
