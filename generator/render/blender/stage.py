"""The Blender scene that all images are rendered from: floor, lamps, camera and renderer are built
once; objects are moved and recoloured for each image."""

from collections.abc import Sequence

import bpy
from mathutils import Matrix
from PIL import Image, ImageOps

from generator.base.errors import UserError
from generator.dataset.outputs import Box
from generator.render.blender.canvas import Canvas
from generator.render.blender.landscape import Landscapes
from generator.render.blender.materials import material_inputs, new_material, set_inputs
from generator.render.blender.meshes import build_mesh
from generator.render.blender.system import devices_of
from generator.render.sample_budget import SamplePass, sample_passes
from generator.render.settings import Quality
from generator.scene.projection import axes
from generator.scene.scene import Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

# pixels rendered beyond each edge and cut off: the denoiser errs where neighbours are missing
_RIM = 2
_INTO = 0.3  # pixels added to the edges of a part, which Blender rounds down from single precision


class Stage:
    """A Blender scene that is posed as one Scene after another, and rendered.

    An image must not depend on earlier scenes: `pose` sets every property that any scene sets.
    `width`, `height`: of the images, in pixels. `threads`: the CPU threads of the renderer. Raises
    UserError where a mesh is not installed or Blender finds no such device.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        quality: Quality,
        width: int,
        height: int,
        threads: int,
        device: str = "cpu",
    ):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self._vocabulary = vocabulary
        self._scene = bpy.context.scene
        self._meshes = {
            name: _one_slot(build_mesh(mesh, vocabulary.assets))
            for name, mesh in vocabulary.meshes.items()
        }
        self._slots: list[bpy.types.Object] = []
        self._quality, self._samples_around, self._primed, self._metallic = (
            quality,
            0,
            False,
            list[bool](),
        )
        self._rim = _RIM if quality.denoise else 0
        self._shot = (width + 2 * self._rim, height + 2 * self._rim)
        self._wider = max(self._shot) / max(width, height)
        configure(self._scene, quality, *self._shot, threads, device)
        self._canvas = Canvas(self._scene, *self._shot, quality.denoise)
        self._scene.cycles.caustics_reflective = vocabulary.caustics
        self._landscapes = Landscapes(vocabulary)
        self._floor = self._add("floor", bpy.data.meshes.new("no floor yet"))
        self._camera = self._add("camera", bpy.data.cameras.new("camera"))
        self._scene.camera = self._camera
        self._lamps = {
            name: self._add(name, bpy.data.lights.new(name, spec.type.upper()))
            for name, spec in vocabulary.lamps.items()
        }

    @property
    def meshes(self) -> dict[str, bpy.types.Mesh]:
        """The unit mesh of every category."""
        return self._meshes

    def ground(self, scene: Scene) -> bpy.types.Mesh:
        """The mesh of the ground and scenery of a scene, in world coordinates (metres)."""
        return self._landscapes.of(scene.environment, scene.yaw, scene.camera).ground

    def pose(self, scene: Scene) -> None:
        """Move, turn, scale and colour everything as a scene says."""
        self._floor.data, self._scene.world = self._landscapes.of(
            scene.environment, scene.yaw, scene.camera
        )
        place = self._vocabulary.environments[scene.environment]
        around = self._quality.photo if place.photo else self._quality.landscape
        self._samples_around = self._quality.floor if place.bare else around
        self._camera.data.lens, self._camera.data.sensor_width = (
            scene.camera.lens,
            scene.camera.sensor * self._wider,
        )
        self._camera.matrix_world = world_from_camera(scene.camera.position, scene.camera.target)
        for name, lamp in scene.lamps.items():
            light = self._lamps[name].data
            light.energy, light.color = lamp.energy, lamp.color
            if lamp.size is not None:
                light.size = lamp.size
            self._lamps[name].matrix_world = world_from_camera(lamp.position, (0.0, 0.0, 0.0))
        while len(self._slots) < len(scene.objects):
            self._slots.append(
                self._add(f"object{len(self._slots)}", next(iter(self._meshes.values())))
            )
        for slot in self._slots[len(scene.objects) :]:
            slot.hide_render = True
        self._metallic = [
            material_inputs(thing, self._vocabulary)["metallic"] > 0 for thing in scene.objects
        ]
        for slot, thing in zip(self._slots, scene.objects, strict=False):
            self._pose_object(slot, thing)

    def render(self, draft: str, boxes: Sequence[Box] = ()) -> Image.Image:
        """The image of the posed scene, RGB.

        `boxes` are the amodal boxes of the scene's objects, in their order; more samples are taken
        there. `draft` is
        the path of a temporary PNG file. Raises RuntimeError where Blender cannot write it.
        """
        rim = self._rim
        wide = [
            (left + rim, top + rim, right + rim, bottom + rim) for left, top, right, bottom in boxes
        ]
        *parts, whole = sample_passes(
            wide, self._metallic, *self._shot, self._quality, self._samples_around
        )
        if whole.most < self._quality.samples:
            self._prime(draft)
        for shot in parts:
            self._render_parts(draft, shot)
        self._canvas.expect_whole()
        set_samples(self._scene, whole.most, whole.noise)
        self._shoot(draft, *whole.parts)
        with Image.open(draft) as image:
            return ImageOps.crop(image.convert("RGB"), rim)

    def _render_parts(self, draft: str, shot: SamplePass) -> None:
        """Render the parts of a shot and add them to the next whole image."""
        set_samples(self._scene, shot.most, shot.noise, shot.after)
        self._canvas.expect_parts()
        for part in shot.parts:
            self._shoot(draft, part)
            self._canvas.add_part(draft, part, shot.least, shot.after)

    def _prime(self, draft: str) -> None:
        """Render a few pixels with the most samples, once: Cycles' blue noise depends on the most
        samples of its session.
        """
        if not self._primed:
            set_samples(self._scene, self._quality.samples)
            self._shoot(draft, (0, 0, 4, 4))
            self._primed = True

    def _shoot(self, draft: str, part: Box) -> None:
        """Have Blender render a part of the image into the file `draft`."""
        (width, height), (left, top, right, bottom), render = self._shot, part, self._scene.render
        render.use_border = render.use_crop_to_border = part != (0, 0, width, height)
        render.border_min_x, render.border_max_x = (left + _INTO) / width, (right + _INTO) / width
        render.border_min_y, render.border_max_y = (
            (height - bottom + _INTO) / height,
            (height - top + _INTO) / height,
        )
        render.filepath = draft
        bpy.ops.render.render(write_still=True)

    def _pose_object(self, slot: bpy.types.Object, thing: SceneObject) -> None:
        inputs = material_inputs(thing, self._vocabulary)
        slot.data = self._meshes[thing.category]
        slot.hide_render = False
        slot.location = thing.position
        slot.rotation_euler = (0.0, 0.0, thing.heading)
        slot.scale = (self._vocabulary.scale(thing.category, thing.attributes),) * 3
        material_slot = slot.material_slots[0]
        material_slot.link = "OBJECT"
        if material_slot.material is None:
            material_slot.material = new_material(slot.name)
        set_inputs(material_slot.material, inputs)

    def _add(self, name: str, data: bpy.types.ID) -> bpy.types.Object:
        thing = bpy.data.objects.new(name, data)
        self._scene.collection.objects.link(thing)
        return thing


def _one_slot(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    mesh.materials.append(None)
    return mesh


def world_from_camera(position: Point, target: Point) -> Matrix:
    """The 4x4 pose matrix of a camera or lamp at `position` that faces `target` (metres): columns
    right, up, backward, position.
    """
    right, up, back = axes(position, target)
    return Matrix(
        [(right[i], up[i], back[i], position[i]) for i in range(3)] + [(0.0, 0.0, 0.0, 1.0)]
    )


def configure(
    scene: bpy.types.Scene,
    quality: Quality,
    width: int,
    height: int,
    threads: int,
    device: str = "cpu",
) -> None:
    """Set the renderer up: size in pixels, quality, CPU threads, device.

    Raises UserError where Blender finds no such device.
    """
    render, cycles = scene.render, scene.cycles
    render.engine, render.use_persistent_data = "CYCLES", True
    render.resolution_x, render.resolution_y, render.resolution_percentage = width, height, 100
    render.threads_mode, render.threads = "FIXED", threads
    render.image_settings.compression = 0  # the file is read back at once
    scene.view_settings.view_transform = "Standard"
    cycles.device, cycles.seed = "CPU", 0
    # with 4, Cycles first estimates the noise after 16 samples
    # (`generator.render.sample_budget.FIRST_NOISE_CHECK`)
    cycles.adaptive_min_samples = 4
    cycles.max_bounces = cycles.glossy_bounces = quality.bounces
    cycles.diffuse_bounces = min(quality.bounces, 4)
    cycles.blur_glossy = 2.0
    cycles.use_light_tree = (
        False  # with a handful of lamps, choosing among them costs more than it saves
    )
    cycles.caustics_refractive = False
    cycles.light_sampling_threshold = (
        0.0  # above 0 Cycles drops faint light at random, which differs between versions
    )
    if device != "cpu":
        _use_gpu(scene, device)


def set_samples(scene: bpy.types.Scene, samples: int, noise: float = 0.0, after: int = 0) -> None:
    """Limit Cycles to the samples `after` up to `samples` of the sequence of a pixel.

    With `noise` above 0 a pixel stops earlier, once its estimated noise is below that.
    """
    cycles = scene.cycles
    cycles.samples, cycles.use_adaptive_sampling, cycles.adaptive_threshold = (
        samples,
        noise > 0,
        noise,
    )
    cycles.use_sample_subset, cycles.sample_offset = after > 0, after
    cycles.sample_subset_length = max(samples - after, 1)


def _use_gpu(scene: bpy.types.Scene, device: str) -> None:
    preferences = bpy.context.preferences.addons["cycles"].preferences
    devices = devices_of(preferences, device.upper())
    if not devices:
        raise UserError(f"Blender finds no {device} device for this worker")
    for each in preferences.devices:
        each.use = each in devices
    scene.cycles.device = "GPU"
