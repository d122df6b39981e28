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

_CROPPED_PIXELS = 2
"""Pixels rendered beyond each edge and cut off again: the denoiser errs where neighbours are
missing."""
_BORDER_INSET_PIXELS = 0.3
"""Part of a pixel by which the edges of a border lie inside their pixel. Blender takes edges as
shares of the image in single precision and rounds pixels down, so an edge exactly between two
pixels could fall on either side."""


class Stage:
    """A Blender scene that is posed as one Scene after another, and rendered.

    An image must not depend on earlier scenes: `pose` sets every property that any scene sets.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        quality: Quality,
        *,
        width: int,
        height: int,
        threads: int,
        device: str = "cpu",
    ):
        """Build what all scenes share.

        Args:
            vocabulary: The world's vocabulary.
            quality: The settings of Cycles.
            width: Of the images, in pixels.
            height: Of the images, in pixels.
            threads: The CPU threads of the renderer.
            device: One of generator.render.settings.DEVICES.

        Raises:
            UserError: A mesh is not installed, or Blender finds no such device.
        """
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self._scene = bpy.context.scene
        self._vocabulary = vocabulary
        self._quality = quality
        self._meshes = _build_meshes(vocabulary)
        # Blender's objects, one for each object of a scene; they are kept from scene to scene.
        self._slots: list[bpy.types.Object] = []
        # Samples of a pixel away from the objects; set by `pose`.
        self._samples_around = 0
        # Whether each posed object is metal; set by `pose`.
        self._metallic: list[bool] = []
        self._has_rendered_full_samples = False

        # The renderer.
        self._cropped = _CROPPED_PIXELS if quality.denoise else 0
        # Width and height that Blender renders, pixels: the image and the pixels cut off around it.
        self._rendered_size = (width + 2 * self._cropped, height + 2 * self._cropped)
        # The sensor grows with the longer side, so that the image itself keeps its field of view.
        self._sensor_factor = max(self._rendered_size) / max(width, height)
        configure(self._scene, quality, size=self._rendered_size, threads=threads, device=device)
        self._canvas = Canvas(self._scene, size=self._rendered_size, denoise=quality.denoise)
        self._scene.cycles.caustics_reflective = vocabulary.caustics

        # What a scene stands on, is seen from and is lit by.
        self._landscapes = Landscapes(vocabulary)
        self._floor = self._add("floor", bpy.data.meshes.new("no floor yet"))
        self._camera = self._add("camera", bpy.data.cameras.new("camera"))
        self._scene.camera = self._camera
        self._lamps: dict[str, bpy.types.Object] = {}
        for name, spec in vocabulary.lamps.items():
            light = bpy.data.lights.new(name, spec.type.upper())
            self._lamps[name] = self._add(name, light)

    @property
    def meshes(self) -> dict[str, bpy.types.Mesh]:
        """The unit mesh of every category."""
        return self._meshes

    def ground(self, scene: Scene) -> bpy.types.Mesh:
        """Return the mesh of the ground and scenery of a scene, in world coordinates (metres)."""
        return self._landscapes.prepare(scene).ground

    def pose(self, scene: Scene) -> None:
        """Move, turn, scale and colour everything as a scene says."""
        # Ground and light.
        landscape = self._landscapes.prepare(scene)
        self._floor.data = landscape.ground
        self._scene.world = landscape.sky
        self._samples_around = self._samples_of_ground(scene.environment)
        self._pose_lamps(scene)

        # Camera.
        self._camera.data.lens = scene.camera.lens
        self._camera.data.sensor_width = scene.camera.sensor * self._sensor_factor
        self._camera.matrix_world = world_from_camera(scene.camera.position, scene.camera.target)

        # Objects. Slots are kept from scene to scene, because new objects would cost Cycles time.
        while len(self._slots) < len(scene.objects):
            any_mesh = next(iter(self._meshes.values()))
            self._slots.append(self._add(f"object{len(self._slots)}", any_mesh))
        for unused in self._slots[len(scene.objects) :]:
            unused.hide_render = True
        self._metallic = []
        for slot, obj in zip(self._slots, scene.objects, strict=False):
            self._pose_object(slot, obj)
            self._metallic.append(material_inputs(obj, self._vocabulary)["metallic"] > 0)

    def _samples_of_ground(self, environment: str) -> int:
        """Samples of a pixel away from the objects; rich grounds and skies need more."""
        place = self._vocabulary.environments[environment]
        if place.bare:
            return self._quality.floor
        if place.photo:
            return self._quality.photo
        return self._quality.landscape

    def _pose_lamps(self, scene: Scene) -> None:
        for name, lamp in scene.lamps.items():
            light = self._lamps[name].data
            light.energy = lamp.energy
            light.color = lamp.color
            # A sun has none.
            if lamp.size is not None:
                light.size = lamp.size
            self._lamps[name].matrix_world = world_from_camera(lamp.position, (0.0, 0.0, 0.0))

    def render(self, draft: str, boxes: Sequence[Box] = ()) -> Image.Image:
        """Render the posed scene.

        Rectangles around the objects are rendered first, with many samples. Then the whole image is
        rendered with few samples, and the rectangles are composited over it before it is denoised.

        Args:
            draft: Path of a temporary file, overwritten by each render.
            boxes: Amodal boxes of the scene's objects, in their order, in pixels of the image.
                Without boxes the whole image gets the most samples.

        Returns:
            The image, RGB.

        Raises:
            RuntimeError: If Blender cannot write the file.
        """
        width, height = self._rendered_size
        *part_passes, whole_pass = sample_passes(
            [self._in_rendered_pixels(box) for box in boxes],
            self._metallic,
            width=width,
            height=height,
            quality=self._quality,
            around=self._samples_around,
        )
        if whole_pass.most < self._quality.samples:
            self._fix_noise_pattern(draft)
        for part_pass in part_passes:
            self._render_parts(draft, part_pass)
        self._canvas.expect_whole()
        set_samples(self._scene, whole_pass.most, noise=whole_pass.noise)
        (whole,) = whole_pass.parts
        self._render_border(draft, whole)
        with Image.open(draft) as image:
            return ImageOps.crop(image.convert("RGB"), self._cropped)

    def _in_rendered_pixels(self, box: Box) -> Box:
        """A box in pixels of the image, in pixels of what Blender renders."""
        left, top, right, bottom = box
        cropped = self._cropped
        return (left + cropped, top + cropped, right + cropped, bottom + cropped)

    def _render_parts(self, draft: str, part_pass: SamplePass) -> None:
        """Render the parts of a pass and add them to the next whole image."""
        set_samples(self._scene, part_pass.most, noise=part_pass.noise, after=part_pass.after)
        self._canvas.expect_parts()
        for part in part_pass.parts:
            self._render_border(draft, part)
            self._canvas.add_part(draft, part, least=part_pass.least, around=part_pass.after)

    def _fix_noise_pattern(self, draft: str) -> None:
        """Render a few pixels with the most samples, once.

        The blue noise of Cycles depends on the most samples that its session has rendered so far.
        Without this, an image would depend on the images before it.
        """
        if not self._has_rendered_full_samples:
            set_samples(self._scene, self._quality.samples)
            self._render_border(draft, (0, 0, 4, 4))
            self._has_rendered_full_samples = True

    def _render_border(self, draft: str, part: Box) -> None:
        """Have Blender render a part of the image into the file `draft`."""
        width, height = self._rendered_size
        left, top, right, bottom = part
        render = self._scene.render
        is_part = part != (0, 0, width, height)
        render.use_border = is_part
        render.use_crop_to_border = is_part
        render.border_min_x = (left + _BORDER_INSET_PIXELS) / width
        render.border_max_x = (right + _BORDER_INSET_PIXELS) / width
        # Blender counts rows from the bottom of the image, boxes from its top.
        render.border_min_y = (height - bottom + _BORDER_INSET_PIXELS) / height
        render.border_max_y = (height - top + _BORDER_INSET_PIXELS) / height
        render.filepath = draft
        bpy.ops.render.render(write_still=True)

    def _pose_object(self, slot: bpy.types.Object, obj: SceneObject) -> None:
        inputs = material_inputs(obj, self._vocabulary)
        slot.data = self._meshes[obj.category]
        slot.hide_render = False
        slot.location = obj.position
        slot.rotation_euler = (0.0, 0.0, obj.heading)
        slot.scale = (self._vocabulary.scale(obj.category, obj.attributes),) * 3
        # Objects of one category share a mesh, so the material belongs to the object.
        material_slot = slot.material_slots[0]
        material_slot.link = "OBJECT"
        if material_slot.material is None:
            material_slot.material = new_material(slot.name)
        set_inputs(material_slot.material, inputs)

    def _add(self, name: str, data: bpy.types.ID) -> bpy.types.Object:
        blender_object = bpy.data.objects.new(name, data)
        self._scene.collection.objects.link(blender_object)
        return blender_object


def _build_meshes(vocabulary: Vocabulary) -> dict[str, bpy.types.Mesh]:
    """The unit mesh of every category, with an empty material slot that each object fills."""
    meshes = {}
    for name, mesh_name in vocabulary.meshes.items():
        mesh = build_mesh(mesh_name, vocabulary.assets)
        mesh.materials.append(None)
        meshes[name] = mesh
    return meshes


def world_from_camera(position: Point, target: Point) -> Matrix:
    """Return the pose matrix of a camera or lamp.

    Args:
        position: Where it stands, metres.
        target: The point that it faces, metres.

    Returns:
        4x4; its columns are right, up, backward and position.
    """
    right, up, back = axes(position, target)
    rows = zip(right, up, back, position, strict=True)
    return Matrix([*rows, (0.0, 0.0, 0.0, 1.0)])


def configure(
    scene: bpy.types.Scene,
    quality: Quality,
    *,
    size: tuple[int, int],
    threads: int,
    device: str = "cpu",
) -> None:
    """Set the renderer up.

    Args:
        scene: The Blender scene that is rendered.
        quality: The settings of Cycles.
        size: Width and height of what is rendered, in pixels.
        threads: The CPU threads.
        device: One of generator.render.settings.DEVICES.

    Raises:
        UserError: Blender finds no such device.
    """
    render = scene.render
    render.engine = "CYCLES"
    # Meshes and textures stay loaded between images.
    render.use_persistent_data = True
    render.resolution_x, render.resolution_y = size
    render.resolution_percentage = 100
    render.threads_mode = "FIXED"
    render.threads = threads
    # The file is read back at once.
    render.image_settings.compression = 0
    # The plain sRGB curve: Blender's default would change the declared colours.
    scene.view_settings.view_transform = "Standard"

    cycles = scene.cycles
    cycles.device = "CPU"
    # One seed for all images, so that an image does not depend on its place in the world.
    cycles.seed = 0
    # With 4, Cycles first estimates the noise after 16 samples
    # (`generator.render.sample_budget.FIRST_NOISE_CHECK`).
    cycles.adaptive_min_samples = 4
    cycles.max_bounces = cycles.glossy_bounces = quality.bounces
    cycles.diffuse_bounces = min(quality.bounces, 4)
    cycles.blur_glossy = 2.0
    # With a handful of lamps, choosing among them costs more than it saves.
    cycles.use_light_tree = False
    cycles.caustics_refractive = False
    # Above 0, Cycles drops faint light at random, which differs between versions.
    cycles.light_sampling_threshold = 0.0
    if device != "cpu":
        _use_gpu(scene, device)


def set_samples(
    scene: bpy.types.Scene, samples: int, *, noise: float = 0.0, after: int = 0
) -> None:
    """Limit Cycles to the samples `after` up to `samples` of the sequence of a pixel.

    Args:
        scene: The Blender scene that is rendered.
        samples: The number of the last sample.
        noise: If above 0, a pixel stops earlier, once its estimated noise is below this.
        after: The number of samples to leave out at the beginning of the sequence.
    """
    cycles = scene.cycles
    cycles.samples = samples
    cycles.use_adaptive_sampling = noise > 0
    cycles.adaptive_threshold = noise
    cycles.use_sample_subset = after > 0
    cycles.sample_offset = after
    cycles.sample_subset_length = max(samples - after, 1)


def _use_gpu(scene: bpy.types.Scene, device: str) -> None:
    preferences = bpy.context.preferences.addons["cycles"].preferences
    devices = devices_of(preferences, device.upper())
    if not devices:
        raise UserError(f"Blender finds no {device} device for this worker")
    for known in preferences.devices:
        known.use = known in devices
    scene.cycles.device = "GPU"
