"""The stage: floor, lamps, camera and renderer, built once; objects are moved and recoloured for each scene."""

from collections.abc import Sequence
from typing import Any

import bpy
from mathutils import Matrix
from PIL import Image, ImageOps

from generator.dataset.outputs import Box
from generator.render.blender.canvas import Canvas
from generator.render.blender.engine import configure, set_samples
from generator.render.blender.environment import Landscapes
from generator.render.blender.materials import new_material, set_inputs
from generator.render.blender.objects import build_mesh
from generator.render.device import Drive
from generator.render.quality import Quality
from generator.render.sample_budget import Shot, shots
from generator.scene.projection import axes
from generator.scene.relations import Point
from generator.scene.scene import Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

CPU = Drive()
_RIM = 2  # pixels within the edge of what is rendered that the denoiser gets wrong, for want of neighbours
_INTO = 0.3  # pixels into the first one of a part: Blender rounds its edges down, from single precision


class Stage:
    """A Blender scene that takes the pose of one Scene after another.

    Nothing of an earlier scene may show in a later one: every property that a scene sets is set again by the next.
    """

    def __init__(
        self, vocabulary: Vocabulary, quality: Quality, width: int, height: int, threads: int, drive: Drive = CPU
    ):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self._vocabulary = vocabulary
        self._scene = bpy.context.scene
        self._meshes = {
            name: _one_slot(build_mesh(mesh, vocabulary.assets)) for name, mesh in vocabulary.meshes.items()
        }
        self._slots: list[bpy.types.Object] = []
        self._quality, self._around, self._primed, self._shines = quality, 0, False, list[bool]()
        self._rim = _RIM if quality.denoise and drive.engine == "cycles" else 0
        self._shot = (width + 2 * self._rim, height + 2 * self._rim)
        self._wider = max(self._shot) / max(width, height)
        configure(self._scene, quality, *self._shot, threads, drive)
        traced = drive.engine == "cycles" and (quality.denoise or quality.floor or quality.landscape)
        self._canvas = Canvas(self._scene, *self._shot, quality.denoise) if traced else None
        self._scene.cycles.caustics_reflective = vocabulary.caustics
        self._landscapes = Landscapes(vocabulary)
        first = self._landscapes.of(next(iter(vocabulary.environments)))
        self._floor = self._add("floor", first.ground)
        self._scene.world = first.sky
        self._camera = self._add("camera", bpy.data.cameras.new("camera"))
        self._scene.camera = self._camera
        self._lamps = {
            name: self._add(name, bpy.data.lights.new(name, spec.kind.upper()))
            for name, spec in vocabulary.lamps.items()
        }

    @property
    def meshes(self) -> dict[str, bpy.types.Mesh]:
        """The unit mesh of every object kind."""
        return self._meshes

    def ground(self, environment: str) -> bpy.types.Mesh:
        """What everything stands on and before, in world coordinates."""
        return self._landscapes.of(environment).ground

    def pose(self, scene: Scene) -> None:
        """Move, turn, scale and colour everything as the scene says."""
        self._floor.data, self._scene.world = self._landscapes.of(scene.environment)
        bare = self._vocabulary.environments[scene.environment].ground is None
        self._around = self._quality.floor if bare else self._quality.landscape
        self._camera.data.lens, self._camera.data.sensor_width = scene.camera.lens, scene.camera.sensor * self._wider
        self._camera.matrix_world = _look(scene.camera.position, scene.camera.target)
        for name, lamp in scene.lamps.items():
            light = self._lamps[name].data
            light.energy, light.color = lamp.energy, lamp.color
            if lamp.size is not None:
                light.size = lamp.size
            self._lamps[name].matrix_world = _look(lamp.position, (0.0, 0.0, 0.0))
        while len(self._slots) < len(scene.objects):
            self._slots.append(self._add(f"object{len(self._slots)}", next(iter(self._meshes.values()))))
        for slot in self._slots[len(scene.objects) :]:
            slot.hide_render = True
        self._shines = [material_inputs(thing, self._vocabulary)["metallic"] > 0 for thing in scene.objects]
        for slot, thing in zip(self._slots, scene.objects, strict=False):
            self._pose_object(slot, thing)

    def render(self, draft: str, boxes: Sequence[Box] = ()) -> Image.Image:
        """The image of the posed scene; RGB. `boxes` say where its objects are, one for each, in their order.

        `draft` is the PNG file in which Blender hands over what it renders. Raises RuntimeError when it cannot write it.
        """
        rim, canvas = self._rim, self._canvas
        wide = [(left + rim, top + rim, right + rim, bottom + rim) for left, top, right, bottom in boxes if canvas]
        *parts, whole = shots(wide, self._shines, *self._shot, self._quality, self._around)
        if whole.most < self._quality.samples:
            self._prime(draft)
        if canvas:
            for shot in parts:
                self._lay(canvas, draft, shot)
            canvas.whole()
        set_samples(self._scene, whole.most, whole.noise)
        self._shoot(draft, *whole.parts)
        with Image.open(draft) as image:
            return ImageOps.crop(image.convert("RGB"), rim)

    def _lay(self, canvas: Canvas, draft: str, shot: Shot) -> None:
        """Render the parts of a shot and lay them over the next whole image."""
        set_samples(self._scene, shot.most, shot.noise, shot.after)
        canvas.part()
        for part in shot.parts:
            self._shoot(draft, part)
            canvas.lay(draft, part, shot.least, shot.after)

    def _prime(self, draft: str) -> None:
        """Once take the most samples, of some pixels: Cycles' blue noise depends on the most that its session has taken."""
        if not self._primed:
            set_samples(self._scene, self._quality.samples)
            self._shoot(draft, (0, 0, 4, 4))
            self._primed = True

    def _shoot(self, draft: str, part: Box) -> None:
        """Have Blender render a part of the image into a file."""
        (width, height), (left, top, right, bottom), render = self._shot, part, self._scene.render
        render.use_border = render.use_crop_to_border = part != (0, 0, width, height)
        render.border_min_x, render.border_max_x = (left + _INTO) / width, (right + _INTO) / width
        render.border_min_y, render.border_max_y = (height - bottom + _INTO) / height, (height - top + _INTO) / height
        render.filepath = draft
        bpy.ops.render.render(write_still=True)

    def _pose_object(self, slot: bpy.types.Object, thing: SceneObject) -> None:
        inputs = material_inputs(thing, self._vocabulary)
        slot.data = self._meshes[thing.category]
        slot.hide_render = False
        slot.location = thing.position
        slot.rotation_euler = (0.0, 0.0, thing.heading)
        slot.scale = (inputs["scale"],) * 3
        material_slot = slot.material_slots[0]
        material_slot.link = "OBJECT"
        if material_slot.material is None:
            material_slot.material = new_material(slot.name)
        set_inputs(material_slot.material, inputs)

    def _add(self, name: str, data: bpy.types.ID) -> bpy.types.Object:
        thing = bpy.data.objects.new(name, data)
        self._scene.collection.objects.link(thing)
        return thing


def material_inputs(thing: SceneObject, vocabulary: Vocabulary) -> dict[str, Any]:
    """What the attribute values of an object set, by input name."""
    return {
        name: value
        for kind, chosen in thing.attributes.items()
        for name, value in vocabulary.attributes[kind][chosen].inputs().items()
    }


def _one_slot(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    mesh.materials.append(None)
    return mesh


def _look(position: Point, target: Point) -> Matrix:
    """world_from_camera: columns right, up, backward and position."""
    right, up, back = axes(position, target)
    return Matrix([(right[i], up[i], back[i], position[i]) for i in range(3)] + [(0.0, 0.0, 0.0, 1.0)])
